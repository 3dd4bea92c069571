/** A place in a tenant's original code. Both count from 1. */
export interface SourcePosition {
  readonly line: number;
  readonly column: number;
}

/** The file name of a function's code in stack traces. */
export const SOURCE_NAME = "function.js";

/**
 * Node's wrapper of CommonJS modules. It precedes the first line of the code, so columns of that line are too large.
 */
const BEFORE = "(function (exports, require, module, __filename, __dirname) {";
const AFTER = "\n})";

/** CommonJS code as an expression whose value is a function. */
export function wrapped(code: string): string {
  // Node allows a first line "#!/usr/bin/env node". The replacement has the same length, so columns stay.
  return `${BEFORE}${code.replace(/^#!/, "//")}${AFTER}`;
}

/** The topmost place of a stack trace in the tenant's code. @param isWrapped whether the code is CommonJS. */
export function positionIn(stack: string, isWrapped: boolean): SourcePosition | undefined {
  const [, line, column] = /function\.js:(\d{1,7}):(\d{1,7})/.exec(stack) ?? [];
  if (line === undefined || column === undefined) return undefined;
  const offset = isWrapped && line === "1" ? BEFORE.length : 0;
  return { line: Math.max(Number(line), 1), column: Math.max(Number(column) - offset, 1) };
}

/** Converts the positions of stack traces in a text, such as a line of the console, to those of the original code. */
export function mapPositionsToSource(text: string): string {
  return text.replace(/(?<=function\.js:1:)\d{1,7}/g, (column) => String(Math.max(Number(column) - BEFORE.length, 1)));
}
