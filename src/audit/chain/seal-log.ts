import { DAY_MS, MINUTE_MS } from "../../base/clock.js";
import type { TenantId } from "../../base/ids.js";
import { type ChainHead, macOfMinute, SEAL_FORMAT, type SealedMinute } from "../../crypto/log-seal.js";
import { RowDigest } from "../../crypto/row-digest.js";
import type { TenantKeySource, TenantKeys } from "../../crypto/tenant-keys.js";
import type { SinkName } from "../../sinks/sink.js";
import { closeLog, deleteLogDue, insertSeal, moveChainHead, type SealRow } from "../../store/audit/audit-seals.js";
import { lockClosedLog } from "../../store/audit/log-clock.js";
import { cellsOf, type RawLogRow, readRawLog } from "../../store/audit/raw-log.js";
import type { Database } from "../../store/database.js";
import { scheduleDue } from "../../store/jobs/due.js";
import { UniqueViolation } from "../../store/postgres/database-error.js";
import { asServer } from "../tenant-database.js";
import { ATTESTED_EVERY_MS, attest, nextPlace } from "./attestations.js";
import { type Chain, ChainConflict, readChain, signHead } from "./chain.js";
import { ChainHistory } from "./chain-history.js";
import { minuteOf } from "./minute-counts.js";
import { lastSignedOf, signSeals, type UnsignedSeal } from "./sign-seals.js";

/** Rows read, and seals written, at a time. */
const PAGE = 5_000;

export interface SealParts {
  readonly database: Database;
  readonly keyring: TenantKeySource;
  /** What this process knows of chains. Absent: nothing yet. */
  readonly history?: ChainHistory;
  /** The sinks that get sealed minutes. */
  readonly sinks?: readonly SinkName[];
  /** A time-stamp authority stamps the last seal of each day. */
  readonly isStamped?: boolean;
  /** Called if the vault's own chain was truncated or changed. */
  readonly onVaultBroken?: () => void;
}

/**
 * - `sealed`: every minute up to this one that has rows has its seal, made now or by another process
 * - `early`: by the database's clock, the minute ended too recently
 * - `broken`: the chain before these minutes was tampered with; they are sealed, and verification shows the gap
 * - `refused`: the head of the chain is gone, and sealing waits until an operator restarts the chain
 * - `stopped`: the next run does the rest
 */
export type SealOutcome = "sealed" | "early" | "broken" | "refused" | "stopped";

export interface SealTask {
  readonly minute: Date;
  /** The time of the minute's due entry. */
  readonly dueAt: Date;
  /** Ends the task between two pages of rows. */
  readonly signal?: AbortSignal;
}

/**
 * Seals a tenant's log up to the end of a minute. First closes the log up to there, permanently; then no row changes
 * any more, and the rows can be read in pages. A crash in between leaves a closed minute, which the next run seals. Of
 * two concurrent runs one finds its minutes sealed, and stops.
 */
export async function sealLog(
  parts: SealParts,
  tenantId: TenantId,
  { minute, dueAt, signal }: SealTask,
): Promise<SealOutcome> {
  const { database } = parts;
  const until = new Date(minute.getTime() + MINUTE_MS);
  const hasClosed = await database
    .of(tenantId)
    .bulk((tx) => tx.query(closeLog, { until, notBefore: new Date(until.getTime() + MINUTE_MS) }));
  if (!hasClosed) return "early";
  const outcome = await sealClosed(parts, tenantId, { until, signal });
  if (outcome === "sealed" || outcome === "broken") {
    const keys = await parts.keyring.of(tenantId);
    await asServer(database, keys).bulk(async (tx) => {
      tx.enqueue(deleteLogDue, { kind: "log_seal", minute: dueAt });
      if (outcome === "broken") tx.log("log", tenantId, "break");
    });
  }
  return outcome === "overtaken" ? "sealed" : outcome;
}

/** `overtaken`: another process has sealed these minutes, and deletes their due entry. */
export type ClosedOutcome = Exclude<SealOutcome, "early"> | "overtaken";

/** Seals minutes that are closed already. */
export async function sealClosed(
  parts: SealParts,
  tenantId: TenantId,
  { until, signal }: { readonly until: Date; readonly signal?: AbortSignal | undefined },
): Promise<ClosedOutcome> {
  const { database, keyring, history = new ChainHistory() } = parts;
  const keys = await keyring.of(tenantId);
  const { chain, now, signed } = await asServer(database, keys).bulk(async (tx) => {
    const chain = await readChain(tx);
    return { chain, now: tx.now, signed: await lastSignedOf(tx, chain) };
  });
  const state = await history.stateOf(parts, tenantId, chain);
  if (state === "headless") return "refused";
  const log = { database, keys, tenantId, sinks: parts.sinks ?? [], isStamped: parts.isStamped ?? false };
  try {
    let sealed: SignedChain = { ...chain, isWhole: state === "whole", signed };
    for await (const minutes of minutesToSeal(database, tenantId, chain, { until, signal })) {
      sealed = await append(log, sealed, minutes, { until, reached: history.reached(tenantId), at: now });
    }
    history.note(tenantId, sealed.stored?.number ?? 0);
    await attestWhenDue(parts, log, sealed, now);
  } catch (error) {
    if (!(error instanceof UniqueViolation || error instanceof ChainConflict)) throw error;
    return "overtaken";
  }
  if (signal?.aborted) return "stopped";
  return state === "whole" ? "sealed" : "broken";
}

/** A minute with its row count and digest, before it has a place in the chain. */
type CountedMinute = Pick<SealedMinute, "windowStart" | "rowCount" | "digest">;

