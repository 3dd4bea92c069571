import { inspect } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { StaleAuthorization, UniqueViolation } from "../../src/store/postgres/database-error.js";
import { defineStatement } from "../../src/store/statements/statement.js";
import { incrementAuthRevision, readTenant } from "../../src/store/tenancy/tenants.js";
import type { Transaction } from "../../src/store/transactions/transaction.js";
import { awaitedLater } from "../support/awaited-later.js";
import { startDatabase, type TestDatabase } from "../support/databases.js";
import { FIRST_REVISION, insertAndLog, openFixture, together, transactionsOf } from "./support/batcher-fixture.js";
import { insertIfFree, namedRowExists } from "./support/named-rows.js";
import { openSession } from "./support/session.js";

let database: TestDatabase;
beforeAll(async () => {
  database = await startDatabase();
});
afterAll(() => database?.[Symbol.asyncDispose]());

const UNAVAILABLE = expect.objectContaining({ name: "Fault", code: "unavailable", retryAfter: 1 });
const INTERNAL = expect.objectContaining({ name: "Fault", code: "internal" });

/** A statement that PostgreSQL fails with this code, and how often it ran. */
function failing(code: string, times = Number.POSITIVE_INFINITY) {
  const failure = { count: 0 };
  const statement = defineStatement<string, string, unknown>({
    table: "tokens",
    kind: "write",
    sortKey: (text) => text,
    queries(sql) {
      if (failure.count === times) return [sql`select 1`];
      failure.count += 1;
      return [
        sql.unsafe(`do $$ begin raise exception 'secret 4242' using errcode = '${code}', detail = '4242'; end $$`),
      ];
    },
    outputs: (_, texts) => texts,
  });
  return { failure, statement };
}

/** Waits until this many database processes wait for a lock. */
async function waitingForLocks(count: number): Promise<void> {
  const waiting = () =>
    database.owner`select 1 from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`;
  await expect.poll(waiting).toHaveLength(count);
}

async function withSetting<T>(setting: string, value: string, run: () => Promise<T>): Promise<T> {
  await database.owner.unsafe(`alter database cloakroom set ${setting} = '${value}'`);
  try {
    return await run();
  } finally {
    await database.owner.unsafe(`alter database cloakroom reset ${setting}`);
  }
}

describe("a deadlock", () => {
  it("with another session is retried, and stored once", async () => {
    await using fixture = await openFixture(database, { connections: 1 });
    await using session = await openSession(database, fixture.tenantId);
    await session.insert("b");
    let runs = 0;
    const hanging = awaitedLater(
      fixture.batcher.run(fixture.tenantId, FIRST_REVISION, async (tx) => {
        runs += 1;
        if (!(await tx.query(insertIfFree, "a"))) throw new Error("the name is taken");
        insertAndLog(tx, "b");
      }),
    );
    await waitingForLocks(1);
    // Closes the cycle. The database detects it after its deadlock_timeout of a second, and fails the session that
    // waited first.
    await session.insert("a");
    await session.rollback();
    await hanging;
    expect(runs).toBe(2);
    expect(await fixture.names()).toEqual(["a", "b"]);
    expect(await fixture.logs()).toBe(1);
  });
});

