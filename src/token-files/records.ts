import { parse } from "csv-parse";
import { isExact } from "../base/exact-number.js";
import { isJsonObject, type Json, type JsonObject, setOwnProperty } from "../base/json.js";
import { UnreadableFile } from "./unreadable-file.js";

/** Of one record: a hundred of them fit into one request of the default limit. */
export const MAX_RECORD_CHARACTERS = 16_000;

export type FileRecord =
  | { readonly line: number; readonly content: JsonObject }
  | { readonly line: number; readonly problem: string };

export interface TokenFile {
  readonly name: string;
  /** The content. May be read several times, one after the other. */
  read(): AsyncIterable<Uint8Array>;
}

export type FileFormat = "csv" | "ndjson";

/** By the name of a file. Undefined: it does not say. */
export function detectFileFormat(file: string): FileFormat | undefined {
  if (/\.csv$/i.test(file)) return "csv";
  return /\.(?:ndjson|jsonl)$/i.test(file) ? "ndjson" : undefined;
}

const NOT_UTF_8 = "is not UTF-8: convert the file, such as by iconv";
const STRAY_QUOTE = "is not CSV: a quote does not match";
const TOO_LONG = `is longer than ${MAX_RECORD_CHARACTERS} characters`;

/**
 * The records of a file, one at a time, whatever its size. A record that cannot be read does not end it.
 * @throws {UnreadableFile} for a file of another encoding, or without a usable header.
 */
export function readRecords(source: TokenFile, format: FileFormat): AsyncGenerator<FileRecord> {
  return format === "csv" ? csvRecords(source) : jsonRecords(source);
}

/** Whether a file begins with a byte order mark of UTF-16. */
function isUtf16([first, second]: Uint8Array): boolean {
  return (first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff);
}

/** The text of a file in pieces, without a byte order mark. */
async function* decodedPieces({ name, read }: TokenFile): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let isStart = true;
  for await (const piece of read()) {
    if (isStart && isUtf16(piece)) throw new UnreadableFile(`${name} ${NOT_UTF_8}.`);
    isStart = false;
    yield decoder.decode(piece, { stream: true });
  }
  yield decoder.decode();
}

async function* jsonRecords(source: TokenFile): AsyncGenerator<FileRecord> {
  let line = 1;
  let rest = "";
  let isTooLong = false;
  for await (const piece of decodedPieces(source)) {
    const lines = `${rest}${piece}`.split("\n");
    rest = lines.pop() ?? "";
    for (const text of lines) {
      if (isTooLong || text.trim() !== "") yield isTooLong ? { line, problem: TOO_LONG } : jsonRecord(line, text);
      isTooLong = false;
      line += 1;
    }
    // What is read of a line that is too long is not kept.
    isTooLong ||= rest.length > MAX_RECORD_CHARACTERS;
    if (isTooLong) rest = "";
  }
  if (isTooLong || rest.trim() !== "") yield isTooLong ? { line, problem: TOO_LONG } : jsonRecord(line, rest);
}

function jsonRecord(line: number, text: string): FileRecord {
  if (text.length > MAX_RECORD_CHARACTERS) return { line, problem: TOO_LONG };
  if (text.includes("\ufffd")) return { line, problem: NOT_UTF_8 };
  let isRounded = false;
  let isBroken = false;
  const checked = (name: string, value: unknown, context?: { readonly source?: string }) => {
    // Half of a character would arrive as another one.
    if (!name.isWellFormed() || (typeof value === "string" && !value.isWellFormed())) isBroken = true;
    if (typeof value === "number" && !isExact(context?.source ?? "", value)) isRounded = true;
    return value;
  };
  try {
    const content: Json = JSON.parse(text, checked);
    if (!isJsonObject(content)) return { line, problem: "must be a JSON object" };
    if (isBroken) return { line, problem: "has half of a character: an escape such as \\ud800 alone" };
    if (isRounded) return { line, problem: "has a number that loses digits: write it as a string" };
    return { line, content };
  } catch {
    return { line, problem: "is not JSON" };
  }
}

/** What follows an open quote is one record. So much of it is read, and then no more. */
const MAX_OPEN_CHARACTERS = 32_000_000;

async function* csvRecords(source: TokenFile): AsyncGenerator<FileRecord> {
  const found: FileRecord[] = [];
  let header: readonly string[] | undefined;
  let failure: Error | undefined;
  const parser = parse({
    relax_column_count: true,
    skip_empty_lines: true,
    skip_records_with_error: true,
    // A quote that does not match would swallow the records up to the next one.
    relax_quotes: true,
    raw: true,
    on_record({ record: cells, raw }: { readonly record: readonly string[]; readonly raw: string }, { lines: line }) {
      if (!header) header = requireHeader(cells);
      else found.push(hasStrayQuote(cells, raw) ? { line, problem: STRAY_QUOTE } : csvRecord(line, header, cells));
      return null;
    },
  });
  parser.on("skip", (error: Error) => found.push({ line: lineOf(error), problem: STRAY_QUOTE }));
  parser.on("error", (error) => {
    failure ??= error;
  });
  const step = (act: (done: () => void) => void) => new Promise<void>((resolve) => void act(resolve));
  let open = 0;
  for await (const piece of decodedPieces(source)) {
    await step((done) => parser.write(piece, done));
    open = found.length > 0 ? 0 : open + piece.length;
    yield* found.splice(0);
    if (failure || open > MAX_OPEN_CHARACTERS) break;
  }
  if (!failure && open <= MAX_OPEN_CHARACTERS) {
    await step((done) => parser.once("error", done).once("end", done).resume().end());
    yield* found.splice(0);
  }
  if (failure instanceof UnreadableFile) throw failure;
  if (!header) throw new UnreadableFile(`${source.name} has no header.`);
  if (failure || open > MAX_OPEN_CHARACTERS) {
    yield { line: lineOf(failure), problem: "is not CSV: a quote is not closed. Nothing after it is read" };
  }
}

/**
 * A cell with a quote has it doubled in the file. Each is searched after the one before: from the start, a record of 80,000
 * such cells took 30 s.
 */
function hasStrayQuote(cells: readonly string[], raw: string): boolean {
  let from = 0;
  return cells.some((cell) => {
    if (!cell.includes('"')) return false;
    const written = cell.replaceAll('"', '""');
    const found = raw.indexOf(written, from);
    from = found + written.length;
    return found < 0;
  });
}

function lineOf(error: Error | undefined): number {
  const line: unknown = error && Reflect.get(error, "lines");
  return typeof line === "number" ? line : 0;
}

function requireHeader(names: readonly string[]): readonly string[] {
  const seen = new Map<string, number>();
  for (const [index, name] of names.entries()) {
    const first = seen.get(name);
    // Without their name: a file without a header begins with values.
    if (first !== undefined) {
      throw new UnreadableFile(`Columns ${first + 1} and ${index + 1} of the header have the same name.`);
    }
    seen.set(name, index);
  }
  return names;
}

function csvRecord(line: number, header: readonly string[], cells: readonly string[]): FileRecord {
  if (cells.length !== header.length) {
    return { line, problem: `has ${cells.length} columns, and the header has ${header.length}` };
  }
  if (cells.reduce((sum, { length }) => sum + length, 0) > MAX_RECORD_CHARACTERS) return { line, problem: TOO_LONG };
  if (cells.some((cell) => cell.includes("\ufffd"))) return { line, problem: NOT_UTF_8 };
  const content: JsonObject = {};
  for (const [index, name] of header.entries()) setOwnProperty(content, name, cells[index] ?? "");
  return { line, content };
}