/** Yields minutes with rows but without a seal, oldest first, in batches; ends early once the signal is aborted. */
async function* minutesToSeal(
  database: Database,
  tenantId: TenantId,
  { last }: Chain,
  { until, signal }: { readonly until: Date; readonly signal: AbortSignal | undefined },
): AsyncGenerator<readonly CountedMinute[]> {
  const from = last && sealedUntil(last);
  let open: { readonly windowStart: Date; readonly digest: RowDigest } | undefined;
  let counted: CountedMinute[] = [];
  const close = () => {
    if (open)
      counted.push({ windowStart: open.windowStart, rowCount: open.digest.count, digest: open.digest.finish() });
  };
  let after: RawLogRow | undefined;
  for (;;) {
    if (signal?.aborted) return;
    const range = { group: "main", from, until, after, limit: PAGE } as const;
    const rows = await database.of(tenantId).bulk((tx) => tx.query(readRawLog, range));
    for (const row of rows) {
      const windowStart = minuteOf(row);
      if (open?.windowStart.getTime() !== windowStart.getTime()) {
        close();
        open = { windowStart, digest: new RowDigest(tenantId) };
      }
      open.digest.add(cellsOf(row));
    }
    after = rows.at(-1);
    if (rows.length < PAGE) break;
    if (counted.length > 0) yield counted;
    counted = [];
  }
  close();
  if (counted.length > 0) yield counted;
}

/** The time up to which the log has seals, by the last entry of its chain: a mark says where sealing continues. */
export function sealedUntil({ kind, window_start }: Pick<SealRow, "kind" | "window_start">): Date {
  return kind === "minute" ? new Date(window_start.getTime() + MINUTE_MS) : window_start;
}

interface Place {
  readonly database: Database;
  readonly keys: TenantKeys;
  readonly tenantId: TenantId;
}

interface SealedPlace extends Place {
  readonly sinks: readonly SinkName[];
  readonly isStamped: boolean;
}

interface SignedChain extends Chain {
  /** The last signed text. */
  readonly signed: string | undefined;
}

interface AppendTask {
  readonly until: Date;
  /** The highest number that the chain is known to have reached. */
  readonly reached: number;
  /** The time of signing. */
  readonly at: Date;
}

async function append(
  { database, keys, tenantId, sinks, isStamped }: SealedPlace,
  chain: SignedChain,
  counted: readonly CountedMinute[],
  { until, reached, at }: AppendTask,
): Promise<SignedChain> {
  let { number, previous } = nextPlace(chain, reached);
  const unsigned = counted.map((minute, index): UnsignedSeal => {
    if (index > 0) number += 1;
    const version = keys.audit.current;
    const mac = macOfMinute(keys.audit, version, tenantId, {
      ...minute,
      number,
      previous,
    });
    const seal = {
      kind: "minute",
      version: SEAL_FORMAT,
      subject: null,
      window_start: minute.windowStart,
      number,
      row_count: minute.rowCount,
      digest: Buffer.from(minute.digest),
      previous: Buffer.from(previous),
      key_version: version,
      mac,
    };
    previous = mac;
    return seal;
  });
  const seals = await signSeals(keys, unsigned, { before: chain.signed, at });
  // The content of a tampered head is not carried over.
  const { keptFrom, attested } = chain.head ?? { keptFrom: undefined, attested: undefined };
  const head: ChainHead = { number, lastMac: previous, keptFrom, attested };
  const stored = signHead(keys, head);
  const tomorrow = nextDay(counted.at(-1)?.windowStart ?? new Date(0));
  await database.of(tenantId).bulk(async (tx) => {
    // Another process may have set the log back since its rows were read, which reopens its last minutes.
    if (!(await tx.query(lockClosedLog, until))) throw new ChainConflict();
    for (const seal of seals) tx.enqueue(insertSeal, seal);
    scheduleDue(tx, { kind: "log_retention", at: tomorrow });
    if (isStamped) scheduleDue(tx, { kind: "log_stamp", at: tomorrow });
    for (const sink of sinks) scheduleDue(tx, { kind: `log_${sink}`, at: tx.now });
    if (!(await tx.query(moveChainHead, { before: chain.stored?.mac, head: stored }))) throw new ChainConflict();
  });
  const signed = seals.at(-1)?.signed_body ?? chain.signed;
  return { stored, head, last: undefined, isWhole: true, signed };
}

/** Records the last seal in the vault's own chain, unless that was done less than an hour ago. */
export async function attestWhenDue(
  parts: SealParts,
  { database, keys, tenantId }: Place,
  { stored, head }: Pick<Chain, "stored" | "head">,
  now: Date,
): Promise<void> {
  if (!stored || !head || head.number === 0) return;
  // After a clock was set back, attestations may have future times.
  if (head.attested && Math.abs(now.getTime() - head.attested.at.getTime()) < ATTESTED_EVERY_MS) return;
  const { ref, isVaultBroken } = await attest(parts, tenantId, head);
  if (isVaultBroken) parts.onVaultBroken?.();
  const attested = signHead(keys, { ...head, attested: ref });
  const before = stored.mac;
  // If another process has moved the head meanwhile, the head names an older attestation until the next.
  await database.of(tenantId).bulk((tx) => tx.query(moveChainHead, { before, head: attested }));
}

/** The midnight after a time: expired rows are looked for once a day. */
export function nextDay(time: Date): Date {
  return new Date((Math.floor(time.getTime() / DAY_MS) + 1) * DAY_MS);
}
