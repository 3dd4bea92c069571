import type { PreparedStatement } from "./prepared-statement.js";

export interface DescribedColumn {
  readonly name: string;
  /** Its type's oid. */
  readonly type: number;
}

/** Reads a RowDescription: for each column a name and 18 bytes, with the type at offset 6. */
export function readDescription(bytes: Buffer, start: number): DescribedColumn[] {
  const count = bytes.readUInt16BE(start);
  const columns: DescribedColumn[] = [];
  let at = start + 2;
  while (columns.length < count) {
    const stop = bytes.indexOf(0, at);
    columns.push({ name: bytes.toString("utf8", at, stop), type: bytes.readUInt32BE(stop + 7) });
    at = stop + 19;
  }
  return columns;
}

/** Why the rows of a statement cannot be read as declared; undefined if they can. */
export function mismatchIn(
  { columns, text }: PreparedStatement,
  described: readonly DescribedColumn[],
): string | undefined {
  if (!columns || (columns.length === 0 && described.length > 0)) return undefined;
  if (columns.length !== described.length) {
    return `${columns.length} columns are read of ${described.length}: ${text}`;
  }
  const wrong = described.find(({ type }, index) => {
    const types = columns[index]?.types ?? [];
    return types.length > 0 && !types.includes(type);
  });
  return wrong && `the column ${wrong.name} has the type ${wrong.type}: ${text}`;
}
