/**
 * Lines of comma-separated values (RFC 4180). Cells that begin like a formula get an apostrophe in front: spreadsheets
 * would run them.
 */
export function csvLines(...lines: readonly (readonly string[])[]): string {
  return lines.map((cells) => `${cells.map(csvCell).join(",")}\r\n`).join("");
}

function csvCell(text: string): string {
  const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
