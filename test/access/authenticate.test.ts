import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { Authenticator } from "../../src/access/authenticate.js";
import { applicationOf } from "../../src/access/caller.js";
import { newKey } from "../../src/access/key-text.js";
import { EMPTY_CONTEXT } from "../../src/audit/audit-context.js";
import { systemClock } from "../../src/base/clock.js";
import { isTenantId, type TenantId } from "../../src/base/ids.js";
import { readConfig } from "../../src/settings/config.js";
import { openVault, type Vault } from "../../src/vault/vault.js";
import { newTenant, type TestTenant } from "../support/tenant.js";

let vault: Vault;
let tenant: TestTenant;
let tenantId: TenantId;
beforeAll(async () => {
  const config = readConfig(inject("serverEnvironment"));
  vault = await openVault({ config, as: "command", announce: () => {}, clock: systemClock });
  tenant = await newTenant();
  if (!isTenantId(tenant.id)) throw new Error("the tenant has no id");
  tenantId = tenant.id;
});
afterAll(() => vault?.[Symbol.asyncDispose]());

const opened = () => new Authenticator(vault.database, vault.keyring, systemClock);
const madeUp = (count: number) => Array.from({ length: count }, () => newKey("pvt", tenantId).text.reveal());

/** Outcomes of many requests, each with a key that does not exist. */
function ask(authenticator: Authenticator, keys: readonly string[]): Promise<string[]> {
  const code = (key: string) =>
    authenticator.authenticate(key, EMPTY_CONTEXT).then(
      () => "found",
      (error: unknown) => (error instanceof Error && "code" in error ? String(error.code) : "thrown"),
    );
  return Promise.all(keys.map(code));
}

describe("made-up keys for a tenant", () => {
  it("never fill the places of the tenant's own requests", async () => {
    let most = 0;
    let isOver = false;
    const watch = () => {
      most = Math.max(most, vault.database.shared.queued);
      if (!isOver) setImmediate(watch);
    };
    watch();
    const codes = await ask(opened(), madeUp(1_000));
    isOver = true;
    expect(new Set(codes)).toEqual(new Set(["unauthenticated"]));
    expect(most).toBeLessThanOrEqual(32);
  });

  it("are not waited for by a key that was good before, even if its rights have changed since", async () => {
    const authenticator = opened();
    await authenticator.authenticate(tenant.managementKey, EMPTY_CONTEXT);
    authenticator.forget(tenant.managementKey);
    let responseCount = 0;
    const madeUpRequests = madeUp(1_500).map((key) => ask(authenticator, [key]).then(() => (responseCount += 1)));
    await expect(authenticator.authenticate(tenant.managementKey, EMPTY_CONTEXT)).resolves.toMatchObject({ tenantId });
    expect(responseCount).toBeLessThan(1_000);
    await Promise.all(madeUpRequests);
  });

  it("are rejected once 2,000 of them wait", async () => {
    const codes = await ask(opened(), madeUp(2_500));
    expect(codes.filter((code) => code === "unauthenticated")).toHaveLength(2_032);
    expect(codes.filter((code) => code === "unavailable")).toHaveLength(2_500 - 2_032);
  });
});

describe("a key that was good", () => {
  it("is rejected once it is deleted, even if it is still cached", async () => {
    const authenticator = opened();
    const { key } = await tenant.backEnd();
    const { id } = applicationOf(await authenticator.authenticate(key, EMPTY_CONTEXT));
    expect((await tenant.manage("DELETE", `/applications/${id}`)).status).toBe(204);
    authenticator.forget(key);
    await expect(authenticator.authenticate(key, EMPTY_CONTEXT)).rejects.toMatchObject({ code: "unauthenticated" });
    expect(authenticator.tenantOf(key)).toBeUndefined();
  });
});
