import { createHash } from "node:crypto";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { Authenticator } from "../../src/access/authenticate.js";
import { FramePasses, parseKeyName } from "../../src/access/frame-passes.js";
import { EMPTY_CONTEXT } from "../../src/audit/audit-context.js";
import { readConfig } from "../../src/settings/config.js";
import { openVault, type Vault } from "../../src/vault/vault.js";
import { newTenant, type TestTenant } from "../support/tenant.js";

const MINUTE = 60_000;
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

const callerOf = (key: string) =>
  new Authenticator(vault.database, vault.keyring, clock).authenticate(key, EMPTY_CONTEXT);

describe("a frame's pass", () => {
  it("is good for twelve hours, and then says what to do", async () => {
    clock.ahead = 0;
    const passes = new FramePasses(vault.database, vault.keyring, clock);
    const pass = (await passFor(passes, publicKey)) ?? "";
    const caller = await callerOf(publicKey);
    clock.ahead = (12 * 60 - 1) * MINUTE;
    await expect(passes.require(pass, publicKey, caller)).resolves.toBeUndefined();
    clock.ahead = (12 * 60 + 1) * MINUTE;
    await expect(passes.require(pass, publicKey, caller)).rejects.toMatchObject({
      fault: {
        code: "permission_denied",
        message: "The frame that sends this was loaded too long ago. Reload the page.",
      },
      entry: { entityType: "application", operation: "refuse", outcome: "denied", code: "permission_denied" },
    });
  });

  it("is not given to the frames of a session that is over, nor is one accepted with its key", async () => {
    clock.ahead = 0;
    const { body } = await tenant.manage("POST", "/sessions", { key: publicKey });
    const passes = new FramePasses(vault.database, vault.keyring, clock);
    const pass = (await passFor(passes, publicKey)) ?? "";
    const caller = await callerOf(body.session_key);
    expect(await passFor(passes, body.session_key)).toContain(SHOP);
    await expect(passes.require(pass, body.session_key, caller)).resolves.toBeUndefined();
    clock.ahead = 4 * MINUTE;
    const later = new FramePasses(vault.database, vault.keyring, clock);
    expect(await passFor(later, body.session_key)).toBeUndefined();
    await expect(later.require(pass, body.session_key, caller)).rejects.toMatchObject({
      fault: { code: "permission_denied" },
    });
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
    const [, ends] = await Promise.all([later.require(pass, publicKey, caller), Promise.allSettled(asked)]);
    expect(ends.filter(({ status }) => status === "rejected")).toHaveLength(92);
  });
});
