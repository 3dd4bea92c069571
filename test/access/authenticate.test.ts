import type { KeyObject } from "node:crypto";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { Authenticator } from "../../src/access/authenticate.js";
import { callingApplication } from "../../src/access/caller.js";
import { newKey } from "../../src/access/key-text.js";
import { EMPTY_CONTEXT } from "../../src/audit/audit-context.js";
import { HOUR_MS, systemClock } from "../../src/base/clock.js";
import { isTenantId, newTenantId, type TenantId } from "../../src/base/ids.js";
import type { TenantKeys } from "../../src/crypto/tenant-keys.js";
import { readConfig } from "../../src/settings/config.js";
import { openVault, type Vault } from "../../src/vault/vault.js";
import { newTenant, type TestTenant } from "../support/tenant.js";
import { newTenantKeys } from "../support/tenant-keys.js";

let vault: Vault;
let tenant: TestTenant;
let tenantId: TenantId;
let keyMark: KeyObject;
beforeAll(async () => {
  const config = readConfig(inject("serverEnvironment"));
  vault = await openVault({ config, as: "command", announce: () => {}, clock: systemClock });
  tenant = await newTenant();
  if (!isTenantId(tenant.id)) throw new Error("the tenant has no id");
  tenantId = tenant.id;
  keyMark = await vault.keyring.keyMark();
});
afterAll(() => vault?.[Symbol.asyncDispose]());

const opened = () => new Authenticator(vault.database, vault.keyring, systemClock);
/** Keys that the vault has issued and that are of no application: anybody may hold them and send them for good. */
const deleted = (count: number) => issuedBy({ keyMark }, count);
const issuedBy = (keys: Pick<TenantKeys, "keyMark">, count: number, of = tenantId) =>
  Array.from({ length: count }, () => newKey("pvt", of, keys).text.reveal());

/** Outcomes of many requests, each with a key that does not exist. */
function ask(authenticator: Authenticator, keys: readonly string[]): Promise<string[]> {
  const code = (key: string) =>
    authenticator.authenticate(key, EMPTY_CONTEXT).then(
      () => "found",
      (error: unknown) => (error instanceof Error && "code" in error ? String(error.code) : "thrown"),
    );
  return Promise.all(keys.map(code));
}

describe("made-up keys", () => {
  it("are refused without a query, of a tenant and of none", async () => {
    const authenticator = opened();
    await authenticator.authenticate(tenant.managementKey, EMPTY_CONTEXT);
    const before = vault.database.shared.load.requests;
    const keys = [...issuedBy(newTenantKeys(), 500), ...issuedBy(newTenantKeys(), 500, newTenantId())];
    expect(new Set(await ask(authenticator, keys))).toEqual(new Set(["unauthenticated"]));
    expect(vault.database.shared.load.requests).toBe(before);
  });

  it("are no obstacle to a key that is issued meanwhile", async () => {
    const authenticator = opened();
    const { key } = await tenant.backEnd();
    const [before] = await ask(authenticator, issuedBy(newTenantKeys(), 1));
    expect([before, ...(await ask(authenticator, [key]))]).toEqual(["unauthenticated", "found"]);
  });
});

describe("a key by which requests count for its tenant before they are read", () => {
  it("is a secret one: the keys of public applications are in pages", async () => {
    const authenticator = opened();
    const secret = (await tenant.backEnd()).key;
    const { key } = await tenant.application({ type: "public", permissions: ["token:create"] });
    for (const each of [secret, key]) await authenticator.authenticate(each, EMPTY_CONTEXT);
    expect([secret, key].map((each) => authenticator.presentedTenant(each))).toEqual([tenantId, tenantId]);
    expect([secret, key].map((each) => authenticator.tenantOfSecret(each))).toEqual([tenantId, undefined]);
  });
});

describe("deleted keys of a tenant", () => {
  it("never fill the places of the tenant's own requests", async () => {
    let most = 0;
    let isOver = false;
    const watch = () => {
      most = Math.max(most, vault.database.shared.queued);
      if (!isOver) setImmediate(watch);
    };
    watch();
    const codes = await ask(opened(), deleted(1_000));
    isOver = true;
    expect(new Set(codes)).toEqual(new Set(["unauthenticated"]));
    expect(most).toBeLessThanOrEqual(32);
  });

  it("are not waited for by a key that was good before, even if its rights have changed since", async () => {
    const authenticator = opened();
    await authenticator.authenticate(tenant.managementKey, EMPTY_CONTEXT);
    authenticator.forget(tenant.managementKey);
    let responseCount = 0;
    const deletedRequests = deleted(1_500).map((key) => ask(authenticator, [key]).then(() => (responseCount += 1)));
    await expect(authenticator.authenticate(tenant.managementKey, EMPTY_CONTEXT)).resolves.toMatchObject({ tenantId });
    expect(responseCount).toBeLessThan(1_000);
    await Promise.all(deletedRequests);
  });

  it("are rejected once 2,000 of them wait", async () => {
    const codes = await ask(opened(), deleted(2_500));
    expect(codes.filter((code) => code === "unauthenticated")).toHaveLength(2_032);
    expect(codes.filter((code) => code === "unavailable")).toHaveLength(2_500 - 2_032);
  });
});

describe("a key that was good", () => {
  it("is rejected once it is deleted, even if it is still cached", async () => {
    const authenticator = opened();
    const { key } = await tenant.backEnd();
    const { id } = callingApplication(await authenticator.authenticate(key, EMPTY_CONTEXT));
    expect((await tenant.manage("DELETE", `/applications/${id}`)).status).toBe(204);
    authenticator.forget(key);
    await expect(authenticator.authenticate(key, EMPTY_CONTEXT)).rejects.toMatchObject({ code: "unauthenticated" });
    expect(authenticator.presentedTenant(key)).toBeUndefined();
  });
});

describe("a key of a page", () => {
  it("is judged by current rights, also where they are cached", async () => {
    const authenticator = opened();
    const page = { name: "shop", type: "public" as const, permissions: ["token:create"] };
    const made = { ...page, allowed_origins: ["https://shop.example"] };
    const { key, id } = await tenant.application(made);
    await expect(authenticator.authenticate(key, EMPTY_CONTEXT)).rejects.toMatchObject({ name: "Denied" });
    const body = { ...made, allow_page_requests: true };
    expect((await tenant.manage("PUT", `/applications/${id}`, { body })).status).toBe(200);
    await expect(authenticator.authenticate(key, EMPTY_CONTEXT)).resolves.toMatchObject({ tenantId });
  });
});

describe("a key that expires", () => {
  it("is rejected from that moment on, also where it is cached", async () => {
    const clock = { ahead: 0, now: () => Date.now() + clock.ahead };
    const authenticator = new Authenticator(vault.database, vault.keyring, clock);
    const { id } = await tenant.application({ type: "private", permissions: ["token:create"] });
    const expiresAt = new Date(Date.now() + HOUR_MS).toISOString();
    const made = await tenant.manage("POST", `/applications/${id}/keys`, { body: { expires_at: expiresAt } });
    const key = String(made.body.key);
    await expect(authenticator.authenticate(key, EMPTY_CONTEXT)).resolves.toMatchObject({ keyId: made.body.id });
    clock.ahead = HOUR_MS;
    await expect(authenticator.authenticate(key, EMPTY_CONTEXT)).rejects.toMatchObject({ code: "unauthenticated" });
    // A server whose clock is right still takes it: the refusal above was by the time alone.
    await expect(opened().authenticate(key, EMPTY_CONTEXT)).resolves.toMatchObject({ keyId: made.body.id });
  });
});
