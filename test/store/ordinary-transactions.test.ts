import { setTimeout as pause } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { boundQuery } from "../../src/store/bound-statement.js";
import { text } from "../../src/store/parameter.js";
import { awaitedLater } from "../support/awaited-later.js";
import { startDatabase, type TestDatabase } from "../support/databases.js";
import { hangIfFree, seeCoat } from "./support/coats.js";
import { FIRST_REVISION, hangAndLog, openDeck } from "./support/deck.js";
import { openSession } from "./support/session.js";

let database: TestDatabase;
beforeAll(async () => {
  database = await startDatabase();
});
afterAll(() => database?.[Symbol.asyncDispose]());

/** Locks a row, as work that decides by what it reads does. */
const LOCK_COAT = boundQuery<string, boolean, true>({
  table: "due",
  kind: "write",
  sql: "select true from due where tenant_id = :tenant and kind = :name for update",
  parameters: { name: text((name) => name) },
  sortKey: (name) => name,
  row: () => true,
  answers: (rows) => rows.map(({ length }) => length > 0),
});

/** One request per transaction. */
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

  it("that throws is rolled back, wherever it throws, and its caller gets the error", async () => {
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

  it("waits for a lock on the rows it decides by, and sees what the holder left", async () => {
    await using deck = await openDeck(database, ORDINARY);
    await deck.hang("coat");
    let locked = 0;
    const count = async () => {
      await deck.flights.run(deck.tenantId, FIRST_REVISION, async (tx) => {
        if (!(await tx.query(LOCK_COAT, "coat"))) throw new Error("the coat is gone");
        locked += 1;
        expect(locked, "that hold the lock").toBe(1);
        await pause(10);
        locked -= 1;
      });
    };
    await Promise.all([count(), count(), count(), count()]);
  });

  it("runs again after a deadlock, and its effect counts once", async () => {
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
});
