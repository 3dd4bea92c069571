import type { KeyObject } from "node:crypto";
import { MINUTE_MS } from "../../base/clock.js";
import { hashOfSigned, isLogSignature } from "../../crypto/log-signing.js";
import { readBody, type SealBody } from "../chain/seal-body.js";
import type { EndLine, Manifest, SignedLine, StampLine } from "../export/export-format.js";
import { isWithinRange } from "../export/export-range.js";
import type { Continuation } from "./earlier-export.js";
import type { ExportStamps, StampedEntry } from "./export-stamps.js";
import type { LogWalk } from "./log-walk.js";

export interface OpenedExport {
  readonly manifest: Manifest;
  readonly publicKey: KeyObject;
  readonly walk: LogWalk;
  readonly stamps: ExportStamps;
  readonly continuation: Continuation | undefined;
}

/** The log in an export, with what its manifest says of the range. */
export class ExportEntries {
  readonly #manifest: Manifest;
  readonly #publicKey: KeyObject;
  readonly #stamps: ExportStamps;
  readonly #range: { readonly since: Date; readonly until: Date };
  readonly #continuation: Continuation | undefined;
  readonly walk: LogWalk;
  #lastSigned: StampedEntry | undefined;
  /** Minutes of the range whose rows were removed after their retention. */
  removedMinutes = 0;
  restarts = 0;

  constructor({ manifest, publicKey, walk, stamps, continuation }: OpenedExport) {
    this.#manifest = manifest;
    this.#publicKey = publicKey;
    this.#stamps = stamps;
    this.#continuation = continuation;
    this.#range = { since: new Date(manifest.since), until: new Date(manifest.until) };
    this.walk = walk;
  }

  /** The end of the last sealed minute of the range. Absent: the range has none. */
  get sealedUntil(): Date | undefined {
    const last = this.walk.lastMinute;
    return last && new Date(Math.min(last.getTime() + MINUTE_MS, this.#range.until.getTime()));
  }

  signed(line: SignedLine): void {
    const body = readBody(line.body);
    const { tenant_id, key } = this.#manifest;
    if (!body || body.tenantId !== tenant_id || body.key !== key) {
      const what = body && body.tenantId === tenant_id ? "is signed by another key" : "is not one of this tenant";
      this.walk.findings.add("seal_changed", body?.window, `entry ${body?.number ?? "without a number"} ${what}`);
      return;
    }
    const { number, window, signedAt } = body;
    const hash = hashOfSigned(line.body);
    const isOwn = isLogSignature(this.#publicKey, line.body, Buffer.from(line.signature, "base64"));
    const hasRows = line.kind === "seal";
    this.#checkRange(body, hasRows);
    const forged = isOwn ? undefined : `the signature of entry ${number} is wrong`;
    const entry = { ...body, hash, forged };
    this.walk.entry(entry, hasRows ? "all" : "none");
    this.#continuation?.entry(entry);
    if (body.kind === "restart") this.restarts += 1;
    this.#lastSigned = { number, window, signedAt, hash };
  }

  stamp(line: StampLine): void {
    const isNext = this.#lastSigned?.number === this.walk.last?.number && this.walk.openRows === 0;
    this.#stamps.add(line, isNext ? this.#lastSigned : undefined, this.sealedUntil);
  }

  finish({ sealed_until }: EndLine): void {
    const { first, last: promised, head, until } = this.#manifest;
    const { last, findings, entries } = this.walk;
    const isProven = sealed_until === null || sealed_until <= until;
    if (!isProven) findings.add("file_changed", undefined, "the last line is about another range");
    this.walk.unsealed();
    this.#continuation?.finish(this.#manifest);
    if ((last?.number ?? 0) !== promised) {
      findings.add("seal_missing", last?.window, `the chain ends before entry ${promised} of the manifest`);
    }
    const isInside = last?.kind === "minute" && isWithinRange(this.#range, last.window);
    if (isInside && promised !== head) {
      findings.add("range_incomplete", last.window, "entries after this one are left out");
    }
    if (entries === 0 && head > 0) findings.add("range_incomplete", undefined, `entry ${first} is left out`);
  }

  /** The range has all of its rows, except those that were removed after their retention. */
  #checkRange({ number, kind, window }: SealBody, hasRows: boolean): void {
    const { findings, last } = this.walk;
    if (kind !== "minute") {
      if (hasRows) findings.add("file_changed", window, `entry ${number} cannot have rows`);
      return;
    }
    const keptFrom = this.#manifest.kept_from;
    const isInside = isWithinRange(this.#range, window);
    const isRemoved = keptFrom !== null && window < new Date(keptFrom);
    if (hasRows !== (isInside && !isRemoved)) {
      const problem = hasRows ? "has rows outside of the range" : "has lost its rows";
      findings.add("range_incomplete", window, `entry ${number} ${problem}`);
    }
    if (isInside && !last && number > 1) {
      findings.add("range_incomplete", window, "entries before this one are left out");
    }
    if (isInside && isRemoved) this.removedMinutes += 1;
  }
}
