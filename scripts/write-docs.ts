// Writes the generated pages of docs/: expressions.md and configuration.md.
import { writeFileSync } from "node:fs";
import { configurationPage } from "./configuration-page.js";
import { expressionPage } from "./expression-docs/page.js";

writeFileSync(new URL("../docs/expressions.md", import.meta.url), expressionPage());
writeFileSync(new URL("../docs/configuration.md", import.meta.url), configurationPage());
