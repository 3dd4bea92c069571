import postgres from "postgres";
import type { TenantId } from "../base/ids.js";
import type { Sql } from "./connect.js";
import { ConnectionLost, troubleOf } from "./database-error.js";
import type { Lane } from "./lane.js";
import { Boarding } from "./statement.js";
import { type Departure, Passenger, type Witness, type Work } from "./transaction.js";

/** The revision that all callers of a flight were authorized under, or "unguarded" for work of our own. */
export type Guard = number | "unguarded";

export type FlightResult =
  /** Committed. Work that threw before it wrote anything appears with its error. */
  | { readonly kind: "landed"; readonly passengers: readonly Passenger[] }
  /** Nothing is stored. `culprit` is the index of the work that threw after it had written. */
  | { readonly kind: "aborted"; readonly error: unknown; readonly culprit?: number }
  /** The commit was sent and not acknowledged: the log row tells whether it happened, once `backend` is at rest. */
  | {
      readonly kind: "unknown";
      readonly witness: Witness;
      readonly backend: number | undefined;
      readonly passengers: readonly Passenger[];
    };

/**
 * Runs works of one tenant in one transaction. `begin`, the tenant setting, the guard and the first batch are written at
 * once, and so are the last batch and `commit`: a flight without an `ask` is one trip to the database.
 *
 * `begin` and `set local` are messages of their own: Citus replays the whole string that holds a `set local`.
 */
export async function fly(
  lane: Lane,
  tenantId: TenantId,
  guard: Guard,
  departure: Departure,
  works: readonly Work<unknown>[],
): Promise<FlightResult> {
  const { sql } = lane;
  const { now } = departure;
  const passengers = works.map((work) => {
    const passenger = new Passenger(tenantId, departure);
    passenger.start(work);
    return passenger;
  });
  let isOpen = false;
  let backend: number | undefined;

  for (;;) {
    await everyoneWaits();
    const lost = passengers.findIndex((passenger) => passenger.isLost);
    if (lost >= 0) {
      const error = new Error("work awaited something outside its transaction");
      return isOpen ? abort(sql, error, lost) : { kind: "aborted", error, culprit: lost };
    }
    const thrown = passengers.findIndex((passenger) => passenger.hasWritten && passenger.outcome?.ok === false);
    if (thrown >= 0) return abort(sql, outcomeError(passengers[thrown]), thrown);

    const boarding = new Boarding();
    for (const passenger of passengers) passenger.board(boarding);
    const isLast = passengers.every((passenger) => passenger.outcome !== undefined);
    // Also work that asks for nothing is guarded: what it answers is for callers who still have their rights.
    if (isLast && boarding.isEmpty && !isOpen && guard === "unguarded") return { kind: "landed", passengers };

    try {
      boarding.build(sql, tenantId, now);
    } catch (error) {
      return isOpen ? abort(sql, error) : { kind: "aborted", error };
    }

    const sent = isOpen ? [] : openTransaction(lane, sql, tenantId, guard);
    isOpen = true;
    sent.push(...boarding.send());
    const commit = isLast ? endTransaction(sql) : undefined;

    const answers = await Promise.allSettled(sent);
    const error = firstCause(answers);
    // The client itself failed at a statement: what it takes for the answers to others may be anything.
    if (isOfClient(error)) return { kind: "aborted", error };
    if (answers[0]?.status === "fulfilled") backend ??= lane.backend;

    if (!commit) {
      if (error !== undefined) return abort(sql, error);
      boarding.deliver();
      continue;
    }
    const ended = await commit;
    if (ended.kind === "answered" && !ended.committed) {
      return { kind: "aborted", error: error ?? new ConnectionLost() };
    }
    if (ended.kind === "answered" && error === undefined && ended.backend === backend) {
      return { kind: "landed", passengers };
    }
    // On a new connection nothing is sent before `begin` is answered: there is no commit to look for.
    if (lane.backend === undefined) return { kind: "aborted", error: error ?? new ConnectionLost() };
    const witness = passengers.find(({ outcome, seen }) => outcome?.ok && seen)?.seen;
    if (witness) return { kind: "unknown", witness, backend: backend ?? lane.backend, passengers };
    return { kind: "aborted", error: error ?? (ended.kind === "failed" ? ended.error : new ConnectionLost()) };
  }
}

/**
 * Until every work has ended or waits for an answer: a tick that a promise's callback asks for comes after all callbacks of
 * promises. A turn of the event loop would be enough too, and takes 30 ms where hundreds of requests arrive in each.
 */
function everyoneWaits(): Promise<void> {
  return new Promise((resolve) => queueMicrotask(() => process.nextTick(resolve)));
}

function openTransaction(lane: Lane, sql: Sql, tenantId: TenantId, guard: Guard): Promise<unknown>[] {
  const begin = sql.unsafe("begin").execute();
  const begun = begin.then(({ state }) => {
    lane.backend = pidOf(state);
  });
  // The literal is safe because a TenantId is a UUID.
  const opening = [begun, sql.unsafe(`set local app.tenant_id = '${tenantId}'`).execute()];
  if (lane.takeOff().plansAnew) opening.push(sql.unsafe("discard plans").execute());
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

/** Neither PostgreSQL nor the connection failed. */
function isOfClient(error: unknown): boolean {
  return error !== undefined && !(error instanceof postgres.PostgresError) && troubleOf(error) !== "connection";
}

function pidOf(state: unknown): number | undefined {
  return typeof state === "object" && state !== null && "pid" in state && typeof state.pid === "number"
    ? state.pid
    : undefined;
}

function outcomeError(passenger: Passenger | undefined): unknown {
  return passenger?.outcome?.ok === false ? passenger.outcome.error : undefined;
}

/** Whether the connection may be in another state than a new one: it was lost, or the client failed at a statement. */
export function leavesDoubt(result: FlightResult): boolean {
  if (result.kind !== "aborted" || result.culprit !== undefined) return result.kind === "unknown";
  return !(result.error instanceof postgres.PostgresError) || troubleOf(result.error) === "connection";
}
