import { createHash } from "node:crypto";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { Authenticator } from "../../src/access/authenticate.js";
import { parseKeyName } from "../../src/access/frame-pass.js";
import { FramePasses } from "../../src/access/frame-passes.js";
import { EMPTY_CONTEXT } from "../../src/audit/audit-context.js";
import { compactUuid } from "../../src/base/compact-uuid.js";
import { newTenantId } from "../../src/base/ids.js";
import { readConfig } from "../../src/settings/config.js";
import { openVault, type Vault } from "../../src/vault/vault.js";
import { newTenant, type TestTenant } from "../support/tenant.js";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const CLIENT = "192.0.2.1";
const SHOP = "https://shop.example.com";

const clock = { ahead: 0, now: () => Date.now() + clock.ahead };
let vault: Vault;
let tenant: TestTenant;
let publicKey: string;
beforeAll(async () => {
  const config = readConfig(inject("serverEnvironment"));
  [vault, tenant] = await Promise.all([openVault({ config, as: "command", announce: () => {}, clock }), newTenant()]);
  const definition = { name: "Shop", type: "public", permissions: ["token:create"], allowed_origins: [SHOP] };
  publicKey = (await tenant.manage("POST", "/applications", { body: definition })).body.key;
});
afterAll(() => vault?.[Symbol.asyncDispose]());

function nameOf(key: string): string {
  const [, , kind, tenantPart] = key.split("_");
  return `${kind}_${tenantPart}_${createHash("sha256").update(key).digest("base64url")}`;
}

async function passFor(passes: FramePasses, key: string): Promise<string | undefined> {
  const name = parseKeyName(nameOf(key));
  if (!name) throw new Error("the key has no name");
  const issued = await passes.issue(name, CLIENT);
  return issued && `${issued.pass} ${nameOf(key)} ${SHOP}`;
}

const callerOf = (key: string) => new Authenticator(vault.database, vault.keyring, clock).identify(key, EMPTY_CONTEXT);

const OVER = {
  fault: { code: "permission_denied", message: expect.stringContaining("has a pass that has ended") },
  entry: { entityType: "application", operation: "refuse", outcome: "denied", code: "permission_denied" },
};

