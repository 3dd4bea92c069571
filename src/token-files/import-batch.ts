import type { Json, JsonObject } from "../base/json.js";
import { importRow, type Mapping } from "./mapping.js";
import { hiddenText } from "./masked-row.js";
import type { FileFormat, FileRecord } from "./records.js";

/** Rows of one request: batches begin at 1, 101, 201 and so on. */
export const BATCH_ROWS = 100;

/** A row to send, or why it cannot be sent. */
export interface FileRow {
  readonly line: number;
  readonly row: JsonObject | null;
  readonly problem?: string;
}

export interface Batch {
  readonly position: number;
  readonly rows: readonly FileRow[];
}

interface RowResult {
  readonly position?: number | undefined;
  readonly id?: string | undefined;
  readonly fingerprint?: string | undefined;
  readonly deduplicated?: boolean | undefined;
  readonly error?: RowError | undefined;
}

interface RowError {
  readonly code?: string | undefined;
  readonly detail?: string | undefined;
  readonly field?: string | undefined;
}

/** What became of a row, with its line in the file. */
export interface ResultLine {
  readonly position: number;
  readonly line: number;
  readonly id?: string;
  readonly fingerprint?: string;
  readonly deduplicated?: boolean;
  readonly error?: RowError;
}

export async function* mappedRows(
  records: AsyncIterable<FileRecord>,
  mapping: Mapping | undefined,
  format: FileFormat,
): AsyncGenerator<FileRow> {
  for await (const record of records) {
    const { line } = record;
    if ("problem" in record) {
      yield { line, row: null, problem: record.problem };
      continue;
    }
    const row = importRow(record.content, mapping, format === "csv");
    yield isDeeper(row, MAX_LEVELS) ? { line, row: null, problem: TOO_DEEP } : { line, row };
  }
}

/** The vault's limit of 64 for data, and the row around it. */
const MAX_LEVELS = 65;
const TOO_DEEP = `nests deeper than ${MAX_LEVELS} levels`;

/** Whether a value has more levels of lists and objects. */
function isDeeper(value: Json, levels: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  return levels === 0 || Object.values(value).some((inner) => isDeeper(inner, levels - 1));
}

export async function* importBatches(rows: AsyncIterable<FileRow>): AsyncGenerator<Batch> {
  let position = 1;
  let batch: FileRow[] = [];
  for await (const row of rows) {
    batch.push(row);
    if (batch.length < BATCH_ROWS) continue;
    yield { position, rows: batch };
    position += BATCH_ROWS;
    batch = [];
  }
  if (batch.length > 0) yield { position, rows: batch };
}

export interface BatchSender {
  send(position: number, rows: readonly (JsonObject | null)[]): Promise<readonly RowResult[]>;
  /** The fields that an error names, such as `rows[3].data.number`. Undefined: it is no error of the API. */
  fieldsOf(error: unknown): ReadonlyMap<string, string> | undefined;
}

/** Sends a batch. Rows that the vault cannot read at all are left out, and the others are sent again. */
export async function sendBatch(sender: BatchSender, { position, rows }: Batch): Promise<readonly ResultLine[]> {
  const send = () =>
    sender.send(
      position,
      rows.map(({ row }) => row),
    );
  try {
    return (await send()).map((result, index) => lineOf(result, rows[index]));
  } catch (error) {
    const readable = withoutUnreadable(rows, sender.fieldsOf(error) ?? new Map());
    if (!readable) throw error;
    return sendBatch(sender, { position, rows: readable });
  }
}

/** Undefined if the error names no row that is left. */
function withoutUnreadable(
  rows: readonly FileRow[],
  fields: ReadonlyMap<string, string>,
): readonly FileRow[] | undefined {
  const problems = new Map<number, string>();
  for (const [field, text] of fields) {
    const [, index, place = ""] = /^rows\[(\d+)\]\.?(.*)$/.exec(field) ?? [];
    if (index !== undefined && rows[Number(index)]?.row) problems.set(Number(index), `${place} ${text}`.trim());
  }
  if (problems.size === 0) return undefined;
  return rows.map((row, index) => {
    const problem = problems.get(index);
    return problem === undefined ? row : { line: row.line, row: null, problem };
  });
}

function withoutDigits({ code, detail, field }: RowError): RowError {
  return {
    ...(code === undefined ? {} : { code }),
    ...(detail === undefined ? {} : { detail: hiddenText(detail) }),
    ...(field === undefined ? {} : { field: hiddenText(field) }),
  };
}

function lineOf(result: RowResult, row: FileRow | undefined): ResultLine {
  const { position = 0, id, fingerprint, deduplicated, error } = result;
  const line = row?.line ?? 0;
  if (row?.problem !== undefined) {
    return { position, line, error: { code: "unreadable", detail: hiddenText(`The row ${row.problem}.`) } };
  }
  // The vault names fields as the file has them, such as a card number in the place of a name.
  if (error) return { position, line, error: withoutDigits(error) };
  return {
    position,
    line,
    ...(id === undefined ? {} : { id }),
    ...(fingerprint === undefined ? {} : { fingerprint }),
    ...(deduplicated === undefined ? {} : { deduplicated }),
  };
}
