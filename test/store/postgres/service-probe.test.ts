import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { connect, type Sql } from "../../../src/store/postgres/connect.js";
import { probeService } from "../../../src/store/postgres/service-probe.js";
import { startDatabase, type TestDatabase } from "../../support/databases.js";

const WELL = { time: expect.any(Date), nodes: 1, failing: 0, refusesWrites: false };

describe("the probe behind readiness", () => {
  let database: TestDatabase;
  let sql: Sql;
  beforeAll(async () => {
    database = await startDatabase();
    sql = connect(database.address, { role: "cloakroom_app", connections: 1, statementTimeout: 5_000 });
  });
  afterAll(async () => {
    await sql?.end({ timeout: 5 });
    await database?.[Symbol.asyncDispose]();
  });

  /** Probes after a change by the operator, which is then undone. */
  async function probeAfter(change: string, back: string) {
    await database.owner.unsafe(change);
    try {
      return await probeService(sql);
    } finally {
      await database.owner.unsafe(back);
    }
  }

  it("leaves nothing behind", async () => {
    for (let look = 0; look < 3; look += 1) expect(await probeService(sql)).toEqual(WELL);
    const [left] = await sql<{ rows: number }[]>`select count(*)::int as rows from due`;
    expect(left).toEqual({ rows: 0 });
    // Row-level security would hide rows of other tenants from the count: nothing was ever committed.
    await database.owner`analyze due`;
    const [table] = await database.owner<
      { rows: number }[]
    >`select reltuples::int as rows from pg_class where relname = 'due'`;
    expect(table).toEqual({ rows: 0 });
  });

  it.each([
    ["reads", "revoke select on tokens from cloakroom_app", "grant select on tokens to cloakroom_app"],
    ["writes", "revoke insert on due from cloakroom_app", "grant insert on due to cloakroom_app"],
    [
      "what row-level security lets a tenant write",
      "alter policy of_tenant on due using (false)",
      "alter policy of_tenant on due using (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid)",
    ],
  ])("accepts a database that responds, and fails %s", async (_what, change, back) => {
    expect(await probeAfter(change, back)).toEqual({ ...WELL, failing: 1 });
    expect(await probeService(sql)).toEqual(WELL);
  });

  it("distinguishes a read-only database from one that fails", async () => {
    await sql`set default_transaction_read_only = on`;
    expect(await probeService(sql)).toEqual({ ...WELL, failing: 1, refusesWrites: true });
    await sql`set default_transaction_read_only = off`;
    expect(await probeService(sql)).toEqual(WELL);
  });
});
