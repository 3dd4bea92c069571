// Writes docs/expressions.md, which tells every filter with an example and what the code gives for it.
import { writeFileSync } from "node:fs";
import { expressionPage } from "./expression-docs/page.js";

writeFileSync(new URL("../docs/expressions.md", import.meta.url), expressionPage());
