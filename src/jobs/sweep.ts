import type { TenantTransaction } from "../audit/tenant-transaction.js";
import type { Clock } from "../base/clock.js";
import type { TenantId } from "../base/ids.js";
import { SealBroken } from "../crypto/sealed.js";
import { deleteDueSessions } from "../store/access/sessions.js";
import type { Database } from "../store/database.js";
import { deleteDueFailedRuns } from "../store/functions/failed-runs.js";
import { deleteDueRuns } from "../store/functions/reactor-runs.js";
import { type DueMinute, deleteDueMinute, type SweptKind } from "../store/jobs/due.js";
import { deleteDueIdempotencyKeys } from "../store/jobs/idempotency-keys.js";
import type { Lease } from "../store/jobs/lease.js";
import { deleteDueEvents } from "../store/jobs/webhook-deliveries.js";
import { deleteDueThreeDSSessions } from "../store/payments/three-ds-sessions.js";
import { deleteDueInvitations } from "../store/people/invitations.js";
import { deleteDueSignInRequests } from "../store/people/sign-in-requests.js";
import { deleteDueSignIns } from "../store/people/sign-ins.js";
import { ROWS_PER_REMOVAL } from "../store/statements/removal.js";
import type { Statement } from "../store/statements/statement.js";
import { deleteDueCvc } from "../store/tokens/token-cvc.js";
import { isLargeToken, listExpiredTokens, readExpiredToken } from "../store/tokens/token-reads.js";
import type { TokenRow } from "../store/tokens/tokens.js";
import type { Transaction } from "../store/transactions/transaction.js";
import type { Tenants } from "../tenancy/tenants.js";
import { expiryEntry, removeToken } from "../tokens/delete.js";
import type { Job } from "./schedule.js";

/**
 * A verification code must be deleted within a minute after its hour. Four sweeps a minute leave room for slow ones.
 */
const INTERVAL_MS = 15_000;
/** 500 rows took 35 ms on two cores; smaller transactions hold locks for less. */
const BATCH = 200;
/** Large tokens among them, which are read one at a time: 20 of 5 MB. */
const LARGE_BATCH = 20;
/** Steps in a tenant's turn before the next tenant's: a thousand tokens. */
const STEPS = 5;

export interface SweepParts {
  readonly database: Database;
  readonly tenants: Tenants;
  readonly clock: Clock;
  readonly onFailure: (tenantId: TenantId, error: unknown) => void;
  /** Wraps a job to do nothing while this server's clock is ahead of the database's. Absent: jobs run by any clock. */
  readonly unlessClockIsAhead?: (job: Job) => Job;
}

/** Kinds that are swept together, by one replica at a time. */
interface Sweep {
  readonly name: string;
  /** How long sweeping pauses after the death of a replica. */
  readonly leaseSeconds: number;
  readonly kinds: readonly SweptKind[];
  /** Whether deleting too early is better than too late. */
  readonly mayDeleteEarly?: boolean;
}

/**
 * Codes and tokens have their own sweeps. Codes must go within a minute and need no key. Tokens are many at midnight,
 * and wait if the root key's holder is unavailable.
 */
const SWEEPS: readonly Sweep[] = [
  { name: "sweep of codes", leaseSeconds: 20, kinds: ["cvc"], mayDeleteEarly: true },
  { name: "sweep of tokens", leaseSeconds: 60, kinds: ["token"] },
  {
    name: "sweep",
    leaseSeconds: 60,
    kinds: [
      ...(["session", "idempotency_key", "reactor_result", "failed_run", "invitation", "three_ds_session"] as const),
      ...(["sign_in", "sign_in_request", "webhook_event"] as const),
    ],
  },
];

/** Deletes expired rows of every {@link SweptKind}. */
export function sweepJobs(parts: SweepParts): readonly Job[] {
  const { unlessClockIsAhead = (job) => job } = parts;
  return SWEEPS.map((sweep) =>
    sweep.mayDeleteEarly ? sweepJob(parts, sweep) : unlessClockIsAhead(sweepJob(parts, sweep)),
  );
}

function sweepJob(parts: SweepParts, { name, leaseSeconds, kinds }: Sweep): Job {
  const lease = parts.database.lease(name, leaseSeconds);
  return {
    name,
    intervalMs: INTERVAL_MS,
    async run(signal) {
      let hasMore = await lease.hold();
      while (hasMore) hasMore = await sweepInTurns(parts, kinds, lease, signal);
    },
    end: () => lease.release(),
  };
}

/**
 * Gives each tenant a turn, and more turns to those with more rows, until it is time to check for new due minutes.
 * @returns whether to continue at once.
 */
