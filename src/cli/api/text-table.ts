import { printable } from "../printable.js";

const GAP = 2;
/** Columns keep this width, however narrow the terminal is. */
const MIN_WIDTH = 6;

/** A value in one line, without characters that could steer the terminal. */
export function cellText(value: unknown): string {
  if (value === undefined || value === null) return "";
  const isListOfTexts = Array.isArray(value) && value.every((item) => typeof item === "string");
  const text = isListOfTexts ? value.join(", ") : typeof value === "object" ? JSON.stringify(value) : String(value);
  return printable(text);
}

/**
 * Lines of a table. `width` is the terminal's, in columns: the widest columns are cut with an ellipsis until all fit.
 * Without a terminal there is no header, nothing is cut, and tabs separate the columns.
 */
export function tableLines(
  columns: readonly string[],
  rows: readonly (readonly string[])[],
  width: number | undefined,
): readonly string[] {
  if (width === undefined) return rows.map((row) => row.join("\t"));
  const lines = [columns.map((column) => column.toUpperCase()), ...rows];
  const widths = fitted(
    columns.map((_, index) => Math.max(...lines.map((line) => line[index]?.length ?? 0))),
    width,
  );
  return lines.map((line) =>
    line
      .map((cell, index) => padded(cell, widths[index] ?? 0))
      .join(" ".repeat(GAP))
      .trimEnd(),
  );
}

function fitted(wanted: readonly number[], width: number): readonly number[] {
  const widths = [...wanted];
  let excess = widths.reduce((sum, one) => sum + one, 0) + GAP * (widths.length - 1) - width;
  while (excess > 0) {
    const widest = Math.max(...widths);
    if (widest <= MIN_WIDTH) break;
    widths[widths.indexOf(widest)] = widest - 1;
    excess -= 1;
  }
  return widths;
}

function padded(cell: string, width: number): string {
  return cell.length > width ? `${cell.slice(0, width - 1)}…` : cell.padEnd(width);
}