describe("a serialization failure", () => {
  it("is retried until it succeeds, and every change counts once", async () => {
    await withSetting("default_transaction_isolation", "repeatable read", async () => {
      await using fixture = await openFixture(database, { connections: 2, batch: 1 });
      await using session = await openSession(database, fixture.tenantId);
      await session.raiseRevision();
      const raise = async (tx: Transaction) => tx.enqueue(incrementAuthRevision, tx.tenantId);
      // One for each connection: with more of them one could lose five times, to others that came later.
      const raising = together(fixture, [raise, raise], { guard: undefined });
      await waitingForLocks(2);
      // The row that both of them wait for is changed now, after they began.
      await session.commit();
      const done = { status: "fulfilled", value: undefined };
      expect(await raising).toEqual([done, done]);
      expect(transactionsOf(fixture).length).toBeGreaterThanOrEqual(2 + 2);
      const tenant = await fixture.batcher.run(fixture.tenantId, undefined, (tx) => tx.query(readTenant, tx.tenantId));
      expect(tenant?.auth_revision).toBeGreaterThanOrEqual(1 + 1 + 2);
    });
  });

  it("is a 503 after five attempts if it persists", async () => {
    await using fixture = await openFixture(database, { connections: 1 });
    const { failure, statement } = failing("40001");
    const running = fixture.batcher.run(fixture.tenantId, FIRST_REVISION, (tx) => tx.query(statement, "x"));
    await expect(running).rejects.toEqual(UNAVAILABLE);
    expect(failure.count).toBe(5);
  });
});

describe("a migration that changes a statement's result", () => {
  it("goes unnoticed by requests on connections that know the statement already", async () => {
    await using fixture = await openFixture(database, { connections: 1 });
    await fixture.insert("row");
    const see = () => fixture.batcher.run(fixture.tenantId, FIRST_REVISION, (tx) => tx.query(namedRowExists, "row"));
    await see();
    await database.owner`alter table due alter column kind type varchar collate "C"`;
    expect(await see()).toBe(true);
    await fixture.insert("another");
    await database.owner`alter table due alter column kind type text collate "C"`;
    expect(await see()).toBe(true);
    expect(await fixture.names()).toEqual(["another", "row"]);
  });
});

describe("a lock that is not granted", () => {
  it("is a 503 for the request that needs it, after the rest of its batch was served", async () => {
    await using fixture = await openFixture(database, { connections: 2 });
    await using session = await openSession(database, fixture.tenantId);
    await session.insert("held");
    const outcomes = await together(
      fixture,
      ["held", "free"].map((name) => async (tx: Transaction) => insertAndLog(tx, name)),
    );
    expect(outcomes).toEqual([
      { status: "rejected", reason: expect.objectContaining({ code: "unavailable", retryAfter: 1 }) },
      { status: "fulfilled", value: undefined },
    ]);
    await session.rollback();
    expect(await fixture.names()).toEqual(["free"]);
  });
});

