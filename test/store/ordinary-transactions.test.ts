import { setTimeout as pause } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { text } from "../../src/store/statements/parameter.js";
import { lockedRead } from "../../src/store/transactions/row-lock.js";
import { awaitedLater } from "../support/awaited-later.js";
import { startDatabase, type TestDatabase } from "../support/databases.js";
import { FIRST_REVISION, insertAndLog, openFixture, transactionsOf } from "./support/batcher-fixture.js";
import { insertIfFree, namedRowExists } from "./support/named-rows.js";
import { openSession } from "./support/session.js";

let database: TestDatabase;
beforeAll(async () => {
  database = await startDatabase();
});
afterAll(() => database?.[Symbol.asyncDispose]());

/** Reads a row and locks it, as work that decides by what it reads does. */
const lockNamedRow = lockedRead("due", { kind: text((name: string) => name) }, namedRowExists);

/** One request per transaction. */
const ORDINARY = { batch: 1, transactionsPerTenant: 4, connections: 4 } as const;

describe("a transaction of one request", () => {
  it("may await anything between its queries, and commits what it did", async () => {
    await using fixture = await openFixture(database, ORDINARY);
    const seen = await fixture.batcher.run(fixture.tenantId, FIRST_REVISION, async (tx) => {
      insertAndLog(tx, "first");
      const before = await tx.query(namedRowExists, "first");
      await pause(20);
      insertAndLog(tx, "second");
      await pause(20);
      return [before, await tx.query(namedRowExists, "second")];
    });
    expect(seen).toEqual([true, true]);
    expect(await fixture.names()).toEqual(["first", "second"]);
    expect(await fixture.logs()).toBe(2);
  });

  it("is rolled back if it throws, wherever it throws, and its caller gets the error", async () => {
    await using fixture = await openFixture(database, ORDINARY);
    const thrown = new Error("thrown by the request");
    const works = [0, 1, 2].map((steps) =>
      fixture.batcher.run(fixture.tenantId, FIRST_REVISION, async (tx) => {
        for (let step = 0; step < steps; step += 1) await tx.query(insertIfFree, `${steps}/${step}`);
        insertAndLog(tx, "never");
        await pause(1);
        throw thrown;
      }),
    );
    expect(await Promise.allSettled(works)).toEqual(works.map(() => ({ status: "rejected", reason: thrown })));
    expect(await fixture.names()).toEqual([]);
    expect(await fixture.logs()).toBe(0);
    await fixture.insert("afterwards");
    expect(await fixture.names()).toEqual(["afterwards"]);
  });

  it("waits for a lock on the rows it decides by, and sees what the holder left", async () => {
    await using fixture = await openFixture(database, ORDINARY);
    await fixture.insert("row");
    let locked = 0;
    const count = async () => {
      await fixture.batcher.run(fixture.tenantId, FIRST_REVISION, async (tx) => {
        if (!(await lockNamedRow(tx, "row"))) throw new Error("the row is missing");
        locked += 1;
        expect(locked, "that hold the lock").toBe(1);
        await pause(10);
        locked -= 1;
      });
    };
    await Promise.all([count(), count(), count(), count()]);
  });

  it("runs again after a deadlock unless the other side is its victim, and its effect counts once", async () => {
    await using fixture = await openFixture(database, { ...ORDINARY, connections: 1 });
    await using session = await openSession(database, fixture.tenantId);
    await session.insert("b");
    let runs = 0;
    const running = awaitedLater(
      fixture.batcher.run(fixture.tenantId, FIRST_REVISION, async (tx) => {
        runs += 1;
        await tx.query(insertIfFree, "a");
        await pause(1);
        insertAndLog(tx, "b");
      }),
    );
    const waiting = () =>
      database.owner`select 1 from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`;
    await expect.poll(waiting).toHaveLength(1);
    // The victim is the side that finds the deadlock: ours, unless it has looked before this insert.
    const [other] = await Promise.allSettled([session.insert("a")]);
    await session.rollback();
    await running;
    if (other.status === "fulfilled") expect(runs).toBe(2);
    else {
      expect(other.reason).toMatchObject({ code: "40P01" });
      expect(runs).toBe(1);
    }
    expect(await fixture.names()).toEqual(["a", "b"]);
    expect(await fixture.logs()).toBe(1);
  });

  it("runs again after a deadlock with another of its kind, and both count once", async () => {
    await using fixture = await openFixture(database, ORDINARY);
    await Promise.all([fixture.insert("a"), fixture.insert("b")]);
    const bothHold = barrier(2);
    let runs = 0;
    const crossing = (first: string, second: string) =>
      fixture.batcher.run(fixture.tenantId, FIRST_REVISION, async (tx) => {
        runs += 1;
        await lockNamedRow(tx, first);
        await bothHold();
        await lockNamedRow(tx, second);
        insertAndLog(tx, `${first} ${second}`);
      });
    await Promise.all([crossing("a", "b"), crossing("b", "a")]);
    // The victim may lock its first row again before the other has woken up, and is a victim once more.
    expect(runs).toBeGreaterThanOrEqual(3);
    expect(await fixture.names()).toEqual(["a", "a b", "b", "b a"]);
    expect(await fixture.logs()).toBe(4);
  });

  it("runs its statements in the order of the calls, and log rows with the commit", async () => {
    await using fixture = await openFixture(database, ORDINARY);
    fixture.proxy.sent.length = 0;
    await fixture.batcher.run(fixture.tenantId, FIRST_REVISION, async (tx) => {
      insertAndLog(tx, "b");
      await tx.query(namedRowExists, "b");
      await tx.query(insertIfFree, "a");
      insertAndLog(tx, "c");
    });
    const [transaction = []] = transactionsOf(fixture);
    const kinds = transaction.map((text) => /^(insert into \w+|select \w+ from due|select ln|commit)/.exec(text)?.[0]);
    expect(kinds.filter((kind) => kind !== undefined)).toEqual([
      ...["insert into due", "select kind from due", "insert into due", "insert into due"],
      ...["insert into audit_logs", "select ln", "insert into due", "commit"],
    ]);
  });

  it("leaves connections to other tenants, and serves all in the end", async () => {
    await using fixture = await openFixture(database, { ...ORDINARY, transactionsPerTenant: 3 });
    const other = await fixture.newTenant();
    const release = Promise.withResolvers<void>();
    const holding = Array.from({ length: 9 }, () =>
      fixture.batcher.run(fixture.tenantId, FIRST_REVISION, () => release.promise),
    );
    await fixture.insert("while others hold theirs", other);
    expect(await fixture.names(other)).toEqual(["while others hold theirs"]);
    release.resolve();
    await Promise.all(holding);
  });
});

/** Has so many callers wait for each other, once. */
function barrier(count: number): () => Promise<void> {
  const all = Promise.withResolvers<void>();
  let arrived = 0;
  return () => {
    arrived += 1;
    if (arrived >= count) all.resolve();
    return all.promise;
  };
}
