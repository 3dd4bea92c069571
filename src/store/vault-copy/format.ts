import { createHash } from "node:crypto";
import { isRecord, isTexts } from "../../base/json.js";

/**
 * The format of a decompressed (gzip) export: a header line, sections, and an end line. Lines are JSON. A section is a
 * line that names a table and its columns, rows in the text format of PostgreSQL's COPY, and a line `\.`, which no row
 * equals. The end has an HMAC-SHA-256 over all bytes before it, under a key that the root key wraps.
 */
export const FORMAT = "cloakroom-export-1";

export const SECTION_END = Buffer.from("\\.\n");

export interface ExportHeader {
  readonly format: string;
  /** By the database's clock, ISO 8601. Older exports lack it. */
  readonly taken_at?: string;
  /** The migrations of the exported database. The importing database must have exactly these. */
  readonly migrations: readonly string[];
  /** The months of the log that had a partition, which an import fills. */
  readonly log_partitions: readonly string[];
  /** The root keys that wrap the tenants' keys, with their check values (base64). */
  readonly root_keys: readonly ExportedRootKey[];
  /** The file's own key, wrapped (base64). */
  readonly key: { readonly root_key_id: string; readonly wrapped: string };
  /**
   * SHA-256 of the header without this field, in hexadecimal. It distinguishes a damaged header from one whose root key
   * is missing. The MAC at the end cannot, because it needs the key.
   */
  readonly sha256: string;
}

export interface ExportedRootKey {
  readonly id: string;
  readonly check_value: string;
  readonly retired: boolean;
  /** The number of shares that restore it, if it was split before the export. */
  readonly threshold: number | null;
}

export interface SectionLine {
  readonly table: string;
  readonly columns: readonly string[];
}

export interface EndLine {
  /** In hexadecimal. */
  readonly mac: string;
}

/** The file cannot be imported. The message is for the operator. */
export class ExportFileError extends Error {
  override readonly name = "ExportFileError";
}

export function headerLine(header: Omit<ExportHeader, "sha256">): Buffer {
  return Buffer.from(`${JSON.stringify({ ...header, sha256: digestOf(header) })}\n`);
}

function digestOf(header: object): string {
  return createHash("sha256").update(JSON.stringify(header)).digest("hex");
}

type Parsed = Readonly<Record<string, unknown>>;

/** @throws {ExportFileError} also for a header that differs from its digest. */
export function readHeader(line: string): ExportHeader {
  const parsed = parse(line);
  const { sha256, ...digested } = parsed;
  const { format, taken_at, migrations, log_partitions, root_keys, key } = digested;
  if (typeof format !== "string" || !format.startsWith("cloakroom-export-")) {
    throw new ExportFileError("The file is no export of Cloakroom.");
  }
  if (format !== FORMAT) throw new ExportFileError(`The file is of another kind (${format}) than this release reads.`);
  if (typeof sha256 !== "string" || sha256 !== digestOf(digested)) throw damaged();
  if (!isTexts(migrations) || !isTexts(log_partitions)) throw damaged();
  if (taken_at !== undefined && typeof taken_at !== "string") throw damaged();
  if (!Array.isArray(root_keys) || !root_keys.every(isRootKey) || !isWrappedKey(key)) {
    throw damaged();
  }
  const read = { format, migrations, log_partitions, root_keys, key, sha256 };
  return taken_at === undefined ? read : { ...read, taken_at };
}

/** @throws {ExportFileError} */
export function readLine(line: string): SectionLine | EndLine {
  const { table, columns, mac } = parse(line);
  if (typeof mac === "string") return { mac };
  if (typeof table === "string" && isTexts(columns)) return { table, columns };
  throw damaged();
}

export function damaged(): ExportFileError {
  return new ExportFileError("The file is damaged or was cut off. Nothing was imported.");
}

function parse(line: string): Parsed {
  try {
    const parsed: unknown = JSON.parse(line);
    if (isRecord(parsed)) return parsed;
  } catch {
    // The error below reports it.
  }
  throw damaged();
}

function isRootKey(value: unknown): value is ExportedRootKey {
  if (!isRecord(value)) return false;
  const { id, check_value, retired, threshold } = value;
  const isKey = typeof id === "string" && typeof check_value === "string" && typeof retired === "boolean";
  return isKey && (threshold === null || typeof threshold === "number");
}

function isWrappedKey(value: unknown): value is ExportHeader["key"] {
  return isRecord(value) && typeof value.root_key_id === "string" && typeof value.wrapped === "string";
}
