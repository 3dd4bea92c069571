// Writes the generated pages of docs/: expressions.md, errors.md, configuration.md and command-line.md.
import { writeFileSync } from "node:fs";
import { commandLinePage } from "./command-line-page.js";
import { configurationPage } from "./configuration-page.js";
import { errorPage } from "./error-page.js";
import { expressionPage } from "./expression-docs/page.js";

writeFileSync(new URL("../docs/expressions.md", import.meta.url), expressionPage());
writeFileSync(new URL("../docs/errors.md", import.meta.url), errorPage());
writeFileSync(new URL("../docs/configuration.md", import.meta.url), configurationPage());
writeFileSync(new URL("../docs/command-line.md", import.meta.url), commandLinePage());
