import { Registry } from "prom-client";
import { afterAll, beforeAll, expect, it } from "vitest";
import { systemClock } from "../../src/base/clock.js";
import { newTenantId } from "../../src/base/ids.js";
import { type Database, openDatabase } from "../../src/store/database.js";
import { gaugeDatabase } from "../../src/telemetry/database-gauges.js";
import { startDatabase, type TestDatabase } from "../support/databases.js";

let database: TestDatabase;
let opened: Database;
beforeAll(async () => {
  database = await startDatabase();
  opened = openDatabase({ address: database.address, sharedConnections: 1, bulkConnections: 1, clock: systemClock });
});
afterAll(async () => {
  await opened?.[Symbol.asyncDispose]();
  await database?.[Symbol.asyncDispose]();
});

const SEAL_LAG = /^cloakroom_audit_seal_lag_seconds (.*)$/m;

it("the lag of seals is 0 only if the database says so, and absent while it does not answer", async () => {
  const registry = new Registry();
  let answers = true;
  const oldestDue = async () => {
    if (!answers) throw new Error("the database does not answer");
    return opened.oldestDue();
  };
  gaugeDatabase(registry, { ...opened, oldestDue }, () => Date.now());
  const lag = async () => SEAL_LAG.exec(await registry.metrics())?.[1];
  expect(await lag()).toBe("0");
  answers = false;
  expect(await lag()).toBeUndefined();
  answers = true;
  expect(await lag()).toBe("0");
});

it("work that is due later has no age", async () => {
  const tenant = newTenantId();
  const due = (at: string) => database.asTenant(tenant, `insert into due values ('${tenant}', 'token', ${at})`);
  await due("now() + interval '1 hour'");
  expect((await opened.oldestDue()).has("token")).toBe(false);
  await due("now() - interval '1 hour'");
  expect((await opened.oldestDue()).has("token")).toBe(true);
});
