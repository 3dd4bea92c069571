import type { JSException } from "quickjs-wasi";
import type { CompileProblem } from "../../run.js";

/** As Node wraps CommonJS modules. */
const BEFORE = "(function (exports, require, module, __filename, __dirname) {";
const AFTER = "\n})";

/** What stack traces call the code of a function. */
export const SOURCE_NAME = "function.js";

/** Code as an expression whose value is a function. */
export function wrapped(code: string): string {
  // A first line "#!/usr/bin/env node" is allowed in Node. Two characters for two: columns stay as they are.
  return `${BEFORE}${code.replace(/^#!/, "//")}${AFTER}`;
}

/**
 * Where the engine found the problem, in terms of the code as it was given. Code that breaks out of its wrapper may throw an
 * error of its own, whose stack names whatever place it likes.
 */
export function problemOf(error: JSException, code: string): CompileProblem {
  const [, line = "1", column = "1"] = /function\.js:(\d+):(\d+)/.exec(error.stack ?? "") ?? [];
  const message = `${error.name}: ${error.message}`.slice(0, 1_000);
  const lines = code.split("\n");
  // What is missing at the end of the code is missed after it, in the wrapper.
  if (Number(line) > lines.length) return { message, line: lines.length, column: (lines.at(-1)?.length ?? 0) + 1 };
  const inLine = Number(column) - (line === "1" ? BEFORE.length : 0);
  return { message, line: Math.max(Number(line), 1), column: Math.min(Math.max(inLine, 1), code.length + 1) };
}
