import { setTimeout as pause } from "node:timers/promises";
import { CloakroomError } from "@cloakroom/client";
import { terminal } from "../../base/terminal.js";
import {
  type BatchSender,
  type FileRow,
  importBatches,
  mappedRows,
  type ResultLine,
  sendBatch,
} from "../../token-files/import-batch.js";
import { LAYOUTS } from "../../token-files/layouts.js";
import { type Mapping, readMapping } from "../../token-files/mapping.js";
import { shownMasked } from "../../token-files/masked-row.js";
import { detectFileFormat, type FileFormat, readRecords } from "../../token-files/records.js";
import { printable } from "../printable.js";
import { UsageError } from "../usage-error.js";
import type { ApiCall } from "./api-call.js";
import type { Action } from "./api-command.js";
import { ImportResults } from "./import-results.js";
import { openImportSource } from "./import-source.js";
import { parseGivenJson, readFile } from "./standard-input.js";

const AT_ONCE = 4;
const SHOWN_ROWS = 10;

export const importTokens: Action = async (call) => {
  const file = call.argument(0);
  const mapping = chosenMapping(call);
  await using source = await openImportSource(call, file);
  const format = chosenFormat(call, source.name);
  const rows = mappedRows(readRecords(source, format), mapping, format);
  if (call.isSet("dry-run")) return void (await showFirst(call, rows));
  const resultsFile = call.text("results") ?? `${file}.results.ndjson`;
  await using results = await ImportResults.open(resultsFile, await patiently(call, () => tenantIdFor(call)));
  if (results.rowsBefore > 0) terminal().stderr.write(`Going on after row ${results.rowsBefore}.\n`);
  const counts = { imported: 0, deduplicated: 0, failed: 0 };
  for await (const lines of answersOf(call, results, rows)) {
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

async function tenantIdFor(call: ApiCall): Promise<string> {
  const { url, caFile, identity } = call.credentials();
  if (identity.kind === "key") return (await call.client.applications.getByKey(call.options())).tenantId;
  const { SignInClient } = await import("./sign-in-client.js");
  return (await new SignInClient({ url, caFile }, call.signInOptions(), identity.cookie).whoAmI()).tenantId;
}

function chosenFormat(call: ApiCall, file: string): FileFormat {
  const given = call.text("format");
  if (given === "csv" || given === "ndjson") return given;
  if (given !== undefined) throw new UsageError("--format must be csv or ndjson.");
  const format = detectFileFormat(file);
  if (format) return format;
  throw new UsageError(`${file} must end in .csv, .ndjson or .jsonl, or say --format.`);
}

function chosenMapping(call: ApiCall): Mapping | undefined {
  const [layout, file] = [call.text("layout"), call.text("mapping")];
  if (layout !== undefined && file !== undefined) throw new UsageError("--layout and --mapping cannot be combined.");
  if (file !== undefined) return readMapping(parseGivenJson("--mapping", readFile("--mapping", file)));
  const mapping = layout === undefined ? undefined : LAYOUTS.get(layout);
  if (layout === undefined || mapping) return mapping;
  throw new UsageError(`--layout must be ${[...LAYOUTS.keys()].join(", ")}.`);
}

async function showFirst(call: ApiCall, rows: AsyncIterable<FileRow>): Promise<void> {
  const shown: object[] = [];
  for await (const { line, row, problem } of rows) {
    shown.push(row ? shownMasked(line, row) : { line, problem });
    if (shown.length === SHOWN_ROWS) break;
  }
  call.output.list(shown, ["line", "type", "data", "containers", "metadata", "also", "problem"]);
}

/** The results of all batches in their order. A few batches are under way at once, and no more are in memory. */
async function* answersOf(
  call: ApiCall,
  results: ImportResults,
  rows: AsyncIterable<FileRow>,
): AsyncGenerator<readonly ResultLine[]> {
  const waiting: Promise<readonly ResultLine[]>[] = [];
  const sender = senderOf(call, results.importId);
  for await (const batch of importBatches(rows)) {
    call.signal.throwIfAborted();
    if (batch.position <= results.rowsBefore) continue;
    const answer = sendBatch(sender, batch);
    // The one that is awaited may be another.
    answer.catch(() => {});
    waiting.push(answer);
    const first = waiting.length === AT_ONCE ? waiting.shift() : undefined;
    if (first) yield await first;
  }
  for (const answer of waiting) yield await answer;
}

function senderOf(call: ApiCall, importId: string): BatchSender {
  return {
    async send(position, rows) {
      const input = { importId, position, rows: [...rows] };
      return (await patiently(call, () => call.client.tokens.import(input, call.options()))).results;
    },
    fieldsOf(error) {
      if (!(error instanceof CloakroomError)) return undefined;
      return new Map(Object.entries(error.fields ?? {}).map(([field, [text = "is not valid"]]) => [field, text]));
    },
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
