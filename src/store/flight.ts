import { setImmediate as turn } from "node:timers/promises";
import type { TenantId } from "../base/ids.js";
import type { Sql } from "./connect.js";
import { troubleOf } from "./database-error.js";
import { Boarding } from "./statement.js";
import { Passenger, type Witness, type Work } from "./transaction.js";

/** The revision that all callers of a flight were authorized under, or "unguarded" for work of our own. */
export type Guard = number | "unguarded";

export type FlightResult =
  /** Committed. Work that threw before it wrote anything appears with its error. */
  | { readonly kind: "landed"; readonly passengers: readonly Passenger[] }
  /** Nothing is stored. `culprit` is the index of the work that threw after it had written. */
  | { readonly kind: "aborted"; readonly error: unknown; readonly culprit?: number }
  /** The commit was sent and not acknowledged: the log row tells whether it happened. */
  | { readonly kind: "unknown"; readonly witness: Witness; readonly passengers: readonly Passenger[] };

/**
 * Runs works of one tenant in one transaction. `begin`, the tenant setting, the guard and the first batch are written at
 * once, and so are the last batch and `commit`: a flight without an `ask` is one trip to the database.
 *
 * `begin` and `set local` are messages of their own: Citus replays the whole string that holds a `set local`.
 */
export async function fly(
  sql: Sql,
  tenantId: TenantId,
  guard: Guard,
  now: Date,
  works: readonly Work<unknown>[],
): Promise<FlightResult> {
  const passengers = works.map((work) => {
    const passenger = new Passenger(tenantId, now);
    passenger.start(work);
    return passenger;
  });
  let opening: Promise<unknown>[] | undefined;
  let backend: number | undefined;

  for (;;) {
    await turn();
    const lost = passengers.findIndex((passenger) => passenger.isLost);
    if (lost >= 0) {
      const error = new Error("work awaited something outside its transaction");
      return opening ? abort(sql, error, lost) : { kind: "aborted", error, culprit: lost };
    }
    const thrown = passengers.findIndex((passenger) => passenger.hasWritten && passenger.outcome?.ok === false);
    if (thrown >= 0) return abort(sql, outcomeError(passengers[thrown]), thrown);

    const boarding = new Boarding();
    for (const passenger of passengers) passenger.board(boarding);
    const isLast = passengers.every((passenger) => passenger.outcome !== undefined);
    if (isLast && boarding.isEmpty && !opening) return { kind: "landed", passengers };

    const sent: Promise<unknown>[] = opening ? [] : openTransaction(sql, tenantId, guard);
    const begin = opening ? undefined : sent[0];
    opening = sent;
    sent.push(...boarding.send(sql, tenantId, now));
    const commit = isLast ? endTransaction(sql) : undefined;

    const answers = await Promise.allSettled(sent);
    const error = firstCause(answers);
    if (begin && backend === undefined) backend = await backendOf(begin);

    if (!commit) {
      if (error !== undefined) return abort(sql, error);
      boarding.deliver();
      continue;
    }
    const ended = await commit;
    const isOneConnection = ended.kind !== "answered" || ended.backend === backend;
    if (error === undefined && ended.kind === "answered" && ended.committed && isOneConnection) {
      return { kind: "landed", passengers };
    }
    if (error !== undefined && ended.kind === "answered" && !ended.committed) return { kind: "aborted", error };
    const witness = passengers.find((passenger) => passenger.seen)?.seen;
    if (witness) return { kind: "unknown", witness, passengers };
    return {
      kind: "aborted",
      error: error ?? (ended.kind === "failed" ? ended.error : new Error("commit did not commit")),
    };
  }
}

function openTransaction(sql: Sql, tenantId: TenantId, guard: Guard): Promise<unknown>[] {
  // The literal is safe because a TenantId is a UUID.
  const opening = [sql.unsafe("begin").execute(), sql.unsafe(`set local app.tenant_id = '${tenantId}'`).execute()];
  if (guard === "unguarded") return opening;
  const check = sql`
    select 1 / (count(*))::int from tenants
    where tenant_id = ${tenantId} and auth_revision = ${guard} and state = 'active'`;
  return [...opening, check.execute()];
}

type Ending =
  | { readonly kind: "answered"; readonly committed: boolean; readonly backend: number | undefined }
  | { readonly kind: "failed"; readonly error: unknown };

/** Sends `commit`. Without a transaction, or in a failed one, PostgreSQL answers it too, so that the answer is read. */
function endTransaction(sql: Sql): Promise<Ending> {
  return sql.unsafe("commit").then(
    (result): Ending => ({ kind: "answered", committed: result.command === "COMMIT", backend: pidOf(result.state) }),
    (error: unknown): Ending => ({ kind: "failed", error }),
  );
}

async function abort(sql: Sql, error: unknown, culprit?: number): Promise<FlightResult> {
  await sql.unsafe("rollback").catch(() => {});
  return culprit === undefined ? { kind: "aborted", error } : { kind: "aborted", error, culprit };
}

/** The failure that made the others fail, or undefined when all succeeded. */
function firstCause(answers: readonly PromiseSettledResult<unknown>[]): unknown {
  const failures = answers.filter((answer) => answer.status === "rejected").map((answer) => answer.reason);
  return failures.find((reason) => troubleOf(reason) !== "aborted_before") ?? failures[0];
}

async function backendOf(begin: Promise<unknown>): Promise<number | undefined> {
  const result = await begin.catch(() => undefined);
  return typeof result === "object" && result !== null && "state" in result ? pidOf(result.state) : undefined;
}

function pidOf(state: unknown): number | undefined {
  return typeof state === "object" && state !== null && "pid" in state && typeof state.pid === "number"
    ? state.pid
    : undefined;
}

function outcomeError(passenger: Passenger | undefined): unknown {
  return passenger?.outcome?.ok === false ? passenger.outcome.error : undefined;
}
