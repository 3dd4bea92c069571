import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { terminal } from "../../base/terminal.js";
import { requireNew, writeNewFile } from "../new-file.js";
import { progressOf } from "../progress.js";
import { UsageError } from "../usage-error.js";
import type { ApiCall } from "./api-call.js";
import type { Action } from "./api-command.js";
import { restNamesOf } from "./field-names.js";

/** Tokens of one request. */
const PAGE = 500;
/** The fields that an import takes. Lists and objects are JSON. */
const COLUMNS = [
  "id",
  "type",
  "data",
  "containers",
  "metadata",
  "search_indexes",
  "expires_at",
  "fingerprint",
  "created_at",
];

export const exportTokens: Action = async (call) => {
  const file = call.required("file");
  const isCsv = formatOf(call, file) === "csv";
  await requireNew(file);
  const tell = progressOf((line) => terminal().stderr.write(`${line}\n`), "Export", 0);
  let tokens = 0;
  const lines = async function* () {
    if (isCsv) yield csvLine(COLUMNS);
    const filter = { container: call.text("container"), type: call.text("type"), size: PAGE };
    for await (const token of call.client.tokens.export(filter, call.options())) {
      const shown = Object(restNamesOf(token));
      yield isCsv ? csvLine(COLUMNS.map((name) => cellOf(shown[name]))) : `${JSON.stringify(shown)}\n`;
      tokens += 1;
      tell(tokens);
    }
  };
  await writeNewFile(file, (target) => pipeline(Readable.from(lines()), target));
  call.output.one({ file, tokens });
};

function formatOf(call: ApiCall, file: string): string {
  const format = call.text("format") ?? (/\.csv$/i.test(file) ? "csv" : "ndjson");
  if (format === "csv" || format === "ndjson") return format;
  throw new UsageError("--format must be csv or ndjson.");
}

function cellOf(value: unknown): string {
  if (value === undefined || value === null) return "";
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** Spreadsheets run cells that begin like a formula: such a cell gets an apostrophe in front. */
export function csvLine(cells: readonly string[]): string {
  const escaped = cells.map((cell) => (/^[=+\-@\t\r]/.test(cell) ? `'${cell}` : cell));
  return `${escaped.map((cell) => (/[",\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell)).join(",")}\r\n`;
}
