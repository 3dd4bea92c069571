import { MINUTE_MS } from "../../base/clock.js";
import type { TenantId } from "../../base/ids.js";
import type { TenantKeys } from "../../crypto/tenant-keys.js";
import { closeFreeLog, deleteLogDue } from "../../store/audit/audit-seals.js";
import { readRawLog } from "../../store/audit/raw-log.js";
import { tenantTransaction } from "../tenant-transaction.js";
import { attestWhenDue, isAttestationDue } from "./attest-due.js";
import { type Chain, readChain } from "./chain.js";
import { ChainHistory } from "./chain-history.js";
import { type CountedMinute, MinuteDigests } from "./minute-digests.js";
import { type NextSeals, nextSeals, sealedUntil, writeSeals } from "./next-seals.js";
import type { SealParts } from "./seal-log.js";

/** Tenants whose logs are sealed together. Their writers wait for one commit while the logs are closed. */
export const LOGS_AT_ONCE = 50;
/** A log with more rows to seal is sealed alone, in pages: this many of each are in memory at once. */
const ROWS_EACH = 500;

export interface LogToSeal {
  readonly tenantId: TenantId;
  /** Up to the end of this minute. */
  readonly minute: Date;
  /** The time of the minute's due entry. */
  readonly dueAt: Date;
}

interface OpenLog extends LogToSeal {
  readonly keys: TenantKeys;
}

interface ClosedLog extends OpenLog {
  readonly chain: Chain;
  readonly now: Date;
  readonly counted: readonly CountedMinute[];
}

/**
 * Seals the logs of several tenants in four transactions together, where each alone takes four. Each step is what
 * `sealLog` does with one log, under the same conditions, so it may end anywhere, and several processes may do it at
 * once: each minute is sealed once. It leaves logs that need more than that to `sealLog`: with a transaction in flight,
 * many rows, a chain that was tampered with, or keys that do not open.
 * @returns the tenants whose logs are sealed.
 * @throws if a step failed for any of them.
 */
export async function sealLogs(parts: SealParts, tasks: readonly LogToSeal[]): Promise<ReadonlySet<TenantId>> {
  const { database, history = new ChainHistory() } = parts;
  const open = await closeAll(parts, await openAll(parts, tasks));
  const read = await database.jointly(
    open.map((log) => ({ ...log, work: (tx) => readLog(tenantTransaction(tx, log.keys), log) })),
  );
  const states = await history.statesOf(
    parts,
    new Map(read.flatMap((log) => (log ? [[log.tenantId, log.chain]] : []))),
  );
  const closed = read.flatMap((log) => (log && states.get(log.tenantId) === "whole" ? [log] : []));
  const sealed = await Promise.all(closed.map(async (log) => ({ ...log, next: await nextLogSeals(log, history) })));
  // Their due entries stay until that is done: after a crash the next run does it.
  const attested = new Set(sealed.filter(isAttested).map(({ tenantId }) => tenantId));
  await database.jointly(
    sealed.map(({ tenantId, minute, dueAt, next }) => ({
      tenantId,
      async work(tx) {
        if (next) await writeSeals(tx, next, { ...parts, until: minuteEnd(minute) });
        if (!attested.has(tenantId)) tx.enqueue(deleteLogDue, { kind: "log_seal", minute: dueAt });
      },
    })),
  );
  for (const { tenantId, chain, next } of sealed) history.note(tenantId, (next?.chain ?? chain).stored?.number ?? 0);
  await attestAll(parts, sealed.filter(isAttested));
  return new Set(sealed.map(({ tenantId }) => tenantId));
}

/** The logs whose keys open, in the order of their tenants. */
async function openAll({ keyring }: SealParts, tasks: readonly LogToSeal[]): Promise<readonly OpenLog[]> {
  const opened = await Promise.all(
    tasks.map((task) =>
      keyring.lastRead(task.tenantId).then(
        (keys) => ({ ...task, keys }),
        () => undefined,
      ),
    ),
  );
  return opened.filter((log) => log !== undefined).sort((one, other) => (one.tenantId < other.tenantId ? -1 : 1));
}

/**
 * Closes logs up to the ends of their minutes, except those that it would have to wait for. Writers wait for the commit,
 * which therefore waits for no disk: it is durable with the seals, and a crash before them loses nothing else.
 */
async function closeAll({ database }: SealParts, logs: readonly OpenLog[]): Promise<readonly OpenLog[]> {
  const closed = await database.jointly(
    logs.map(({ tenantId, minute }) => {
      const closing = { until: minuteEnd(minute), notBefore: new Date(minuteEnd(minute).getTime() + MINUTE_MS) };
      return { tenantId, work: (tx) => tx.query(closeFreeLog, closing) };
    }),
    { mayBeLost: true },
  );
  return logs.filter((_, index) => closed[index]);
}

/** Undefined for a log with too many rows, and for one that has lost its signed texts. */
async function readLog(tx: ReturnType<typeof tenantTransaction>, log: OpenLog): Promise<ClosedLog | undefined> {
  const chain = await readChain(tx);
  if (chain.last && chain.last.signed_body === null) return undefined;
  const from = chain.last && sealedUntil(chain.last);
  const range = { group: "main", from, until: minuteEnd(log.minute), after: undefined, limit: ROWS_EACH } as const;
  const rows = await tx.query(readRawLog, range);
  if (rows.length === ROWS_EACH) return undefined;
  const minutes = new MinuteDigests(log.tenantId);
  for (const row of rows) minutes.add(row);
  return { ...log, chain, now: tx.now, counted: minutes.finish() };
}

interface SealedLog extends ClosedLog {
  readonly next: NextSeals | undefined;
}

function isAttested({ chain, next, now }: SealedLog): boolean {
  const { head } = next?.chain ?? chain;
  return head !== undefined && isAttestationDue(head, now);
}

async function attestAll(parts: SealParts, logs: readonly SealedLog[]): Promise<void> {
  const [first] = logs;
  if (!first) return;
  const chains = logs.map(({ keys, chain, next }) => ({ ...(next?.chain ?? chain), keys }));
  await attestWhenDue(parts, chains, first.now);
  await parts.database.jointly(
    logs.map(({ tenantId, dueAt }) => ({
      tenantId,
      work: async (tx) => tx.enqueue(deleteLogDue, { kind: "log_seal", minute: dueAt }),
    })),
  );
}

async function nextLogSeals({ keys, chain, counted, now }: ClosedLog, history: ChainHistory) {
  if (counted.length === 0) return undefined;
  const signed = { ...chain, signed: chain.last?.signed_body ?? undefined };
  return nextSeals(keys, signed, counted, { reached: history.reached(keys.tenantId), at: now });
}

function minuteEnd(minute: Date): Date {
  return new Date(minute.getTime() + MINUTE_MS);
}
