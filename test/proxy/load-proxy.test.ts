import type { KeyObject } from "node:crypto";
import { beforeAll, describe, expect, inject, it } from "vitest";
import { newKey } from "../../src/access/key-text.js";
import { EMPTY_CONTEXT } from "../../src/audit/audit-context.js";
import { Fault } from "../../src/base/fault.js";
import { isTenantId } from "../../src/base/ids.js";
import { ProxyLoader } from "../../src/proxy/load-proxy.js";
import { newTenant, type TestTenant, withVault } from "../support/tenant.js";

let tenant: TestTenant;
beforeAll(async () => {
  tenant = await newTenant();
});

/** A key with the vault's mark and no proxy: of one that was deleted. */
function deletedKey(keyMark: KeyObject): string {
  if (!isTenantId(tenant.id)) throw new Error("the tenant has no id");
  return newKey("prx", tenant.id, { keyMark }).text.reveal();
}

describe("loading proxies", () => {
  it("refuses keys of deleted proxies above a limit, and serves known ones again after them", async () => {
    const { body } = await tenant.manage("POST", "/proxies", {
      body: { name: "A", destination_url: "https://example.com" },
    });
    await withVault(inject("serverEnvironment"), async ({ database, keyring }) => {
      let refused = 0;
      const loader = new ProxyLoader(database, keyring, () => {
        refused += 1;
      });
      const keyMark = await keyring.keyMark();
      const loads = Array.from({ length: 2_100 }, () => loader.find(deletedKey(keyMark), EMPTY_CONTEXT));
      const ends = await Promise.all(loads.map((load) => load.catch((error: unknown) => error)));
      const codes = ends.map((end) => (end instanceof Fault ? end.code : "found"));
      expect(codes.filter((code) => code === "not_found")).toHaveLength(2_008);
      expect(codes.filter((code) => code === "unavailable")).toHaveLength(92);
      expect(refused).toBe(2_008);
      const found = await loader.find(body.key, EMPTY_CONTEXT);
      expect(found.proxy.id).toBe(body.id);
    });
  });
});
