// Waits: 10 s
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { systemClock } from "../../src/base/clock.js";
import { openDatabase } from "../../src/store/database.js";
import { startDatabase, type TestDatabase } from "../support/databases.js";
import { FIRST_REVISION, openFixture } from "./support/batcher-fixture.js";
import { insertIfFree, namedRowExists } from "./support/named-rows.js";
import { openSession } from "./support/session.js";

let database: TestDatabase;
beforeAll(async () => {
  database = await startDatabase();
});
afterAll(() => database?.[Symbol.asyncDispose]());

describe.each(["shared", "bulk"] as const)("the %s connections", (kind) => {
  it("are never all used by one tenant: others are served while it waits for a lock", async () => {
    await using fixture = await openFixture(database);
    const other = await fixture.newTenant();
    const connections = { sharedConnections: 2, bulkConnections: 2 };
    await using opened = openDatabase({ address: database.address, clock: systemClock, ...connections });
    await using session = await openSession(database, fixture.tenantId);
    await session.insert("held");
    let settled = 0;
    const wait = async () => {
      await opened
        .of(fixture.tenantId, { revision: FIRST_REVISION })
        [kind]((tx) => tx.query(insertIfFree, "held"))
        .catch(() => {});
      settled += 1;
    };
    const waiting: Promise<void>[] = [];
    while (waiting.length < 5) {
      waiting.push(wait());
      // By then it has started, if it may: concurrent requests would share a transaction.
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    expect(await opened.of(other, { revision: FIRST_REVISION })[kind]((tx) => tx.query(namedRowExists, "any"))).toBe(
      false,
    );
    expect(settled).toBe(0);
    await session.rollback();
    await Promise.all(waiting);
  });
});

describe("a query without a tenant", () => {
  it.each([
    ["for due work", /from due/],
    ["for a lease", /insert into leases/],
  ])("%s times out if the database falls silent, and is answered on a new connection", async (_, statement) => {
    await using fixture = await openFixture(database);
    const { address } = fixture.proxy;
    await using opened = openDatabase({ address, clock: systemClock, sharedConnections: 1, bulkConnections: 1 });
    const ask = () =>
      statement.source.includes("due")
        ? opened.due(["log_seal"], { now: new Date(0) })
        : opened.lease("a lease", 1).hold();
    const silent = fixture.proxy.set({ at: "before", statement, does: "hang" });
    await expect(ask()).rejects.toMatchObject({ name: "Fault", code: "unavailable" });
    await silent;
    await expect(ask()).resolves.toBeDefined();
  });
});
