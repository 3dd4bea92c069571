// Checks src/ against docs/architecture.md and docs/running-parts.md: `node --import=./scripts/typescript-sources.js scripts/check-architecture.ts [folder]`.
//
// The tables of the document are the rules: which folder may import which, which sub-folders others may import, and which
// files may open secrets. Beside them: no circles, and no function above 60 lines.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { DOCUMENT, parseMap, SECRETS_DOCUMENT } from "./architecture/map.js";
import { architectureProblems } from "./architecture/rules.js";
import { readSourceFiles } from "./architecture/source-files.js";

const [root = "."] = process.argv.slice(2);
const textOf = (document: string) => readFileSync(join(root, document), "utf8");
const problems = architectureProblems(readSourceFiles(root), parseMap(textOf(DOCUMENT), textOf(SECRETS_DOCUMENT)));
for (const problem of problems) process.stderr.write(`${problem}\n`);
if (problems.length > 0) process.exitCode = 1;
