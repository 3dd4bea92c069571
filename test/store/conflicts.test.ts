import { inspect } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { StaleAuthorization, UniqueViolation } from "../../src/store/database-error.js";
import { defineStatement } from "../../src/store/statement.js";
import { raiseAuthRevision, readTenant } from "../../src/store/tenants.js";
import type { Transaction } from "../../src/store/transaction.js";
import { awaitedLater } from "../support/awaited-later.js";
import { startDatabase, type TestDatabase } from "../support/databases.js";
import { hangIfFree, seeCoat } from "./support/coats.js";
import { FIRST_REVISION, hangAndLog, openDeck, together, transactionsOf } from "./support/deck.js";
import { openSession } from "./support/session.js";

let database: TestDatabase;
beforeAll(async () => {
  database = await startDatabase();
});
afterAll(() => database?.[Symbol.asyncDispose]());

const UNAVAILABLE = expect.objectContaining({ name: "Fault", code: "unavailable", retryAfter: 1 });
const INTERNAL = expect.objectContaining({ name: "Fault", code: "internal" });

/** A statement that PostgreSQL fails with this code, and how often it did. */
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
    answers: (_, texts) => texts,
  });
  return { failure, statement };
}

/** Waits until so many of the database's processes wait for a lock. */
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
  it("with somebody else is run again, and stored once", async () => {
    await using deck = await openDeck(database, { lanes: 1 });
    await using session = await openSession(database, deck.tenantId);
    await session.hang("b");
    let runs = 0;
    const hanging = awaitedLater(
      deck.flights.run(deck.tenantId, FIRST_REVISION, async (tx) => {
        runs += 1;
        if (!(await tx.query(hangIfFree, "a"))) throw new Error("somebody hung this coat");
        hangAndLog(tx, "b");
      }),
    );
    await waitingForLocks(1);
    // Closes the circle. The database finds it after its deadlock_timeout of a second, and fails who waited first.
    await session.hang("a");
    await session.rollback();
    await hanging;
    expect(runs).toBe(2);
    expect(await deck.coats()).toEqual(["a", "b"]);
    expect(await deck.logs()).toBe(1);
  });
});

describe("a serialization failure", () => {
  it("is run again until it succeeds, and every change counts once", async () => {
    await withSetting("default_transaction_isolation", "repeatable read", async () => {
      await using deck = await openDeck(database, { lanes: 2, batch: 1 });
      await using session = await openSession(database, deck.tenantId);
      await session.raiseRevision();
      const raise = async (tx: Transaction) => tx.enqueue(raiseAuthRevision, tx.tenantId);
      const raising = together(deck, Array(12).fill(raise), "unguarded");
      await waitingForLocks(2);
      // What both of them wait for is changed now, after they began.
      await session.commit();
      const done = { status: "fulfilled", value: undefined };
      expect(await raising).toEqual(Array(12).fill(done));
      expect(transactionsOf(deck).length).toBeGreaterThanOrEqual(12 + 2);
      const tenant = await deck.flights.run(deck.tenantId, "unguarded", (tx) => tx.query(readTenant, tx.tenantId));
      expect(tenant?.auth_revision).toBe(1 + 1 + 12);
    });
  });

  it("that goes on is a 503 after five attempts", async () => {
    await using deck = await openDeck(database, { lanes: 1 });
    const { failure, statement } = failing("40001");
    const running = deck.flights.run(deck.tenantId, FIRST_REVISION, (tx) => tx.query(statement, "x"));
    await expect(running).rejects.toEqual(UNAVAILABLE);
    expect(failure.count).toBe(5);
  });
});

describe("a migration that changes what a statement answers with", () => {
  it("is not noticed by requests on connections that know the statement already", async () => {
    await using deck = await openDeck(database, { lanes: 1 });
    await deck.hang("coat");
    const see = () => deck.flights.run(deck.tenantId, FIRST_REVISION, (tx) => tx.query(seeCoat, "coat"));
    await see();
    await database.owner`alter table due alter column kind type varchar collate "C"`;
    expect(await see()).toBe(true);
    await deck.hang("another");
    await database.owner`alter table due alter column kind type text collate "C"`;
    expect(await see()).toBe(true);
    expect(await deck.coats()).toEqual(["another", "coat"]);
  });
});