describe("a frame's pass", () => {
  it("is good for a quarter of an hour, and is renewed with the same id until twelve hours are over", async () => {
    clock.ahead = 0;
    const passes = new FramePasses(vault.database, vault.keyring, clock);
    const pass = (await passFor(passes, publicKey)) ?? "";
    const caller = await callerOf(publicKey);
    const { pass: id, origin } = await passes.frameOf(pass, publicKey, caller);
    expect([id.length, origin]).toEqual([22, SHOP]);
    clock.ahead = 16 * MINUTE;
    await expect(passes.frameOf(pass, publicKey, caller)).rejects.toMatchObject(OVER);
    const renewed = await passes.renew(pass, CLIENT);
    const next = `${renewed.pass} ${nameOf(publicKey)} ${SHOP}`;
    expect(renewed.until.getTime()).toBeGreaterThan(clock.now() + 14 * MINUTE);
    await expect(passes.frameOf(next, publicKey, caller)).resolves.toEqual({ pass: id, origin: SHOP });
    clock.ahead = (12 * 60 - 1) * MINUTE;
    const last = await passes.renew(next, CLIENT);
    expect(last.until.getTime()).toBeLessThanOrEqual(clock.now() + MINUTE);
    clock.ahead = 12 * 60 * MINUTE + 1_000;
    for (const sent of [pass, next, `${last.pass} ${nameOf(publicKey)} ${SHOP}`]) {
      await expect(passes.frameOf(sent, publicKey, caller)).rejects.toMatchObject(OVER);
      await expect(passes.renew(sent, CLIENT)).rejects.toMatchObject({
        message: "The frame that sends this was loaded too long ago. Reload the page.",
      });
    }
  });

  it("is each document's own, and no part of it can be changed", async () => {
    clock.ahead = 0;
    const passes = new FramePasses(vault.database, vault.keyring, clock);
    const [one = "", other = ""] = await Promise.all([passFor(passes, publicKey), passFor(passes, publicKey)]);
    const caller = await callerOf(publicKey);
    const ids = await Promise.all([one, other].map((sent) => passes.frameOf(sent, publicKey, caller)));
    expect(ids[0]?.pass).not.toBe(ids[1]?.pass);
    const [start = "", until = "", id = "", end = ""] = one.split(".");
    const [, , otherId = ""] = other.split(".");
    const later = (Number.parseInt(until, 36) + HOUR).toString(36);
    const forged = [
      [later, until, id],
      [start, later, id],
      [start, until, otherId],
    ].map((parts) => [...parts, end].join("."));
    for (const sent of [
      ...forged,
      one.replace(SHOP, "https://evil.example"),
      one.replace(` ${SHOP}`, ""),
      `${one} further`,
      "",
      "x y z",
    ]) {
      await expect(passes.frameOf(sent, publicKey, caller)).rejects.toMatchObject({
        fault: { code: "permission_denied" },
      });
      const code = expect.stringMatching(/^(?:validation_failed|unauthenticated|permission_denied)$/);
      await expect(passes.renew(sent, CLIENT)).rejects.toMatchObject({ code });
    }
    await expect(passes.renew("x y z", CLIENT)).rejects.toMatchObject({
      fields: { "cloakroom-frame": expect.anything() },
    });
    const moved = one.replace(SHOP, "https://evil.example");
    await expect(passes.renew(moved, CLIENT)).rejects.toMatchObject({ code: "permission_denied" });
  });

  it("is refused for a tenant that does not exist as for any other made-up key", async () => {
    const passes = new FramePasses(vault.database, vault.keyring, clock);
    const pass = (await passFor(passes, publicKey)) ?? "";
    const elsewhere = pass.replace(/ pub_[^_]+_/, ` pub_${compactUuid(newTenantId())}_`);
    await expect(passes.renew(elsewhere, CLIENT)).rejects.toMatchObject({ code: "unauthenticated" });
  });

  it("is not renewed for a page whose origin was removed, nor for a key that was deleted", async () => {
    clock.ahead = 0;
    const definition = { name: "Shop", type: "public", permissions: ["token:create"], allowed_origins: [SHOP] };
    const { body } = await tenant.manage("POST", "/applications", { body: definition });
    const pass = (await passFor(new FramePasses(vault.database, vault.keyring, clock), body.key)) ?? "";
    const later = () => new FramePasses(vault.database, vault.keyring, clock);
    const path = `/applications/${body.id}`;
    await tenant.manage("PUT", path, { body: { ...definition, allowed_origins: ["https://other.example.com"] } });
    await expect(later().renew(pass, CLIENT)).rejects.toThrow("is in a page that is not in allowed_origins");
    await expect(later().frameOf(pass, body.key, await callerOf(body.key))).rejects.toMatchObject({
      fault: { message: expect.stringContaining("not in allowed_origins") },
    });
    await tenant.manage("PUT", path, { body: definition });
    await expect(later().renew(pass, CLIENT)).resolves.toMatchObject({ pass: expect.any(String) });
    await tenant.manage("DELETE", `${path}/keys/${body.keys[0].id}`);
    await expect(later().renew(pass, CLIENT)).rejects.toThrow("was loaded with another key");
  });
});

describe("look-ups for frames", () => {
  /** The name of a key that does not exist. */
  const madeUp = (n: number) => {
    const name = parseKeyName(nameOf(`${publicKey}${n}`));
    if (!name) throw new Error("the key has no name");
    return name;
  };

  it("made-up keys of one client do not use up the look-ups of others", async () => {
    const passes = new FramePasses(vault.database, vault.keyring, clock);
    const asked = Array.from({ length: 600 }, (_, n) => passes.issue(madeUp(n), "198.51.100.7"));
    const [others, ...ends] = await Promise.all([
      passFor(passes, publicKey),
      ...asked.map((pass) => pass.catch((error: unknown) => error)),
    ]);
    expect(others).toContain(SHOP);
    expect(ends.filter((end) => end === undefined)).toHaveLength(64);
    const refused = ends.filter((end) => end !== undefined);
    expect(refused).toHaveLength(536);
    for (const error of refused) expect(error).toMatchObject({ code: "unavailable" });
    expect(await passes.issue(madeUp(0), "198.51.100.7"), "a place that is free again").toBeUndefined();
  });

  it("the frames of one page share one look-up", async () => {
    const passes = new FramePasses(vault.database, vault.keyring, clock);
    const frames = await Promise.all(Array.from({ length: 100 }, () => passFor(passes, publicKey)));
    for (const pass of frames) expect(pass).toContain(SHOP);
  });

  it("frames with a pass do not count among look-ups of unverified keys", async () => {
    const passes = new FramePasses(vault.database, vault.keyring, clock);
    const pass = (await passFor(passes, publicKey)) ?? "";
    const later = new FramePasses(vault.database, vault.keyring, clock);
    const caller = await callerOf(publicKey);
    const asked = Array.from({ length: 600 }, (_, n) => later.issue(madeUp(n), `client ${n}`));
    const [, ends] = await Promise.all([later.frameOf(pass, publicKey, caller), Promise.allSettled(asked)]);
    expect(ends.filter(({ status }) => status === "rejected")).toHaveLength(92);
  });
});
