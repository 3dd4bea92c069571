import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { systemClock } from "../../src/base/clock.js";
import { newTenantId } from "../../src/base/ids.js";
import { type Database, openDatabase } from "../../src/store/database.js";
import { defineStatement } from "../../src/store/statements/statement.js";
import { startDatabase, type TestDatabase } from "../support/databases.js";

/** A list that takes the database this many seconds. */
const slowList = defineStatement<number, number, unknown>({
  table: "tokens",
  kind: "read",
  sortKey: () => "",
  queries: (sql, _tenantId, inputs) => inputs.map((seconds) => sql`select pg_sleep(${seconds})`),
  outputs: (rows) => rows.map(({ length }) => length),
});

describe("lists of one tenant", () => {
  let started: TestDatabase;
  let database: Database;
  beforeAll(async () => {
    started = await startDatabase();
    const { address } = started;
    database = openDatabase({ address, sharedConnections: 2, bulkConnections: 4, clock: systemClock });
  });
  afterAll(async () => {
    await database?.[Symbol.asyncDispose]();
    await started?.[Symbol.asyncDispose]();
  });

  it("wait for each other, 200 concurrently, although the last one waits for seconds", async () => {
    const tenantId = newTenantId();
    const list = () => database.of(tenantId).bulk((tx) => tx.query(slowList, 0.06));
    const results = await Promise.allSettled(Array.from({ length: 200 }, list));
    expect(results.filter(({ status }) => status === "rejected")).toEqual([]);
  });
});