describe("a lock that is not granted", () => {
  it("is a 503 for who needs it, after its company was served", async () => {
    await using deck = await openDeck(database, { lanes: 2 });
    await using session = await openSession(database, deck.tenantId);
    await session.hang("held");
    const outcomes = await together(
      deck,
      ["held", "free"].map((name) => async (tx: Transaction) => hangAndLog(tx, name)),
    );
    expect(outcomes).toEqual([
      { status: "rejected", reason: expect.objectContaining({ code: "unavailable", retryAfter: 1 }) },
      { status: "fulfilled", value: undefined },
    ]);
    await session.rollback();
    expect(await deck.coats()).toEqual(["free"]);
  });
});

describe("what the database says", () => {
  /** By SQLSTATE: what the caller is told, and how often the statement was run. */
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
  it.each(codes)("(%s: %s) is told in our own words", async (code, _, told, attempts) => {
    await using deck = await openDeck(database, { lanes: 1 });
    const { failure, statement } = failing(code);
    const [outcome] = await together(deck, [(tx) => tx.query(statement, "4242")]);
    expect(outcome).toEqual({ status: "rejected", reason: told });
    expect(failure.count).toBe(attempts);
    expect(inspect(outcome, { depth: 10, showHidden: true })).not.toMatch(/4242|raise exception/);
    await deck.hang("afterwards");
    expect(await deck.coats()).toEqual(["afterwards"]);
  });

  it("once only is not told to anybody where another attempt helps", async () => {
    await using deck = await openDeck(database, { lanes: 1 });
    for (const code of ["40001", "40P01", "57P01", "08006"]) {
      const { failure, statement } = failing(code, 2);
      expect(await deck.flights.run(deck.tenantId, FIRST_REVISION, (tx) => tx.query(statement, code))).toBe(code);
      expect(failure.count).toBe(2);
    }
  });

  it("in a database that takes no writes is a 503 for writes, while reads are served", async () => {
    await using deck = await openDeck(database, { lanes: 1 });
    await deck.hang("before");
    await withSetting("default_transaction_read_only", "on", async () => {
      // The setting is one of new connections.
      deck.proxy.goAway();
      deck.proxy.comeBack();
      await expect(deck.hang("never")).rejects.toEqual(UNAVAILABLE);
      const see = (name: string) => deck.flights.run(deck.tenantId, FIRST_REVISION, (tx) => tx.query(seeCoat, name));
      expect([await see("before"), await see("never")]).toEqual([true, false]);
    });
  });

  it("to a session while it took no writes does not hold for the next one", async () => {
    await using deck = await openDeck(database, { lanes: 1 });
    await withSetting("default_transaction_read_only", "on", async () => {
      deck.proxy.goAway();
      deck.proxy.comeBack();
      await expect(deck.hang("never")).rejects.toEqual(UNAVAILABLE);
    });
    // A session keeps the setting that it began with.
    await deck.hang("afterwards");
    expect(await deck.coats()).toEqual(["afterwards"]);
  });

  it.each(["55000", "57P03", "53300", "28000"])(
    "(%s) to new connections is a 503 until it takes them",
    async (code) => {
      await using deck = await openDeck(database, { lanes: 1 });
      deck.proxy.goAway();
      deck.proxy.refuseWith(code);
      await expect(deck.hang("never")).rejects.toEqual(UNAVAILABLE);
      deck.proxy.comeBack();
      await deck.hang("afterwards");
      expect(await deck.coats()).toEqual(["afterwards"]);
    },
  );

  it("of statements that its session forgot is not told to anybody", async () => {
    await using deck = await openDeck(database, { lanes: 1 });
    await deck.hang("before");
    const forget = defineStatement<"all", undefined, unknown>({
      table: "tokens",
      kind: "write",
      sortKey: () => "",
      queries: (sql) => [sql`deallocate all`],
      answers: (_, inputs) => inputs.map(() => undefined),
    });
    // Its own commit is forgotten too: the transaction runs again, on a new session.
    await deck.flights.run(deck.tenantId, FIRST_REVISION, (tx) => tx.query(forget, "all"));
    await deck.hang("afterwards");
    expect(await deck.coats()).toEqual(["afterwards", "before"]);
  });

  it("about a statement that takes too long is a 503", async () => {
    await using deck = await openDeck(database, { lanes: 1, statementTimeout: 100 });
    await using session = await openSession(database, deck.tenantId);
    await session.hang("held");
    await expect(deck.hang("held")).rejects.toEqual(UNAVAILABLE);
    await session.rollback();
    await deck.hang("held");
  });
});
