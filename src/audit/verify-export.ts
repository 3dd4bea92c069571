import { isUtf8 } from "node:buffer";
import { createHash, type KeyObject, type X509Certificate } from "node:crypto";
import { isTenantId } from "../base/ids.js";
import { fingerprintOf, isLogSignature, readLogPublicKey } from "../crypto/log-signing.js";
import { ExportEntries } from "./export-entries.js";
import {
  type EndLine,
  EXPORT_FORMAT,
  endText,
  fieldsOf,
  type Manifest,
  readEnd,
  readManifest,
  readSigned,
  readStamp,
  readUnsigned,
} from "./export-format.js";
import { ExportStamps } from "./export-stamps.js";
import { type Finding, Findings } from "./findings.js";
import { rawLines, Unreadable } from "./raw-lines.js";
import { readRowJson } from "./row-json.js";

/**
 * - `good`: the file is complete and unchanged, and the tenant's key signed it
 * - `tampered`: it is not what the vault wrote
 * - `unknown`: nothing contradicts it, but it cannot be verified: see the reasons
 */
export type ExportState = "good" | "tampered" | "unknown";

export interface ExportVerdict {
  readonly state: ExportState;
  /** Absent if the first line cannot be read. */
  readonly manifest: Manifest | undefined;
  readonly rows: number;
  readonly entries: number;
  readonly unsignedRows: number;
  readonly removedMinutes: number;
  /** How often an operator continued a chain that had been tampered with. */
  readonly restarts: number;
  readonly sealedUntil: Date | undefined;
  readonly stamps: Pick<ExportStamps, "verified" | "unverified" | "last">;
  readonly reasons: readonly string[];
  readonly findings: readonly Finding[];
  readonly findingCount: number;
}

/** What an auditor has from another source than the file. */
export interface TrustedEvidence {
  /** The tenant's. Without it, anyone's key would do. */
  readonly fingerprint: string | undefined;
  /** Time-stamp authorities. Absent: time stamps are not verified. */
  readonly authorities?: readonly X509Certificate[] | undefined;
}

/** Verifies an export without the vault, in constant memory. */
export async function verifyExport(input: AsyncIterable<Buffer>, trust: TrustedEvidence): Promise<ExportVerdict> {
  const check = new ExportCheck(trust);
  try {
    for await (const line of rawLines(input)) check.line(line);
    check.end();
  } catch (error) {
    if (!(error instanceof Unreadable)) throw error;
    check.stop(error.message);
  }
  return check.verdict();
}

class ExportCheck {
  readonly #trust: TrustedEvidence;
  readonly #findings = new Findings();
  readonly #stamps: ExportStamps;
  readonly #hash = createHash("sha256");
  readonly #reasons: string[] = [];
  #manifest: Manifest | undefined;
  #publicKey: KeyObject | undefined;
  #entries: ExportEntries | undefined;
  #isEnded = false;
  /** What the last line attests. */
  #attestedUntil: Date | undefined;

  constructor(trust: TrustedEvidence) {
    this.#trust = trust;
    this.#stamps = new ExportStamps(trust.authorities, this.#findings);
  }

