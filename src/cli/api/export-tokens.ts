import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { terminal } from "../../base/terminal.js";
import { requireNew, writeNewFile } from "../new-file.js";
import { progressReporter } from "../progress.js";
import { UsageError } from "../usage-error.js";
import type { ApiCall } from "./api-call.js";
import type { Action } from "./api-command.js";
import { toRestNames } from "./field-names.js";
import { pgpRecipient } from "./pgp.js";

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
  const key = call.text("pgp-key");
  await requireNew(file);
  const recipient = key === undefined ? undefined : await pgpRecipient(key);
  const tell = progressReporter((line) => terminal().stderr.write(`${line}\n`), "Export", 0);
  let tokens = 0;
  let withoutData = 0;
  const lines = async function* () {
    if (isCsv) yield csvLine(COLUMNS);
    const filter = { container: call.text("container"), type: call.text("type"), size: PAGE, withoutData: !recipient };
    for await (const token of call.client.tokens.export(filter, call.options())) {
      const shown = Object(toRestNames(token));
      yield isCsv ? csvLine(COLUMNS.map((name) => cellOf(shown[name]))) : `${JSON.stringify(shown)}\n`;
      tokens += 1;
      if (token.data === undefined) withoutData += 1;
      tell(tokens);
    }
  };
  const clear = Readable.from(inPieces(lines()));
  await writeNewFile(file, async (target) => pipeline(recipient ? await recipient.encrypt(clear) : clear, target));
  const missing = recipient && withoutData > 0 ? { without_data: withoutData } : {};
  call.output.one({ file, tokens, ...missing, ...(recipient ? { encrypted_for: recipient.fingerprint } : {}) });
};

const PIECE_CHARACTERS = 64 * 1024;

/** Encryption takes as long for a short piece as for one of these. */
async function* inPieces(lines: AsyncIterable<string>): AsyncGenerator<Buffer> {
  let piece = "";
  for await (const line of lines) {
    piece += line;
    if (piece.length < PIECE_CHARACTERS) continue;
    yield Buffer.from(piece);
    piece = "";
  }
  yield Buffer.from(piece);
}

function formatOf(call: ApiCall, file: string): string {
  const format = call.text("format") ?? (/\.csv(?:\.(?:pgp|gpg))?$/i.test(file) ? "csv" : "ndjson");
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
