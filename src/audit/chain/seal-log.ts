import { MINUTE_MS } from "../../base/clock.js";
import type { TenantId } from "../../base/ids.js";
import { closeLog, deleteLogDue } from "../../store/audit/audit-seals.js";
import { type RawLogRow, readRawLog } from "../../store/audit/raw-log.js";
import type { Database } from "../../store/database.js";
import { UniqueViolation } from "../../store/postgres/database-error.js";
import { openTenant } from "../tenant-database.js";
import { type AttestDueParts, attestWhenDue } from "./attest-due.js";
import { type Chain, ChainConflict, readChain } from "./chain.js";
import { ChainHistory } from "./chain-history.js";
import { type CountedMinute, MinuteDigests } from "./minute-digests.js";
import { nextSeals, type SealReceivers, type SignedChain, sealedUntil, writeSeals } from "./next-seals.js";
import { lastSignedBody } from "./sign-seals.js";

/** Rows read, and seals written, at a time. */
const PAGE = 5_000;

export interface SealParts extends AttestDueParts, SealReceivers {
  /** What this process knows of chains. Absent: nothing yet. */
  readonly history?: ChainHistory;
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
    const tenant = await openTenant(parts, tenantId);
    await tenant.bulk(async (tx) => {
      tx.enqueue(deleteLogDue, { kind: "log_seal", minute: dueAt });
      if (outcome === "broken") tx.log("log", tenantId, "break");
    });
  }
  return outcome === "overtaken" ? "sealed" : outcome;
}

/** `overtaken`: another process has sealed these minutes, and deletes their due entry. */
export type ClosedOutcome = Exclude<SealOutcome, "early"> | "overtaken";

export async function sealClosed(
  parts: SealParts,
  tenantId: TenantId,
  { until, signal }: { readonly until: Date; readonly signal?: AbortSignal | undefined },
): Promise<ClosedOutcome> {
  const { database, history = new ChainHistory() } = parts;
  const tenant = await openTenant(parts, tenantId);
  const { keys } = tenant;
  const { chain, now, signed } = await tenant.bulk(async (tx) => {
    const chain = await readChain(tx);
    return { chain, now: tx.now, signed: await lastSignedBody(tx, chain) };
  });
  const state = await history.stateOf(parts, tenantId, chain);
  if (state === "headless") return "refused";
  try {
    let sealed: SignedChain = { ...chain, isWhole: state === "whole", signed };
    for await (const minutes of minutesToSeal(database, tenantId, chain, { until, signal })) {
      const next = await nextSeals(keys, sealed, minutes, { reached: history.reached(tenantId), at: now });
      await database.of(tenantId).bulk((tx) => writeSeals(tx, next, { ...parts, until }));
      sealed = next.chain;
    }
    history.note(tenantId, sealed.stored?.number ?? 0);
    await attestWhenDue(parts, [{ ...sealed, keys }], now);
  } catch (error) {
    if (!(error instanceof UniqueViolation || error instanceof ChainConflict)) throw error;
    return "overtaken";
  }
  if (signal?.aborted) return "stopped";
  return state === "whole" ? "sealed" : "broken";
}

/** Yields minutes with rows but without a seal, oldest first, in batches; ends early once the signal is aborted. */
async function* minutesToSeal(
  database: Database,
  tenantId: TenantId,
  { last }: Chain,
  { until, signal }: { readonly until: Date; readonly signal: AbortSignal | undefined },
): AsyncGenerator<readonly CountedMinute[]> {
  const from = last && sealedUntil(last);
  const minutes = new MinuteDigests(tenantId);
  let after: RawLogRow | undefined;
  for (;;) {
    if (signal?.aborted) return;
    const range = { group: "main", from, until, after, limit: PAGE } as const;
    const rows = await database.of(tenantId).bulk((tx) => tx.query(readRawLog, range));
    for (const row of rows) minutes.add(row);
    after = rows.at(-1);
    if (rows.length < PAGE) break;
    const counted = minutes.take();
    if (counted.length > 0) yield counted;
  }
  const counted = minutes.finish();
  if (counted.length > 0) yield counted;
}
