import { setTimeout as pause } from "node:timers/promises";
import { CloakroomError, type ImportTokensResponse } from "@cloakroom/client";
import type { JsonObject } from "../../base/json.js";
import { terminal } from "../../base/terminal.js";
import { printable } from "../printable.js";
import { UsageError } from "../usage-error.js";
import type { ApiCall } from "./api-call.js";
import type { Action } from "./api-command.js";
import { shownMasked } from "./import-dry-run.js";
import { type FileFormat, type FileRecord, formatOf, recordsOf } from "./import-file.js";
import { LAYOUTS } from "./import-layouts.js";
import { type Mapping, readMapping, rowOf } from "./import-mapping.js";
import { BATCH_ROWS, ImportResults } from "./import-results.js";
import { openImportSource } from "./import-source.js";

/** Requests in progress at once. */
const AT_ONCE = 4;
/** Rows of a dry run. */
const SHOWN_ROWS = 10;

/** A row to send, or why it cannot be sent. */
interface FileRow {
  readonly line: number;
  readonly row: JsonObject | null;
  readonly problem?: string;
}

interface Batch {
  readonly position: number;
  readonly rows: readonly FileRow[];
}

export const importTokens: Action = async (call) => {
  const file = call.argument(0);
  const mapping = chosenMapping(call);
  await using source = await openImportSource(call, file);
  const format = chosenFormat(call, source.name);
  const rows = rowsOf(recordsOf(source, format), mapping, format);
  if (call.isSet("dry-run")) return void (await showFirst(call, rows));
  const resultsFile = call.text("results") ?? `${file}.results.ndjson`;
  await using results = await ImportResults.open(resultsFile);
  if (results.rowsBefore > 0) terminal().stderr.write(`Going on after row ${results.rowsBefore}.\n`);
  const counts = { imported: 0, deduplicated: 0, failed: 0 };
  for await (const { lines } of answersOf(call, results, rows)) {
    for (const line of lines) {
      if (line.error) counts.failed += 1;
      else counts.imported += 1;
      if (line.deduplicated) counts.deduplicated += 1;
    }
    await results.write(lines);
  }
  call.output.one({ ...counts, rows_before: results.rowsBefore, results: resultsFile });
  if (counts.failed > 0) terminal().exitCode = 1;
};

function chosenFormat(call: ApiCall, file: string): FileFormat {
  const format = call.text("format") ?? formatOf(file);
  if (format === "csv" || format === "ndjson") return format;
  throw new UsageError("--format must be csv or ndjson.");
}

function chosenMapping(call: ApiCall): Mapping | undefined {
  const [layout, file] = [call.text("layout"), call.text("mapping")];
  if (layout !== undefined && file !== undefined) throw new UsageError("--layout and --mapping cannot be combined.");
  if (file !== undefined) return readMapping(file);
  const mapping = layout === undefined ? undefined : LAYOUTS.get(layout);
  if (layout === undefined || mapping) return mapping;
  throw new UsageError(`--layout must be ${[...LAYOUTS.keys()].join(", ")}.`);
}

async function* rowsOf(
  records: AsyncIterable<FileRecord>,
  mapping: Mapping | undefined,
  format: FileFormat,
): AsyncGenerator<FileRow> {
  for await (const record of records) {
    const { line } = record;
    yield "problem" in record
      ? { line, row: null, problem: record.problem }
      : { line, row: rowOf(record.content, mapping, format === "csv") };
  }
}

async function showFirst(call: ApiCall, rows: AsyncIterable<FileRow>): Promise<void> {
  const shown: object[] = [];
  for await (const { line, row, problem } of rows) {
    shown.push(row ? shownMasked(line, row) : { line, problem });
    if (shown.length === SHOWN_ROWS) break;
  }
  call.output.list(shown, ["line", "type", "data", "containers", "metadata", "problem"]);
}

