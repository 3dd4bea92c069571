import { setTimeout as pause } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { text } from "../../src/store/parameter.js";
import { lockedRead } from "../../src/store/row-lock.js";
import { awaitedLater } from "../support/awaited-later.js";
import { startDatabase, type TestDatabase } from "../support/databases.js";
import { hangIfFree, seeCoat } from "./support/coats.js";
import { FIRST_REVISION, hangAndLog, openDeck, transactionsOf } from "./support/deck.js";
import { openSession } from "./support/session.js";

let database: TestDatabase;
beforeAll(async () => {
  database = await startDatabase();
});
afterAll(() => database?.[Symbol.asyncDispose]());

/** Reads a coat and locks it, as work that decides by what it reads does. */
const lockCoat = lockedRead("due", { kind: text((name: string) => name) }, seeCoat);

/** One request a transaction. */
const ORDINARY = { batch: 1, perTenant: 4, lanes: 4 } as const;

describe("a transaction of one request", () => {
  it("may await anything between its queries, and commits what it did", async () => {
    await using deck = await openDeck(database, ORDINARY);
    const seen = await deck.flights.run(deck.tenantId, FIRST_REVISION, async (tx) => {
      hangAndLog(tx, "first");
      const before = await tx.query(seeCoat, "first");
      await pause(20);
      hangAndLog(tx, "second");
      await pause(20);
      return [before, await tx.query(seeCoat, "second")];
    });
    expect(seen).toEqual([true, true]);
    expect(await deck.coats()).toEqual(["first", "second"]);
    expect(await deck.logs()).toBe(2);
  });

  it("that throws is rolled back, wherever it throws, and its error is the caller's", async () => {
    await using deck = await openDeck(database, ORDINARY);
    const thrown = new Error("thrown by the request");
    const works = [0, 1, 2].map((steps) =>
      deck.flights.run(deck.tenantId, FIRST_REVISION, async (tx) => {
        for (let step = 0; step < steps; step += 1) await tx.query(hangIfFree, `${steps}/${step}`);
        hangAndLog(tx, "never");
        await pause(1);
        throw thrown;
      }),
    );
    expect(await Promise.allSettled(works)).toEqual(works.map(() => ({ status: "rejected", reason: thrown })));
    expect(await deck.coats()).toEqual([]);
    expect(await deck.logs()).toBe(0);
    await deck.hang("afterwards");
    expect(await deck.coats()).toEqual(["afterwards"]);
  });

  it("waits for a lock on what it decides by, and sees what its holder left", async () => {
    await using deck = await openDeck(database, ORDINARY);
    await deck.hang("coat");
    let locked = 0;
    const count = async () => {
      await deck.flights.run(deck.tenantId, FIRST_REVISION, async (tx) => {
        if (!(await lockCoat(tx, "coat"))) throw new Error("the coat is gone");
        locked += 1;
        expect(locked, "that hold the lock").toBe(1);
        await pause(10);
        locked -= 1;
      });
    };
    await Promise.all([count(), count(), count(), count()]);
  });

  it("runs again after a deadlock, and what it did counts once", async () => {
    await using deck = await openDeck(database, { ...ORDINARY, lanes: 1 });
    await using session = await openSession(database, deck.tenantId);
    await session.hang("b");
    let runs = 0;
    const running = awaitedLater(
      deck.flights.run(deck.tenantId, FIRST_REVISION, async (tx) => {
        runs += 1;
        await tx.query(hangIfFree, "a");
        await pause(1);
        hangAndLog(tx, "b");
      }),
    );
    const waiting = () =>
      database.owner`select 1 from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`;
    await expect.poll(waiting).toHaveLength(1);
    await session.hang("a");
    await session.rollback();
    await running;
    expect(runs).toBe(2);
    expect(await deck.coats()).toEqual(["a", "b"]);
  });

  it("runs again after a deadlock with another of its kind, and both count once", async () => {
    await using deck = await openDeck(database, ORDINARY);
    await Promise.all([deck.hang("a"), deck.hang("b")]);
    const bothHold = barrier(2);
    let runs = 0;
    const crossing = (first: string, second: string) =>
      deck.flights.run(deck.tenantId, FIRST_REVISION, async (tx) => {
        runs += 1;
        await lockCoat(tx, first);
        await bothHold();
        await lockCoat(tx, second);
        hangAndLog(tx, `${first} ${second}`);
      });
    await Promise.all([crossing("a", "b"), crossing("b", "a")]);
    expect(runs).toBe(3);
    expect(await deck.coats()).toEqual(["a", "a b", "b", "b a"]);
    expect(await deck.logs()).toBe(4);
  });

  it("runs its statements in the order of the calls, and log rows with the commit", async () => {
    await using deck = await openDeck(database, ORDINARY);
    deck.proxy.sent.length = 0;
    await deck.flights.run(deck.tenantId, FIRST_REVISION, async (tx) => {
      hangAndLog(tx, "b");
      await tx.query(seeCoat, "b");
      await tx.query(hangIfFree, "a");
      hangAndLog(tx, "c");
    });
    const [transaction = []] = transactionsOf(deck);
    const kinds = transaction.map((text) => /^(insert into \w+|select \w+ from due|select ln|commit)/.exec(text)?.[0]);
    expect(kinds.filter((kind) => kind !== undefined)).toEqual([
      ...["insert into due", "select kind from due", "insert into due", "insert into due"],
      ...["insert into audit_logs", "select ln", "insert into due", "commit"],
    ]);
  });

  it("of one tenant leaves connections to the others, and serves all in the end", async () => {
    await using deck = await openDeck(database, { ...ORDINARY, perTenant: 3 });
    const other = await deck.newTenant();
    const release = Promise.withResolvers<void>();
    const holding = Array.from({ length: 9 }, () =>
      deck.flights.run(deck.tenantId, FIRST_REVISION, () => release.promise),
    );
    await deck.hang("while others hold theirs", other);
    expect(await deck.coats(other)).toEqual(["while others hold theirs"]);
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
