// Checks the names of src/: `node --import=./scripts/typescript-sources.js scripts/check-names.ts [folder]`.
//
// No field is packed into `...{ a, b }`, no bound is called MOST, FEWEST or LEAST, no function is called textOf, hashOf or the
// like, and no object is called a place. Exported functions do not end in Of, nor do private ones of the log and the console.
// No two exported functions have one name, unless their files do the same for one of several services, formats or platforms. No
// function has more than four parameters.
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type SourceText, thinNames } from "./names/rules.js";

const [root = "."] = process.argv.slice(2);
const files: readonly SourceText[] = globSync("src/**/*.{ts,tsx}", { cwd: root })
  .map((path) => path.replaceAll("\\", "/"))
  .sort()
  .map((path) => ({ path, text: readFileSync(join(root, path), "utf8") }));
const problems = thinNames(files);
for (const problem of problems) process.stderr.write(`${problem}\n`);
if (problems.length > 0) process.exitCode = 1;
