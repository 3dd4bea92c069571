import { isUtf8 } from "node:buffer";
import { createHash, type KeyObject, type X509Certificate } from "node:crypto";
import { isTenantId } from "../../base/ids.js";
import { unknownFormat } from "../../crypto/bytes.js";
import { SEAL_FORMAT } from "../../crypto/log-seal.js";
import { isLogSignature, readLogPublicKey, signingKeyFingerprint } from "../../crypto/log-signing.js";
import { type Finding, Findings } from "../chain/findings.js";
import { otherFormat } from "../chain/seal-body.js";
import {
  type EndLine,
  EXPORT_FORMAT,
  endText,
  type Manifest,
  parseLineFields,
  readEnd,
  readManifest,
  readSigned,
  readStamp,
  type SignedLine,
} from "../export/export-format.js";
import { readRowJson } from "../export/row-json.js";
import { Continuation, type EarlierExport } from "./earlier-export.js";
import { ExportEntries } from "./export-entries.js";
import { ExportStamps } from "./export-stamps.js";
import { LogWalk, type WalkedEntry } from "./log-walk.js";
import { rawLines, Unreadable } from "./raw-lines.js";

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
  readonly removedMinutes: number;
  /** How often an operator continued a chain that had been tampered with. */
  readonly restarts: number;
  readonly sealedUntil: Date | undefined;
  readonly attestedUntil: Date | undefined;
  readonly stamps: Pick<ExportStamps, "verified" | "unverified" | "last">;
  readonly reasons: readonly string[];
  /** What the file is not about, although it seems to be. */
  readonly warnings: readonly string[];
  readonly findings: readonly Finding[];
  readonly findingCount: number;
  /** The last entry of the chain. Absent if the file has none. */
  readonly last: WalkedEntry | undefined;
}

export interface TrustedEvidence {
  /** The tenant's. Without it, anyone's key would do. */
  readonly fingerprint: string | undefined;
  /** Time-stamp authorities. Absent: time stamps are not verified. */
  readonly authorities?: readonly X509Certificate[] | undefined;
  readonly after?: EarlierExport | undefined;
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

/** A warning for the end of the range, if the file proves nothing about it. */
function uncovered({ since, until }: Manifest, sealedUntil: Date | undefined): readonly string[] {
  const from = sealedUntil?.toISOString() ?? since;
  return from < until ? [`the file proves nothing about the time from ${from} to ${until}, the end of its range`] : [];
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
    if (entries && this.#trust.authorities && this.#stamps.verified === 0) {
      this.#reasons.push("the file has no time stamp that --tsa-ca could verify");
    }
    const sealedUntil = this.#sealedUntil();
    const state = count > 0 ? "tampered" : this.#reasons.length > 0 ? "unknown" : "good";
    return {
      state,
      manifest: this.#manifest,
      rows: entries?.walk.rows ?? 0,
      entries: entries?.walk.entries ?? 0,
      removedMinutes: entries?.removedMinutes ?? 0,
      restarts: entries?.restarts ?? 0,
      sealedUntil,
      attestedUntil: this.#attestedUntil,
      reasons: this.#reasons,
      warnings: this.#manifest ? uncovered(this.#manifest, sealedUntil) : [],
      last: entries?.walk.last,
      stamps: this.#stamps,
      findings: this.#findings.list,
      findingCount: count,
    };
  }

  /** By the entries, or by what the vault attests of the time after them. */
  #sealedUntil(): Date | undefined {
    const [byEntries, attested] = [this.#entries?.sealedUntil, this.#attestedUntil];
    return byEntries && attested && byEntries > attested ? byEntries : (attested ?? byEntries);
  }

  #start(text: string): void {
    const fields = parseLineFields(text);
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
    if (signingKeyFingerprint(spki) !== manifest.key || (this.#trust.fingerprint ?? manifest.key) !== manifest.key) {
      this.#findings.add("key_changed", undefined, "the file is signed by another key than that of the tenant");
    }
    this.#manifest = manifest;
    this.#publicKey = publicKey;
    const walk = new LogWalk({ tenantId: manifest.tenant_id, first: manifest.first }, this.#findings);
    const { after } = this.#trust;
    if (after && (after.manifest.tenant_id !== manifest.tenant_id || after.manifest.key !== manifest.key)) {
      this.#findings.add("key_changed", undefined, "the earlier file is the log of another tenant");
    }
    const continuation = after && new Continuation(after, this.#findings);
    this.#entries = new ExportEntries({ manifest, publicKey, walk, stamps: this.#stamps, continuation });
  }

  #row(entries: ExportEntries, text: string): void {
    const row = this.#manifest && parseLineFields(text) && readRowJson(this.#manifest.tenant_id, text);
    if (!row) throw new Unreadable(`row ${entries.walk.rows + 1} is not one of this log`);
    entries.walk.row(row);
  }

  #other(entries: ExportEntries, text: string): void {
    const fields = parseLineFields(text);
    const kind = fields?.get("kind");
    const signed = fields && (kind === "seal" || kind === "link") ? readSigned(fields, text) : undefined;
    const stamp = fields && kind === "stamp" ? readStamp(fields, text) : undefined;
    const end = fields && kind === "end" ? readEnd(fields, text) : undefined;
    if (signed) this.#signed(entries, signed);
    else if (stamp) entries.stamp(stamp);
    else if (end) this.#finish(entries, end);
    else throw new Unreadable("a line is not one of an export");
  }

  #signed(entries: ExportEntries, line: SignedLine): void {
    const version = otherFormat(line.body);
    const signature = Buffer.from(line.signature, "base64");
    // Only the tenant's key can say that there is another format: anyone else changed the file.
    if (version !== undefined && this.#publicKey && isLogSignature(this.#publicKey, line.body, signature)) {
      this.#reasons.push(unknownFormat("an entry", version, SEAL_FORMAT));
      throw new Unreadable("unknown format");
    }
    entries.signed(line);
  }

  #finish(entries: ExportEntries, end: EndLine): void {
    this.#isEnded = true;
    entries.finish(end);
    if (end.sealed_until !== null) this.#attestedUntil = new Date(end.sealed_until);
    const { rows, entries: count } = entries.walk;
    if (end.rows !== rows || end.entries !== count || end.sha256 !== this.#hash.digest("hex")) {
      this.#findings.add("file_changed", undefined, "the file is not the one whose hash its last line has");
    }
    const text = this.#manifest && endText(this.#manifest, end);
    const signature = Buffer.from(end.signature, "base64");
    if (text === undefined || !this.#publicKey || !isLogSignature(this.#publicKey, text, signature)) {
      this.#findings.add("file_changed", undefined, "the signature of the last line is wrong");
    }
  }
}