describe("an error of the database", () => {
  /** By SQLSTATE: the caller's error, and how often the statement ran. */
  const codes: [string, string, unknown, number][] = [
    ["53100", "the disk is full", UNAVAILABLE, 1],
    ["53200", "out of memory", UNAVAILABLE, 1],
    ["58030", "an I/O error", UNAVAILABLE, 1],
    ["57014", "the statement took too long", UNAVAILABLE, 1],
    ["25006", "the database takes no writes", UNAVAILABLE, 1],
    ["55000", "the database is in no state for this", UNAVAILABLE, 1],
    ["55006", "the database is being copied", UNAVAILABLE, 1],
    ["57P03", "the database starts up", UNAVAILABLE, 5],
    ["26000", "the session forgot a statement", UNAVAILABLE, 5],
    ["55P03", "a lock was not granted", expect.objectContaining({ code: "unavailable", retryAfter: 1 }), 1],
    ["57P01", "an administrator ends the connection", UNAVAILABLE, 5],
    ["25P03", "a transaction that idled is ended", UNAVAILABLE, 5],
    ["08006", "the connection to a worker failed", UNAVAILABLE, 5],
    ["40P01", "a deadlock", UNAVAILABLE, 5],
    ["23505", "a key is taken", expect.any(UniqueViolation), 5],
    ["22012", "the guard fails", expect.any(StaleAuthorization), 1],
    ["42501", "row-level security refuses", INTERNAL, 1],
    ["23502", "a column must not be null", INTERNAL, 1],
    ["XX000", "something unheard of", INTERNAL, 1],
  ];
  // Each case has its own connection, and waits for its attempts.
  it.concurrent.each(codes)("(%s: %s) has our own message", async (code, _, told, attempts) => {
    await using fixture = await openFixture(database, { connections: 1 });
    const { failure, statement } = failing(code);
    const [outcome] = await together(fixture, [(tx) => tx.query(statement, "4242")]);
    expect(outcome).toEqual({ status: "rejected", reason: told });
    expect(failure.count).toBe(attempts);
    expect(inspect(outcome, { depth: 10, showHidden: true })).not.toMatch(/4242|raise exception/);
    await fixture.insert("afterwards");
    expect(await fixture.names()).toEqual(["afterwards"]);
  });

  it("is hidden if it occurs once and a retry succeeds", async () => {
    await using fixture = await openFixture(database, { connections: 1 });
    for (const code of ["40001", "40P01", "57P01", "08006"]) {
      const { failure, statement } = failing(code, 2);
      expect(await fixture.batcher.run(fixture.tenantId, FIRST_REVISION, (tx) => tx.query(statement, code))).toBe(code);
      expect(failure.count).toBe(2);
    }
  });

  it("in a read-only database is a 503 for writes, while reads are served", async () => {
    await using fixture = await openFixture(database, { connections: 1 });
    await fixture.insert("before");
    await withSetting("default_transaction_read_only", "on", async () => {
      // The setting applies to new connections.
      fixture.proxy.goAway();
      fixture.proxy.comeBack();
      await expect(fixture.insert("never")).rejects.toEqual(UNAVAILABLE);
      const see = (name: string) =>
        fixture.batcher.run(fixture.tenantId, FIRST_REVISION, (tx) => tx.query(namedRowExists, name));
      expect([await see("before"), await see("never")]).toEqual([true, false]);
    });
  });

  it("from a session that was read-only does not persist in the next one", async () => {
    await using fixture = await openFixture(database, { connections: 1 });
    await withSetting("default_transaction_read_only", "on", async () => {
      fixture.proxy.goAway();
      fixture.proxy.comeBack();
      await expect(fixture.insert("never")).rejects.toEqual(UNAVAILABLE);
    });
    // A session keeps the setting that it began with.
    await fixture.insert("afterwards");
    expect(await fixture.names()).toEqual(["afterwards"]);
  });

  it.concurrent.each(["55000", "57P03", "53300", "28000"])(
    "(%s) to new connections is a 503 until it takes them",
    async (code) => {
      await using fixture = await openFixture(database, { connections: 1 });
      fixture.proxy.goAway();
      fixture.proxy.refuseWith(code);
      await expect(fixture.insert("never")).rejects.toEqual(UNAVAILABLE);
      fixture.proxy.comeBack();
      await fixture.insert("afterwards");
      expect(await fixture.names()).toEqual(["afterwards"]);
    },
  );

  it("for statements that its session forgot is hidden", async () => {
    await using fixture = await openFixture(database, { connections: 1 });
    await fixture.insert("before");
    const forget = defineStatement<"all", undefined, unknown>({
      table: "tokens",
      kind: "write",
      sortKey: () => "",
      queries: (sql) => [sql`deallocate all`],
      outputs: (_, inputs) => inputs.map(() => undefined),
    });
    // Its own commit is forgotten too: the transaction runs again, in a new session.
    await fixture.batcher.run(fixture.tenantId, FIRST_REVISION, (tx) => tx.query(forget, "all"));
    await fixture.insert("afterwards");
    expect(await fixture.names()).toEqual(["afterwards", "before"]);
  });

  it("about a statement that takes too long is a 503", async () => {
    await using fixture = await openFixture(database, { connections: 1, statementTimeout: 100 });
    await using session = await openSession(database, fixture.tenantId);
    await session.insert("held");
    await expect(fixture.insert("held")).rejects.toEqual(UNAVAILABLE);
    await session.rollback();
    await fixture.insert("held");
  });
});
