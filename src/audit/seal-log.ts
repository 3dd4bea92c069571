import type { TenantId } from "../base/ids.js";
import { macOfMinute, NO_SEAL, RowDigest, type SealedMinute } from "../crypto/log-seal.js";
import type { TenantKeys } from "../crypto/tenant-keys.js";
import {
  cellsOf,
  closeLog,
  forgetLogDue,
  insertSeal,
  moveChainEnd,
  type RawLogRow,
  readRawLog,
  type SealRow,
} from "../store/audit-seals.js";
import type { Database } from "../store/database.js";
import { UniqueViolation } from "../store/database-error.js";
import { MINUTE_MS, noteDue } from "../store/due.js";
import type { Keyring } from "../tenancy/keyring.js";
import { type Chain, ChainMoved, readChain, signEnd } from "./chain.js";

/** Rows that are read at once, and seals that are written at once. */
const PAGE = 5_000;
const DAY_MS = 24 * 60 * MINUTE_MS;

export interface SealParts {
  readonly database: Database;
  readonly keyring: Keyring;
}

/**
 * - `sealed`: every minute up to this one that has rows has its seal, made now or by another process
 * - `early`: the database's clock says that the minute has not been over for long enough
 * - `broken`: sealed, but the chain before was tampered with: the new seals leave a gap that verification will show
 * - `stopped`: the rest is for the next run
 */
export type SealOutcome = "sealed" | "early" | "broken" | "stopped";

export interface SealTask {
  readonly minute: Date;
  /** Under which the minute is noted. */
  readonly dueAt: Date;
  /** Ends it between two pages of rows. */
  readonly signal?: AbortSignal;
}

/**
 * Seals what a tenant's log has up to the end of a minute. First the log is closed up to there, for good; then nothing
 * changes any more, so that the rows can be read in pages. Dying in between leaves no more than a closed minute, which the
 * next run seals. Of two that do it at the same time one finds its minutes sealed, and stops.
 */
export async function sealLog(
  { database, keyring }: SealParts,
  tenantId: TenantId,
  { minute, dueAt, signal }: SealTask,
): Promise<SealOutcome> {
  const until = new Date(minute.getTime() + MINUTE_MS);
  const hasClosed = await database.slow.run(tenantId, "unguarded", (tx) =>
    tx.ask(closeLog, { until, notBefore: new Date(until.getTime() + MINUTE_MS) }),
  );
  if (!hasClosed) return "early";
  const keys = await keyring.of(tenantId);
  const chain = await database.slow.run(tenantId, "unguarded", (tx) => readChain(tx, keys));
  try {
    let sealed = chain;
    for await (const minutes of minutesToSeal(database, tenantId, chain, { until, signal })) {
      sealed = await append({ database, keys, tenantId }, sealed, minutes);
    }
  } catch (error) {
    if (!(error instanceof UniqueViolation || error instanceof ChainMoved)) throw error;
    // Whoever was first forgets the minute, once it is done.
    return "sealed";
  }
  if (signal?.aborted) return "stopped";
  await database.slow.run(tenantId, "unguarded", async (tx) => {
    tx.tell(forgetLogDue, { kind: "log_seal", minute: dueAt });
  });
  return chain.isWhole ? "sealed" : "broken";
}

/** A minute with what is in it, before it has its place in the chain. */
type CountedMinute = Pick<SealedMinute, "windowStart" | "rowCount" | "digest">;

/** The minutes with rows that have no seal yet, oldest first, some at a time; not all of them once the signal is aborted. */
async function* minutesToSeal(
  database: Database,
  tenantId: TenantId,
  { last }: Chain,
  { until, signal }: { readonly until: Date; readonly signal: AbortSignal | undefined },
): AsyncGenerator<readonly CountedMinute[]> {
  const from = last && new Date(last.window_start.getTime() + MINUTE_MS);
  let open: { readonly windowStart: Date; readonly digest: RowDigest } | undefined;
  let counted: CountedMinute[] = [];
  const close = () => {
    if (open)
      counted.push({ windowStart: open.windowStart, rowCount: open.digest.count, digest: open.digest.finish() });
  };
  let after: RawLogRow | undefined;
  for (;;) {
    if (signal?.aborted) return;
    const range = { from, until, after, limit: PAGE };
    const rows = await database.slow.run(tenantId, "unguarded", (tx) => tx.ask(readRawLog, range));
    for (const row of rows) {
      const windowStart = minuteOf(row);
      if (open?.windowStart.getTime() !== windowStart.getTime()) {
        close();
        open = { windowStart, digest: new RowDigest(tenantId, windowStart) };
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

/** The first moment of a row's minute. */
export function minuteOf({ micros }: Pick<RawLogRow, "micros">): Date {
  return new Date(Math.floor(Number(micros) / 1_000 / MINUTE_MS) * MINUTE_MS);
}

interface Place {
  readonly database: Database;
  readonly keys: TenantKeys;
  readonly tenantId: TenantId;
}

async function append({ database, keys, tenantId }: Place, chain: Chain, counted: readonly CountedMinute[]) {
  // A tampered chain is gone on with, but not as if it were whole: the number that is left out can never be filled.
  let number = chain.isWhole
    ? (chain.stored?.number ?? 0)
    : Math.max(chain.stored?.number ?? 0, chain.last?.number ?? 0) + 1;
  let previous: Uint8Array = chain.stored?.last_mac ?? chain.last?.mac ?? NO_SEAL;
  const seals = counted.map((minute): Omit<SealRow, "sealed_at"> => {
    number += 1;
    const version = keys.audit.current;
    const mac = macOfMinute(keys.audit, version, tenantId, { ...minute, number, previous });
    const seal = {
      ...{ window_start: minute.windowStart, number, row_count: minute.rowCount, digest: Buffer.from(minute.digest) },
      ...{ previous: Buffer.from(previous), key_version: version, mac },
    };
    previous = mac;
    return seal;
  });
  const stored = signEnd(keys, tenantId, { number, lastMac: previous, keptFrom: chain.stored?.kept_from ?? undefined });
  const tomorrow = nextDay(counted.at(-1)?.windowStart ?? new Date(0));
  await database.slow.run(tenantId, "unguarded", async (tx) => {
    for (const seal of seals) tx.tell(insertSeal, seal);
    noteDue(tx, { kind: "log_retention", at: tomorrow });
    if (!(await tx.ask(moveChainEnd, { before: chain.stored?.mac, end: stored }))) throw new ChainMoved();
  });
  return { stored, last: undefined, isWhole: true };
}

/** Midnight after a moment: rows that may have to be removed are looked for once a day. */
export function nextDay(time: Date): Date {
  return new Date((Math.floor(time.getTime() / DAY_MS) + 1) * DAY_MS);
}
