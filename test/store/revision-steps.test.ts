import { afterAll, beforeAll, expect, it } from "vitest";
import { systemClock } from "../../src/base/clock.js";
import { newTenantId, newUuid } from "../../src/base/ids.js";
import { type Database, openDatabase } from "../../src/store/database.js";
import { refreshEventTypes } from "../../src/store/jobs/webhooks.js";
import { incrementAuthRevision, insertTenant, readTenant, updateTenantRow } from "../../src/store/tenancy/tenants.js";
import type { Transaction } from "../../src/store/transactions/transaction.js";
import { startDatabase, type TestDatabase } from "../support/databases.js";

let stored: TestDatabase;
let database: Database;
beforeAll(async () => {
  stored = await startDatabase();
  database = openDatabase({ address: stored.address, sharedConnections: 2, bulkConnections: 2, clock: systemClock });
});
afterAll(async () => {
  await database?.[Symbol.asyncDispose]();
  await stored?.[Symbol.asyncDispose]();
});

it.each<[string, (tx: Transaction) => void]>([
  ["of rights", (tx) => tx.enqueue(incrementAuthRevision, tx.tenantId)],
  ["of webhooks", (tx) => tx.enqueue(refreshEventTypes, "once")],
  ["of settings", (tx) => tx.enqueue(updateTenantRow, { name: "T", settings: {}, modified_by: newUuid() })],
])("a change %s that a failover loses has a revision that the next change does not get", async (_, change) => {
  const tenantId = newTenantId();
  const tenant = database.of(tenantId);
  await tenant.ordinary(async (tx) => tx.enqueue(insertTenant, { name: "T", owner_id: newUuid(), settings: {} }));
  const revisionAfterChange = async () => {
    await stored.asTenant(tenantId, "update tenants set auth_revision = 1");
    await tenant.ordinary(async (tx) => change(tx));
    return (await tenant.shared((tx) => tx.query(readTenant, tenantId)))?.auth_revision;
  };
  expect(await revisionAfterChange()).not.toBe(await revisionAfterChange());
});
