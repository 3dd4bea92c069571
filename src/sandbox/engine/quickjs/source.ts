import type { JSException } from "quickjs-wasi";
import type { CompileProblem } from "../../run.js";
import { positionIn } from "../../source-position.js";

/** The position of a problem in the code as given. @param isWrapped whether it is CommonJS. */
export function readSourceProblem(error: JSException, code: string, isWrapped: boolean): CompileProblem {
  const message = `${error.name}: ${error.message}`.slice(0, 1_000);
  const position = positionIn(error.stack ?? "", isWrapped) ?? { line: 1, column: 1 };
  const lines = code.split("\n");
  // The engine reports an unexpected end of the code behind it, in the wrapper.
  if (position.line > lines.length) {
    return { message, line: lines.length, column: (lines.at(-1)?.length ?? 0) + 1 };
  }
  return { message, line: position.line, column: Math.min(position.column, code.length + 1) };
}

/**
 * Whether CommonJS code failed to compile because it is an ES module: it has import or export statements, and the problem is at
 * one of them, at import.meta or at a top-level await.
 */
export function isModuleSyntax(code: string, { message, line, column }: CompileProblem): boolean {
  if (!/^[ \t]*(import|export)\b/m.test(code)) return false;
  if (message.includes("import.meta")) return true;
  const text = code.split("\n")[line - 1] ?? "";
  const [before, after] = [text.slice(0, column - 1), text.slice(column - 1)];
  return /\b(import|export|await)\s*$/.test(before) || /^\s*(import|export)\b/.test(after);
}