  line(bytes: Buffer): void {
    if (this.#isEnded) throw new Unreadable("something follows the last line");
    if (!isUtf8(bytes)) throw new Unreadable("a line is not UTF-8");
    const text = bytes.toString("utf8", 0, bytes.length - 1);
    if (!text.startsWith('{"kind":"end"')) this.#hash.update(bytes);
    if (!this.#entries) this.#start(text);
    else if (text.startsWith('{"kind":"row"')) this.#row(this.#entries, text);
    else this.#other(this.#entries, text);
  }

  end(): void {
    if (!this.#isEnded) throw new Unreadable(this.#manifest ? "the end of the file is missing" : "the file is empty");
  }

  stop(reason: string): void {
    // Of a newer format nothing can be said.
    if (this.#reasons.length === 0) this.#findings.add("file_changed", undefined, reason);
  }

  verdict(): ExportVerdict {
    const entries = this.#entries;
    const { count } = this.#findings;
    if (this.#manifest && this.#trust.fingerprint === undefined) {
      this.#reasons.push("without --key, it is not known whose key signed this file");
    }
    if (entries && entries.unsignedRows > 0) {
      const reason = `${entries.unsignedRows} rows were sealed by a release without signatures: only the vault can verify them`;
      this.#reasons.push(reason);
    }
    if (entries && entries.unknownLayouts > 0) {
      this.#reasons.push(`${entries.unknownLayouts} minutes have digests of a later release: verify with that`);
    }
    if (entries && this.#trust.authorities && this.#stamps.verified === 0) {
      this.#reasons.push("the file has no time stamp that --tsa-ca could verify");
    }
    const state = count > 0 ? "tampered" : this.#reasons.length > 0 ? "unknown" : "good";
    return {
      ...{ state, manifest: this.#manifest, rows: entries?.rows ?? 0, entries: entries?.entries ?? 0 },
      ...{ unsignedRows: entries?.unsignedRows ?? 0, removedMinutes: entries?.removedMinutes ?? 0 },
      ...{ restarts: entries?.restarts ?? 0, sealedUntil: this.#sealedUntil(), reasons: this.#reasons },
      ...{ stamps: this.#stamps, findings: this.#findings.list, findingCount: count },
    };
  }

  /** By the entries, or by what the vault attests of the time after them. */
  #sealedUntil(): Date | undefined {
    const [byEntries, attested] = [this.#entries?.sealedUntil, this.#attestedUntil];
    return byEntries && attested && byEntries > attested ? byEntries : (attested ?? byEntries);
  }

  #start(text: string): void {
    const fields = fieldsOf(text);
    const format = fields?.get("format");
    const tenantId = fields?.get("tenant_id");
    if (typeof format === "string" && /^cloakroom-audit-export\/[0-9]+$/.test(format) && format !== EXPORT_FORMAT) {
      this.#reasons.push(`the file has format ${format}, which this release does not know`);
      throw new Unreadable("unknown format");
    }
    const isTenant = typeof tenantId === "string" && isTenantId(tenantId);
    const manifest = fields && isTenant ? readManifest(fields, text, tenantId) : undefined;
    const spki = Buffer.from(manifest?.public_key ?? "", "base64");
    const publicKey = readLogPublicKey(spki);
    if (!manifest || !publicKey) throw new Unreadable("the first line is not the manifest of an export");
    if (fingerprintOf(spki) !== manifest.key || (this.#trust.fingerprint ?? manifest.key) !== manifest.key) {
      this.#findings.add("key_changed", undefined, "the file is signed by another key than that of the tenant");
    }
    this.#manifest = manifest;
    this.#publicKey = publicKey;
    this.#entries = new ExportEntries(manifest, publicKey, this.#findings, this.#stamps);
  }

  #row(entries: ExportEntries, text: string): void {
    const row = this.#manifest && fieldsOf(text) && readRowJson(this.#manifest.tenant_id, text);
    if (!row) throw new Unreadable(`row ${entries.rows + 1} is not one of this log`);
    entries.row(row);
  }

  #other(entries: ExportEntries, text: string): void {
    const fields = fieldsOf(text);
    const kind = fields?.get("kind");
    const signed = fields && (kind === "seal" || kind === "link") ? readSigned(fields, text) : undefined;
    const isUnsigned = kind === "unsigned_seal" || kind === "unsigned_link";
    const unsigned = fields && isUnsigned ? readUnsigned(fields, text) : undefined;
    const stamp = fields && kind === "stamp" ? readStamp(fields, text) : undefined;
    const end = fields && kind === "end" ? readEnd(fields, text) : undefined;
    if (signed) entries.signed(signed);
    else if (unsigned) entries.unsigned(unsigned);
    else if (stamp) entries.stamp(stamp);
    else if (end) this.#finish(entries, end);
    else throw new Unreadable("a line is not one of an export");
  }

  #finish(entries: ExportEntries, end: EndLine): void {
    this.#isEnded = true;
    entries.finish(end);
    if (end.sealed_until !== null) this.#attestedUntil = new Date(end.sealed_until);
    if (end.rows !== entries.rows || end.entries !== entries.entries || end.sha256 !== this.#hash.digest("hex")) {
      this.#findings.add("file_changed", undefined, "the file is not the one whose hash its last line has");
    }
    const text = this.#manifest && endText(this.#manifest, end);
    const signature = Buffer.from(end.signature, "base64");
    if (text === undefined || !this.#publicKey || !isLogSignature(this.#publicKey, text, signature)) {
      this.#findings.add("file_changed", undefined, "the signature of the last line is wrong");
    }
  }
}
