// Checks src/ against docs/architecture.md: `node --import=./scripts/typescript-sources.js scripts/check-architecture.ts [folder]`.
//
// The tables of the document are the rules: which folder may import which, which sub-folders others may import, and which
// files may open secrets. Beside them: no circles, and no function above 60 lines.
import { readMap } from "./architecture/map.js";
import { circles, forbiddenImports, forbiddenReveals, longFunctions, unknownFolders } from "./architecture/rules.js";
import { readSourceFiles } from "./architecture/source-files.js";

const [root = "."] = process.argv.slice(2);
const map = readMap(root);
const files = readSourceFiles(root);
const problems = [
  ...map.problems,
  ...unknownFolders(files, map),
  ...forbiddenImports(files, map),
  ...circles(files),
  ...forbiddenReveals(files, map),
  ...longFunctions(files),
];
for (const problem of problems) process.stderr.write(`${problem}\n`);
if (problems.length > 0) process.exitCode = 1;