async function sweepInTurns(
  parts: SweepParts,
  kinds: readonly SweptKind[],
  lease: Lease,
  signal: AbortSignal,
): Promise<boolean> {
  const lookAgainAt = performance.now() + INTERVAL_MS;
  const mayGoOn = async () => !signal.aborted && (await lease.hold());
  const open = new Map<string, DueMinute<SweptKind>>();
  for await (const minute of dueNow(parts, kinds)) {
    if (!(await mayGoOn())) return false;
    const minuteName = `${minute.tenantId} ${minute.kind}`;
    if (!open.has(minuteName) && (await hasMore(parts, minute, signal))) open.set(minuteName, minute);
  }
  while (performance.now() < lookAgainAt) {
    const [next] = open;
    if (!next || !(await mayGoOn())) return false;
    const [minuteName, minute] = next;
    open.delete(minuteName);
    if (await hasMore(parts, minute, signal)) open.set(minuteName, minute);
  }
  return open.size > 0 && mayGoOn();
}

async function* dueNow(
  { database, clock }: SweepParts,
  kinds: readonly SweptKind[],
): AsyncGenerator<DueMinute<SweptKind>> {
  const now = new Date(clock.now());
  let due: readonly DueMinute<SweptKind>[] = [];
  do {
    due = await database.due(kinds, { now, after: due.at(-1) });
    yield* due;
  } while (due.length > 0);
}

/** A tenant that cannot be swept now does not delay others: its minute stays, and the next sweep tries again. */
async function hasMore(parts: SweepParts, minute: DueMinute<SweptKind>, signal: AbortSignal): Promise<boolean> {
  return takeTurn(parts, minute, signal).catch((error: unknown) => {
    parts.onFailure(minute.tenantId, error);
    return false;
  });
}

/** @returns whether more rows are left. Only tokens need the tenant's keys: without them all else is still removed. */
async function takeTurn(
  { database, tenants }: SweepParts,
  due: DueMinute<SweptKind>,
  signal: AbortSignal,
): Promise<boolean> {
  const { tenantId, kind } = due;
  if (kind !== "token") return inSteps(database.of(tenantId), removal(REMOVALS[kind]), due, signal);
  return inSteps(await tenants.of(tenantId), expiry(), due, signal);
}

async function inSteps<Tx extends Transaction>(
  transactions: { bulk<T>(work: (tx: Tx) => Promise<T>): Promise<T> },
  remove: (tx: Tx) => Promise<Outcome>,
  { kind, minute }: DueMinute<SweptKind>,
  signal: AbortSignal,
): Promise<boolean> {
  for (let step = 0; step < STEPS && !signal.aborted; step += 1) {
    const outcome = await transactions.bulk(async (tx) => {
      const reached = await remove(tx);
      if (reached === "done") tx.enqueue(deleteDueMinute, { kind, minute });
      return reached;
    });
    if (outcome === "stuck") throw new Error("tokens that have expired cannot be opened, and are left");
    if (outcome === "done") return false;
  }
  return true;
}

/** What is left after a step: more rows, none, or only rows that cannot be deleted. */
type Outcome = "more" | "done" | "stuck";

/** Deletes tokens one by one, with their log rows. A token that was tampered with does not delay others. */
function expiry(): (tx: TenantTransaction) => Promise<Outcome> {
  const broken = new Set<string>();
  return async (tx) => {
    const found = await listExpiredTokens(tx, BATCH);
    const remove = (row: TokenRow) =>
      removeToken(tx, row, expiryEntry(row)).catch((error: unknown) => {
        if (!(error instanceof SealBroken)) throw error;
        broken.add(row.id);
      });
    const left = found.filter(({ id }) => !broken.has(id));
    const large = left.filter(isLargeToken);
    await Promise.all(left.map((token) => (isLargeToken(token) ? undefined : remove(token))));
    for (const { id } of large.slice(0, LARGE_BATCH)) {
      const row = await tx.query(readExpiredToken, id);
      if (row) await remove(row);
    }
    if (left.length > 0 && (found.length === BATCH || large.length > LARGE_BATCH)) return "more";
    return broken.size > 0 ? "stuck" : "done";
  };
}

function removal(statement: Statement<"due", number>): (tx: Transaction) => Promise<Outcome> {
  return async (tx) => ((await tx.query(statement, "due")) < ROWS_PER_REMOVAL ? "done" : "more");
}

const REMOVALS: Readonly<Record<Exclude<SweptKind, "token">, Statement<"due", number>>> = {
  cvc: deleteDueCvc,
  session: deleteDueSessions,
  idempotency_key: deleteDueIdempotencyKeys,
  reactor_result: deleteDueRuns,
  failed_run: deleteDueFailedRuns,
  invitation: deleteDueInvitations,
  three_ds_session: deleteDueThreeDSSessions,
  sign_in: deleteDueSignIns,
  sign_in_request: deleteDueSignInRequests,
  webhook_event: deleteDueEvents,
};
