import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { EMPTY_CONTEXT } from "../../src/audit/audit-context.js";
import type { Clock } from "../../src/base/clock.js";
import { isTenantId, type TenantId, type Uuid } from "../../src/base/ids.js";
import { PersonAuthenticator } from "../../src/people/person-authenticator.js";
import { createOperatorLink, takeSignInLink } from "../../src/people/sign-in-link.js";
import type { Visit } from "../../src/people/visit.js";
import { readConfig } from "../../src/settings/config.js";
import { readOwner } from "../../src/store/people/members.js";
import { openVault, type Vault } from "../../src/vault/vault.js";
import { openStored, type Stored } from "../support/stored.js";
import { newTenant } from "../support/tenant.js";

const MINUTE = 60_000;
const IDLE_MS = 15 * MINUTE;
const VISIT: Visit = {
  ...{ address: "203.0.113.7", network: "203.0.113.7", client: "Firefox on Linux", isIdle: false },
  context: EMPTY_CONTEXT,
  cookie: () => undefined,
  requireOwnPage: () => {},
};

let vault: Vault;
let tenantId: TenantId;
let ownerId: Uuid;
let stored: Stored;
let aheadBy = 0;
const clock: Clock = { now: () => Date.now() + aheadBy };
beforeAll(async () => {
  const config = readConfig(inject("serverEnvironment"));
  vault = await openVault({ config, as: "command", announce: () => {}, clock });
  const { id } = await newTenant();
  if (!isTenantId(id)) throw new Error("the tenant has no id");
  tenantId = id;
  const owner = await vault.database.of(tenantId).ordinary((tx) => tx.query(readOwner, "owner"));
  if (!owner) throw new Error("there is no owner");
  ownerId = owner.id;
  stored = await openStored();
});
afterAll(async () => {
  await stored?.[Symbol.asyncDispose]();
  await vault?.[Symbol.asyncDispose]();
});

const signIns = () => ({ tenants: vault.tenants, onRefused: () => {} });

async function newLink(): Promise<string> {
  return (await createOperatorLink(vault, tenantId, ownerId)).reveal();
}

/** Signs the owner in, and returns what a request finds after some minutes. */
async function signIn() {
  aheadBy = 0;
  const { token } = await takeSignInLink(signIns(), await newLink(), VISIT);
  const people = new PersonAuthenticator(vault.database, vault.keyring, clock, IDLE_MS);
  return async (minutes: number, isIdle = false): Promise<string> => {
    aheadBy = minutes * MINUTE;
    return people.authenticate(token.reveal(), isIdle, EMPTY_CONTEXT).then(
      ({ principal }) => (principal.kind === "person" ? principal.role : principal.kind),
      (error: unknown) => (error instanceof Error && "code" in error ? String(error.code) : "thrown"),
    );
  };
}

describe("a sign-in", () => {
  it("ends 15 minutes after the last request", async () => {
    const request = await signIn();
    expect(await request(14)).toBe("OWNER");
    expect(await request(28)).toBe("OWNER");
    expect(await request(43)).toBe("unauthenticated");
  });

  it("is not extended by requests that the page makes by itself", async () => {
    const request = await signIn();
    expect(await request(8, true)).toBe("OWNER");
    expect(await request(14, true)).toBe("OWNER");
    expect(await request(16, true)).toBe("unauthenticated");
    expect(await request(16)).toBe("unauthenticated");
  });

  it("ends after 12 hours, whatever is done", async () => {
    const request = await signIn();
    for (let minutes = 10; minutes < 12 * 60; minutes += 10) expect(await request(minutes)).toBe("OWNER");
    expect(await request(12 * 60)).toBe("unauthenticated");
  });
});

describe("a link", () => {
  it("works for 10 minutes", async () => {
    aheadBy = 0;
    const [first, second] = [await newLink(), await newLink()];
    aheadBy = 9.9 * MINUTE;
    await expect(takeSignInLink(signIns(), first, VISIT)).resolves.toMatchObject({ tenantId });
    aheadBy = 10.1 * MINUTE;
    await expect(takeSignInLink(signIns(), second, VISIT)).rejects.toMatchObject({ code: "validation_failed" });
  });
});

describe("rows that were edited in the database", () => {
  it("are refused: another role, and a longer time", async () => {
    const request = await signIn();
    const edit = async (change: string, undo: string) => {
      await stored.change(tenantId, change);
      const outcome = await request(1);
      await stored.change(tenantId, undo);
      return outcome;
    };
    expect(await edit("update members set role = 'ADMIN'", "update members set role = 'OWNER'")).toBe(
      "unauthenticated",
    );
    const later = (sign: string) => `update sign_ins set expires_at = expires_at ${sign} interval '1 hour'`;
    expect(await edit(later("+"), later("-"))).toBe("thrown");
    expect(await request(1)).toBe("OWNER");
    await stored.change(tenantId, "update members set role = 'ADMIN'");
    await expect(takeSignInLink(signIns(), await newLink(), VISIT)).rejects.toThrow("role");
    await stored.change(tenantId, "update members set role = 'OWNER'");
  });
});
