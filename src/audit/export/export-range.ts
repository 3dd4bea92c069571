import { createHash } from "node:crypto";
import { MINUTE_MS } from "../../base/clock.js";
import type { TenantId, Uuid } from "../../base/ids.js";
import { logSigningKey, signLogText } from "../../crypto/log-signing.js";
import type { TenantKeys } from "../../crypto/tenant-keys.js";
import type { AnchorRow } from "../../store/audit/audit-anchors.js";
import type { SealRow } from "../../store/audit/audit-seals.js";
import type { LogSnapshot } from "../../store/audit/log-snapshot.js";
import { verifiedHead } from "../chain/chain.js";
import { provenUntil } from "../chain/proven-until.js";
import { SealedRows } from "../chain/sealed-rows.js";
import { EXPORT_FORMAT, endText, entryLine, type Manifest, type StampLine } from "./export-format.js";
import { rowJson } from "./row-json.js";

/** Text is yielded in pieces of about this many characters. */
const PIECE = 256 * 1024;

export interface ExportRange {
  readonly since: Date;
  /** Not included. */
  readonly until: Date;
}

export interface ExportedLog {
  readonly tenantId: TenantId;
  readonly keys: TenantKeys;
  /** The vault knows of no tampering: the export may attest that nothing is missing at its end. */
  readonly isWhole: boolean;
  readonly tokenOf: (stamp: Uuid) => Promise<Buffer | undefined>;
}

/** Widens a range to whole minutes: a seal covers a minute. */
export function wholeMinutes({ since, until }: ExportRange): ExportRange {
  return {
    since: new Date(Math.floor(since.getTime() / MINUTE_MS) * MINUTE_MS),
    until: new Date(Math.ceil(until.getTime() / MINUTE_MS) * MINUTE_MS),
  };
}

/**
 * Writes the sealed part of a range of a tenant's log as lines of JSON that can be verified without the vault: a
 * manifest; the rows of each minute, followed by its seal; the entries of the chain just outside of the range, which
 * show that nothing is missing at its ends; and a signed hash of all that.
 */
export async function* exportRange(
  snapshot: LogSnapshot,
  { tenantId, keys, isWhole, tokenOf }: ExportedLog,
  range: ExportRange,
  onProgress: (rows: number) => void,
): AsyncGenerator<string> {
  const key = logSigningKey(keys.audit, tenantId);
  const keptFrom = snapshot.head && verifiedHead(keys, snapshot.head)?.keptFrom;
  const numbers = await snapshot.numbersOf(range);
  const manifest: Manifest = {
    kind: "manifest",
    format: EXPORT_FORMAT,
    tenant_id: tenantId,
    since: range.since.toISOString(),
    until: range.until.toISOString(),
    exported_at: snapshot.takenAt.toISOString(),
    ...numbers,
    kept_from: keptFrom?.toISOString() ?? null,
    key: key.fingerprint,
    public_key: key.publicKey.toString("base64"),
  };
  const proven = isWhole ? await provenUntil(snapshot, keys) : undefined;
  const sealedUntil = proven && proven > range.since ? earlier(proven, range.until).toISOString() : null;
  const hash = createHash("sha256");
  const written = { rows: 0, entries: 0 };
  for await (const text of inPieces(lines())) {
    hash.update(text);
    onProgress(written.rows);
    yield text;
  }
  const end = { ...written, sealed_until: sealedUntil, sha256: hash.digest("hex") };
  const signature = (await signLogText(key, endText(manifest, end))).toString("base64");
  yield `${JSON.stringify({ kind: "end", ...end, signature })}\n`;

  async function* lines(): AsyncGenerator<string> {
    yield JSON.stringify(manifest);
    const sealed = new SealedRows(snapshot, () => {}, range.since);
    const anchors = new Map((await snapshot.anchors(numbers)).map((anchor) => [anchor.number, anchor]));
    const isKept = (seal: SealRow) => !keptFrom || seal.window_start >= keptFrom;
    for await (const page of snapshot.seals(numbers)) {
      for (const seal of page) {
        const hasRows = seal.kind === "minute" && isWithinRange(range, seal.window_start) && isKept(seal);
        for await (const rows of hasRows ? sealed.minuteOf(seal) : []) {
          written.rows += rows.length;
          for (const row of rows) yield JSON.stringify(rowJson(tenantId, row));
        }
        written.entries += 1;
        yield JSON.stringify(entryLine(seal, hasRows));
        const anchor = anchors.get(seal.number);
        const token = anchor && (await tokenOf(anchor.stamp_id));
        if (anchor && token) yield JSON.stringify(stampLine(anchor, token));
      }
    }
  }
}

function stampLine({ number, proof }: AnchorRow, token: Buffer): StampLine {
  return { kind: "stamp", number, proof: proof === "" ? [] : proof.split(" "), token: token.toString("base64") };
}

function earlier(one: Date, other: Date): Date {
  return one < other ? one : other;
}

export function isWithinRange({ since, until }: ExportRange, time: Date): boolean {
  return time >= since && time < until;
}

async function* inPieces(lines: AsyncGenerator<string>): AsyncGenerator<string> {
  let piece = "";
  for await (const line of lines) {
    piece += `${line}\n`;
    if (piece.length < PIECE) continue;
    yield piece;
    piece = "";
  }
  if (piece !== "") yield piece;
}
