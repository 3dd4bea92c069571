import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { systemClock } from "../../src/base/clock.js";
import { openDatabase } from "../../src/store/database.js";
import { startDatabase, type TestDatabase } from "../support/databases.js";
import { hangIfFree, seeCoat } from "./support/coats.js";
import { FIRST_REVISION, openDeck } from "./support/deck.js";
import { openSession } from "./support/session.js";

let database: TestDatabase;
beforeAll(async () => {
  database = await startDatabase();
});
afterAll(() => database?.[Symbol.asyncDispose]());

describe.each(["fast", "slow"] as const)("the %s connections", (kind) => {
  it("are never all one tenant's: others are served while it waits for a lock", async () => {
    await using deck = await openDeck(database);
    const other = await deck.newTenant();
    const connections = { fastConnections: 2, slowConnections: 2 };
    await using opened = openDatabase({ address: database.address, clock: systemClock, ...connections });
    const flights = opened[kind];
    await using session = await openSession(database, deck.tenantId);
    await session.hang("held");
    let settled = 0;
    const wait = async () => {
      await flights.run(deck.tenantId, FIRST_REVISION, (tx) => tx.query(hangIfFree, "held")).catch(() => {});
      settled += 1;
    };
    const waiting: Promise<void>[] = [];
    while (waiting.length < 5) {
      waiting.push(wait());
      // By then it has taken off, if it may: those that come at once would share a flight.
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    expect(await flights.run(other, FIRST_REVISION, (tx) => tx.query(seeCoat, "any"))).toBe(false);
    expect(settled).toBe(0);
    await session.rollback();
    await Promise.all(waiting);
  });
});

describe("a question that no tenant asks", () => {
  it.each([
    ["of what is due", /from due/],
    ["for a lease", /insert into leases/],
  ])("%s is given up where the database falls silent, and answered on a new connection", async (_, statement) => {
    await using deck = await openDeck(database);
    const { address } = deck.proxy;
    await using opened = openDatabase({ address, clock: systemClock, fastConnections: 1, slowConnections: 1 });
    const ask = () =>
      statement.source.includes("due")
        ? opened.due(["log_seal"], new Date(0), undefined)
        : opened.lease("a lease", 1).hold();
    const silent = deck.proxy.set({ at: "before", statement, does: "hang" });
    await expect(ask()).rejects.toMatchObject({ name: "Fault", code: "unavailable" });
    await silent;
    await expect(ask()).resolves.toBeDefined();
  });
});
