import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { systemClock } from "../../src/base/clock.js";
import { newTenantId, type TenantId } from "../../src/base/ids.js";
import { tenantRemovalJob } from "../../src/jobs/tenant-removal.js";
import { type Database, openDatabase } from "../../src/store/database.js";
import { scheduleDue } from "../../src/store/jobs/due.js";
import { removeRows } from "../../src/tenancy/delete-tenant.js";
import { Keyring } from "../../src/tenancy/keyring.js";
import { insertSamples, tenantTables } from "../store/support/samples.js";
import { startDatabase, type TestDatabase } from "../support/databases.js";

describe("the rows of a deleted tenant", () => {
  let stored: TestDatabase;
  let database: Database;
  let tables: string[];
  const gone = newTenantId();
  const kept = newTenantId();
  beforeAll(async () => {
    stored = await startDatabase();
    database = openDatabase({ address: stored.address, sharedConnections: 1, bulkConnections: 1, clock: systemClock });
    tables = await tenantTables(stored.owner);
    for (const tenantId of [gone, kept]) await insertSamples(stored, tenantId, tables);
  });
  afterAll(async () => {
    await database?.[Symbol.asyncDispose]();
    await stored?.[Symbol.asyncDispose]();
  });
  const filled = async (tenantId: TenantId): Promise<string[]> => {
    const counts = await Promise.all(
      tables.map(async (table) => [table, await stored.asTenant(tenantId, `select 1 from ${table} limit 1`)] as const),
    );
    return counts.filter(([, rows]) => rows.length > 0).map(([table]) => table);
  };

  it("are removed from every table except two, however many there were", async () => {
    // More than two transactions remove from a table with a key of several columns, many with the same first one.
    await stored.asTenant(
      gone,
      `insert into token_terms (tenant_id, term, created_at, token_id)
       select '${gone}', '\\x02', '2020-01-01', n::text from generate_series(1, 1201) n`,
    );
    expect(await filled(gone)).toEqual(tables);
    await removeRows(database, gone, new AbortController().signal);
    expect(await filled(gone)).toEqual(["due", "tenants"]);
    expect(await filled(kept)).toEqual(tables);
  });

  it("are looked for until the minute of the deletion is over, and then nothing is due", async () => {
    let now = Date.now();
    const clock = { now: () => now };
    const late = newTenantId();
    await insertSamples(stored, late, tables);
    await using own = openDatabase({ address: stored.address, sharedConnections: 1, bulkConnections: 1, clock });
    await own.of(late).bulk(async (tx) => scheduleDue(tx, { kind: "tenant", at: tx.now }));
    const failures: TenantId[] = [];
    const roots = { find: () => Promise.reject(new Error("no key is to be unwrapped")) };
    const job = tenantRemovalJob({
      ...{ database: own, clock, keyring: new Keyring(own, roots) },
      onFailure: (tenantId) => failures.push(tenantId),
    });
    const run = () => job.run(new AbortController().signal);
    await run();
    expect(await filled(late)).toEqual(["due", "tenants"]);
    // A transaction that was in flight at the end leaves rows that the next run removes.
    await insertSamples(
      stored,
      late,
      tables.filter((table) => table !== "due"),
    );
    now += 2 * 60_000;
    await run();
    expect(await filled(late)).toEqual(["tenants"]);
    expect(failures).toEqual([]);
    expect(await filled(kept)).toEqual(tables);
  });

  it("stay if the server is shutting down", async () => {
    await removeRows(database, kept, AbortSignal.abort());
    expect(await filled(kept)).toEqual(tables);
  });
});
