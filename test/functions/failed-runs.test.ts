import { rmSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { systemClock } from "../../src/base/clock.js";
import { newUuid, type TenantId, type Uuid } from "../../src/base/ids.js";
import { type FailedRunParts, FailedRuns } from "../../src/functions/failed-runs.js";
import type { TenantFunction } from "../../src/functions/function-runner.js";
import { failed, type RunOutcome } from "../../src/sandbox/run.js";
import { readConfig } from "../../src/settings/config.js";
import { listFailedRuns, MAX_FAILED_RUNS } from "../../src/store/functions/failed-runs.js";
import { Keyring } from "../../src/tenancy/keyring.js";
import { provisionTenant } from "../../src/tenancy/provision.js";
import { Tenants } from "../../src/tenancy/tenants.js";
import { openVault, type Vault } from "../../src/vault/vault.js";
import { copyMigratedData } from "../support/migrated-data.js";
import { newDirectory } from "../support/new-directory.js";

const MINUTE = 60_000;

describe("failed runs", () => {
  const directory = newDirectory();
  let vault: Vault;
  let now = Date.now();
  beforeAll(async () => {
    const config = readConfig({ CLOAKROOM_DATA_DIR: copyMigratedData(join(directory, "data")) });
    vault = await openVault({ config, as: "server", announce: () => {}, clock: systemClock });
  });
  afterAll(async () => {
    await vault?.[Symbol.asyncDispose]();
    rmSync(directory, { recursive: true, force: true });
  });

  const tenant = async (): Promise<TenantId> => {
    const owner = { name: "Test", ownerEmail: "owner@example.com" };
    return (await provisionTenant(vault, owner)).tenantId;
  };
  const keeper = (parts: Partial<FailedRunParts> = {}) => {
    const { tenants } = vault;
    return new FailedRuns({ tenants, clock: { now: () => now }, onFailure: () => {}, ...parts });
  };
  const functionOf = (tenantId: TenantId, id: Uuid = newUuid()): TenantFunction => ({
    ...{ tenantId, id, kind: "reactor", code: "", application: undefined, configuration: {}, version: 1 },
  });
  const kept = ({ tenantId, id }: TenantFunction) =>
    vault.database.of(tenantId).shared((tx) => tx.query(listFailedRuns, id));
  const times = async (count: number, observe: () => Promise<void>) => {
    for (let index = 0; index < count; index += 1) await observe();
  };

  it("are limited to ten per minute and function, and to twenty in total", async () => {
    const runs = keeper();
    const fn = functionOf(await tenant());
    await times(12, () => runs.observe(fn, failed("timeout")));
    await runs.settle();
    expect(await kept(fn)).toHaveLength(10);
    for (let minute = 0; minute < 2; minute += 1) {
      now += MINUTE;
      await times(10, () => runs.observe(fn, failed("timeout")));
    }
    await runs.settle();
    expect(await kept(fn)).toHaveLength(MAX_FAILED_RUNS);
  });

  it("are limited to sixty per minute and tenant, regardless of other tenants", async () => {
    const runs = keeper();
    const [many, other] = [await tenant(), await tenant()];
    const functions = Array.from({ length: 8 }, () => functionOf(many));
    for (const fn of functions) await times(8, () => runs.observe(fn, failed("memory")));
    const fn = functionOf(other);
    await runs.observe(fn, failed("memory"));
    await runs.settle();
    const counts = await Promise.all(functions.map(async (of) => (await kept(of)).length));
    expect(counts).toEqual([8, 8, 8, 8, 8, 8, 8, 4]);
    expect(await kept(fn)).toHaveLength(1);
  });

  it("are not recorded if the code finished, returned its own error or could not be run", async () => {
    const runs = keeper();
    const fn = functionOf(await tenant());
    const ran = { console: [], usage: undefined };
    const outcomes: RunOutcome[] = [
      { kind: "returned", value: {}, ...ran },
      { kind: "threw", error: { type: "custom_http_response", status: 409, headers: {}, body: null }, ...ran },
      ...[failed("overloaded"), failed("held"), failed("runner_restarted")],
    ];
    for (const outcome of outcomes) await runs.observe(fn, outcome);
    await runs.settle();
    expect(await kept(fn)).toEqual([]);
  });

  it("change no response if they cannot be stored, and are reported to the operator", async () => {
    const tenantId = await tenant();
    const told: TenantId[] = [];
    const locked = new Keyring(vault.database, { find: () => Promise.reject(new Error("sealed")) });
    const runs = keeper({ tenants: new Tenants(vault.database, locked), onFailure: (failing) => told.push(failing) });
    await runs.observe(functionOf(tenantId), failed("timeout"));
    await runs.settle();
    expect(told).toEqual([tenantId]);
  });

  it("delay their caller only briefly if the keys are unavailable", async () => {
    const response = Promise.withResolvers<never>();
    const silent = new Keyring(vault.database, { find: () => response.promise });
    const told: TenantId[] = [];
    const runs = keeper({ tenants: new Tenants(vault.database, silent), onFailure: (failing) => told.push(failing) });
    const tenantId = await tenant();
    await runs.observe(functionOf(tenantId), failed("timeout"));
    expect(told).toEqual([]);
    response.reject(new Error("given up"));
    await runs.settle();
    expect(told).toEqual([tenantId]);
  });
});
