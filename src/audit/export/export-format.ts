import type { TenantId } from "../../base/ids.js";
import type { AnchorProof } from "../../crypto/anchor-tree.js";
import type { SealRow } from "../../store/audit/audit-seals.js";

export const EXPORT_FORMAT = "cloakroom-audit-export/1";

/** The first line: whose log this is, of which time, and by which key it is signed. */
export interface Manifest {
  readonly kind: "manifest";
  readonly format: typeof EXPORT_FORMAT;
  readonly tenant_id: TenantId;
  /** The range, widened to whole minutes. Ends before `until`. */
  readonly since: string;
  readonly until: string;
  readonly exported_at: string;
  /** The numbers of the first and last entry of the chain in this file: those of the range, and one before and after. */
  readonly first: number;
  readonly last: number;
  /** The number of the last entry of the chain when the file was made. */
  readonly head: number;
  /** Rows before this were removed after their retention. */
  readonly kept_from: string | null;
  /** SHA-256 of the public key. */
  readonly key: string;
  /** SubjectPublicKeyInfo of Ed25519, base64. */
  readonly public_key: string;
}

/** A signed entry: `seal` follows the rows of its minute, `link` has none in this file. */
export interface SignedLine {
  readonly kind: "seal" | "link";
  readonly body: string;
  /** Base64. */
  readonly signature: string;
}

export interface StampLine {
  readonly kind: "stamp";
  readonly number: number;
  /** From the hash of the entry's text to the stamped root. */
  readonly proof: AnchorProof;
  /** Of RFC 3161: DER, base64. */
  readonly token: string;
}

/** The last line: hash and counts of all lines before it, signed. */
export interface EndLine {
  readonly kind: "end";
  readonly rows: number;
  readonly entries: number;
  /**
   * The vault attests that the log has no other rows before this, also after the last entry. Null if it could not.
   */
  readonly sealed_until: string | null;
  /** Of all bytes before this line. */
  readonly sha256: string;
  readonly signature: string;
}

/** Without text or signature, which someone took away, they are empty: every verification finds that. */
export function entryLine({ signed_body, signature }: SealRow, hasRows: boolean): SignedLine {
  return { kind: hasRows ? "seal" : "link", body: signed_body ?? "", signature: signature?.toString("base64") ?? "" };
}

/** The text that the signature in the last line covers. */
export function endText(
  { tenant_id, key }: Pick<Manifest, "tenant_id" | "key">,
  { rows, entries, sealed_until, sha256 }: Omit<EndLine, "kind" | "signature">,
): string {
  const counts = [`rows ${rows}`, `entries ${entries}`, `sealed_until ${sealed_until ?? "unknown"}`];
  return ["cloakroom/audit-export/1", `tenant ${tenant_id}`, ...counts, `sha256 ${sha256}`, `key ${key}`, ""].join(
    "\n",
  );
}

type Fields = ReadonlyMap<string, unknown>;

/** The fields of a line; undefined if it is no object of JSON. */
export function parseLineFields(text: string): Fields | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? new Map(Object.entries(value)) : undefined;
  } catch {
    return undefined;
  }
}

const word = (fields: Fields, name: string): string => {
  const value = fields.get(name);
  return typeof value === "string" ? value : "";
};
const whole = (fields: Fields, name: string): number => {
  const value = fields.get(name);
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0 ? value : -1;
};

/** Encoded again: base64 has several texts for the same bytes, which {@link exactly} must tell apart. */
const base64 = (fields: Fields, name: string) => Buffer.from(word(fields, name), "base64").toString("base64");

/** The line, if it is exactly what the writer writes: then no byte of it can differ unnoticed. */
function exactly<Line extends object>(line: Line, text: string): Line | undefined {
  return JSON.stringify(line) === text ? line : undefined;
}

export function readManifest(fields: Fields, text: string, tenantId: TenantId): Manifest | undefined {
  const { first, last, head } = {
    first: whole(fields, "first"),
    last: whole(fields, "last"),
    head: whole(fields, "head"),
  };
  const keptFrom = fields.get("kept_from");
  if (first < 0 || last < first - 1 || head < last) return undefined;
  const manifest: Manifest = {
    kind: "manifest",
    format: EXPORT_FORMAT,
    tenant_id: tenantId,
    since: word(fields, "since"),
    until: word(fields, "until"),
    exported_at: word(fields, "exported_at"),
    first,
    last,
    head,
    kept_from: typeof keptFrom === "string" ? keptFrom : null,
    key: word(fields, "key"),
    public_key: word(fields, "public_key"),
  };
  const times = [manifest.since, manifest.until, manifest.exported_at, manifest.kept_from ?? manifest.since];
  return times.every((time) => !Number.isNaN(Date.parse(time))) ? exactly(manifest, text) : undefined;
}

export function readSigned(fields: Fields, text: string): SignedLine | undefined {
  const kind = word(fields, "kind") === "seal" ? "seal" : "link";
  return exactly({ kind, body: word(fields, "body"), signature: base64(fields, "signature") }, text);
}

export function readStamp(fields: Fields, text: string): StampLine | undefined {
  const steps: unknown = fields.get("proof");
  const proof = Array.isArray(steps) ? steps.map(String) : [];
  return exactly({ kind: "stamp", number: whole(fields, "number"), proof, token: base64(fields, "token") }, text);
}

export function readEnd(fields: Fields, text: string): EndLine | undefined {
  const until = fields.get("sealed_until");
  const sealedUntil = typeof until === "string" && !Number.isNaN(Date.parse(until)) ? until : null;
  const counts = { rows: whole(fields, "rows"), entries: whole(fields, "entries"), sealed_until: sealedUntil };
  return exactly(
    { kind: "end", ...counts, sha256: word(fields, "sha256"), signature: base64(fields, "signature") },
    text,
  );
}