interface ResultLine {
  readonly position: number;
  readonly line: number;
  readonly id?: string;
  readonly fingerprint?: string;
  readonly deduplicated?: boolean;
  readonly error?: object;
}

interface Answer {
  readonly lines: readonly ResultLine[];
}

/** The results of all batches in their order. A few batches are under way at once, and no more are in memory. */
async function* answersOf(call: ApiCall, results: ImportResults, rows: AsyncIterable<FileRow>): AsyncGenerator<Answer> {
  const waiting: Promise<Answer>[] = [];
  for await (const batch of batchesOf(rows)) {
    call.signal.throwIfAborted();
    if (batch.position <= results.rowsBefore) continue;
    const answer = answerOf(call, results.importId, batch);
    // The one that is awaited may be another.
    answer.catch(() => {});
    waiting.push(answer);
    const first = waiting.length === AT_ONCE ? waiting.shift() : undefined;
    if (first) yield await first;
  }
  for (const answer of waiting) yield await answer;
}

async function* batchesOf(rows: AsyncIterable<FileRow>): AsyncGenerator<Batch> {
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

/** Sends a batch. Rows that the vault cannot read at all are left out, and the others are sent again. */
async function answerOf(call: ApiCall, importId: string, { position, rows }: Batch): Promise<Answer> {
  try {
    const input = { importId, position, rows: rows.map(({ row }) => row) };
    const { results } = await patiently(call, () => call.client.tokens.import(input, call.options()));
    return { lines: results.map((result, index) => lineOf(result, rows[index])) };
  } catch (error) {
    const readable = error instanceof CloakroomError ? withoutUnreadable(rows, error.fields ?? {}) : undefined;
    if (!readable) throw error;
    return answerOf(call, importId, { position, rows: readable });
  }
}

/** Undefined if the error names no row that is left. */
function withoutUnreadable(
  rows: readonly FileRow[],
  fields: Readonly<Record<string, readonly string[]>>,
): readonly FileRow[] | undefined {
  const problems = new Map<number, string>();
  for (const [field, [text = "is not valid"]] of Object.entries(fields)) {
    const [, index, place = ""] = /^rows\[(\d+)\]\.?(.*)$/.exec(field) ?? [];
    if (index !== undefined && rows[Number(index)]?.row) problems.set(Number(index), `${place} ${text}`.trim());
  }
  if (problems.size === 0) return undefined;
  return rows.map((row, index) => {
    const problem = problems.get(index);
    return problem === undefined ? row : { line: row.line, row: null, problem };
  });
}

function lineOf(result: ImportTokensResponse["results"][number], row: FileRow | undefined): ResultLine {
  const { position = 0, id, fingerprint, deduplicated, error } = result;
  const line = row?.line ?? 0;
  if (row?.problem !== undefined) {
    return { position, line, error: { code: "unreadable", detail: `The row ${row.problem}.` } };
  }
  if (error) return { position, line, error };
  return {
    position,
    line,
    ...(id === undefined ? {} : { id }),
    ...(fingerprint === undefined ? {} : { fingerprint }),
    ...(deduplicated === undefined ? {} : { deduplicated }),
  };
}

/** A server that restarts, or a network that is away, is waited for: a batch can be sent again. */
const PASSING: readonly string[] = ["connection_failed", "unavailable", "timeout", "rate_limited", "internal"];
const TRIES = 100;
const LONGEST_WAIT_MS = 2_000;

async function patiently<T>(call: ApiCall, send: () => PromiseLike<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await send();
    } catch (error) {
      if (!(error instanceof CloakroomError) || !PASSING.includes(error.code) || attempt === TRIES) throw error;
      if (attempt === 3) terminal().stderr.write(`Waiting for the vault: ${printable(error.message)}\n`);
      await pause(Math.min(LONGEST_WAIT_MS, 125 * 2 ** Math.min(attempt, 5)), undefined, { signal: call.signal });
    }
  }
}
