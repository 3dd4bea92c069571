import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { newSecret } from "../../src/access/secret-text.js";
import { EMPTY_CONTEXT } from "../../src/audit/audit-context.js";
import { tenantTransaction } from "../../src/audit/tenant-transaction.js";
import type { Clock } from "../../src/base/clock.js";
import { isTenantId, newUuid, parseUuid, type TenantId, type Uuid } from "../../src/base/ids.js";
import type { TenantKeys } from "../../src/crypto/tenant-keys.js";
import { consumeChallenge, issueChallenge, type Purpose } from "../../src/people/passkey-challenge.js";
import { takeSignInLink } from "../../src/people/sign-in-link.js";
import { beginLinkSignIn, beginSignIn } from "../../src/people/sign-in-request.js";
import type { Visit } from "../../src/people/visit.js";
import { readConfig } from "../../src/settings/config.js";
import { readOwner } from "../../src/store/people/members.js";
import type { OrdinaryTransaction } from "../../src/store/transactions/transaction.js";
import { sharedMailKey } from "../../src/tenancy/sign-in-mail.js";
import { openVault, type Vault } from "../../src/vault/vault.js";
import { acceptInvitation } from "../support/accept-invitation.js";
import { newTenant } from "../support/tenant.js";
import { signedIn } from "../support/test-browser.js";

const MINUTE = 60_000;

let vault: Vault;
let tenantId: TenantId;
let keys: TenantKeys;
let ownerId: Uuid;
let aheadBy = 0;
const clock: Clock = { now: () => Date.now() + aheadBy };
beforeAll(async () => {
  vault = await openVault({
    config: readConfig(inject("serverEnvironment")),
    as: "command",
    announce: () => {},
    clock,
  });
  const { id } = await newTenant();
  if (!isTenantId(id)) throw new Error("the tenant has no id");
  tenantId = id;
  keys = await vault.keyring.of(tenantId);
  const owner = await run((tx) => tx.query(readOwner, "owner"));
  if (!owner) throw new Error("there is no owner");
  ownerId = owner.id;
});
afterAll(() => vault?.[Symbol.asyncDispose]());

const run = <T>(work: (tx: OrdinaryTransaction) => Promise<T>) => vault.database.of(tenantId).ordinary(work);

/** What happens to a sign-in that has begun, after these minutes. */
async function afterMinutes<T>(minutes: number, act: () => Promise<T>): Promise<T> {
  aheadBy = minutes * MINUTE;
  try {
    return await act();
  } finally {
    aheadBy = 0;
  }
}

describe("a challenge of a passkey", () => {
  const issued = (purpose: Purpose) => run(async (tx) => issueChallenge(tenantTransaction(tx, keys), purpose));
  const consumed = (id: Uuid, purpose: Purpose) =>
    run((tx) => consumeChallenge(tenantTransaction(tx, keys), id, purpose));
  const subject = newUuid();

  it.each(["sign_in", "check", "registration"] as const)("is met once, for what it was issued: %s", async (of) => {
    const { id, challenge } = await issued({ of, subject });
    expect(challenge).toMatch(/^[\w-]{43}$/);
    expect([await consumed(id, { of, subject }), await consumed(id, { of, subject })]).toEqual([challenge, undefined]);
  });

  it.each<[string, Purpose]>([
    ["another purpose", { of: "registration", subject }],
    ["another sign-in", { of: "check", subject: newUuid() }],
  ])("is not met for %s, and is not used up by the attempt", async (_, wrong) => {
    const { id, challenge } = await issued({ of: "check", subject });
    expect(await consumed(id, wrong)).toBeUndefined();
    expect(await consumed(id, { of: "check", subject })).toBe(challenge);
  });

  it.each([
    [4.9, true],
    [5.1, false],
  ])("is met after %d minutes: %s", async (minutes, isMet) => {
    const { id } = await issued({ of: "check", subject });
    expect((await afterMinutes(minutes, () => consumed(id, { of: "check", subject }))) !== undefined).toBe(isMet);
  });

  it("is not met by an id of something else", async () => {
    const link = await run(async (tx) =>
      beginSignIn(tenantTransaction(tx, keys), { method: "operator" }, { of: "check", subject, challenge: "x" }),
    );
    expect(await consumed(link, { of: "check", subject })).toBeUndefined();
    expect(await consumed(newUuid(), { of: "check", subject })).toBeUndefined();
  });
});

describe("a sign-in link", () => {
  type Cookie = "none" | "of the asking browser" | "of another browser";
  let asking = "";
  const visitWith = (cookie: Cookie): Visit => ({
    ...{
      address: "203.0.113.7",
      network: "203.0.113.7",
      client: "Firefox on Linux",
      isIdle: false,
      context: EMPTY_CONTEXT,
    },
    cookie: (name) =>
      name !== "asking" || cookie === "none" ? undefined : cookie === "of another browser" ? "x" : asking,
    requireOwnPage: () => {},
  });
  /** A link to the owner: one that the operator makes works in any browser. */
  const link = (kind: "link" | "operator" | "passkey") =>
    run(async (tx) => {
      const id = newUuid();
      const { text, hash } = newSecret("lnk", tenantId, id);
      const cookie = newSecret("ask", tenantId, id);
      asking = cookie.text.reveal();
      const bound = kind === "link" ? { browserHash: cookie.hash } : {};
      const details = { memberId: ownerId, hashes: [hash.toString("hex")] };
      beginSignIn(tenantTransaction(tx, keys), { method: kind, id, ...bound }, details);
      return text.reveal();
    });
  const redeemed = (text: string, cookie: Cookie) =>
    takeSignInLink({ tenants: vault.tenants, onRefused: () => {} }, text, visitWith(cookie)).then(
      ({ kind }) => kind,
      (error: unknown) => (error instanceof Error && "code" in error ? String(error.code) : "thrown"),
    );

  it.each([
    ["link", "of the asking browser", "signed_in"],
    ["link", "of another browser", "permission_denied"],
    ["link", "none", "permission_denied"],
    ["operator", "none", "signed_in"],
    ["operator", "of another browser", "signed_in"],
    ["passkey", "none", "validation_failed"],
  ] as const)("begun as %s, with the cookie %s, ends in: %s", async (kind, cookie, outcome) => {
    expect(await redeemed(await link(kind), cookie)).toBe(outcome);
  });

  it.each([
    ["once", ["of the asking browser", "of the asking browser"], ["signed_in", "validation_failed"]],
    ["also after another browser tried", ["none", "of the asking browser"], ["permission_denied", "signed_in"]],
  ] as const)("works %s", async (_, cookies, outcomes) => {
    const text = await link("link");
    const seen: string[] = [];
    for (const cookie of cookies) seen.push(await redeemed(text, cookie));
    expect(seen).toEqual(outcomes);
  });

  it("does not work with the secret of another one of the same request", async () => {
    const text = await link("operator");
    const id = await run(async (tx) =>
      beginSignIn(tenantTransaction(tx, keys), { method: "operator" }, { memberId: ownerId, hashes: [] }),
    );
    expect(await redeemed(newSecret("lnk", tenantId, id).text.reveal(), "none")).toBe("validation_failed");
    expect(await redeemed(`${text}x`, "none")).toBe("validation_failed");
    expect(await redeemed(text.replace(/^lnk/, "sgn"), "none")).toBe("validation_failed");
    expect(await redeemed(text, "none")).toBe("signed_in");
  });
});

it("a member's first mail is sent, though somebody asked for the address before it was a member's", async () => {
  const email = "later@example.com";
  const asks = () =>
    run(async (raw) => {
      const tx = tenantTransaction(raw, keys);
      const names = { id: newUuid(), hash: Buffer.alloc(32), mailKey: sharedMailKey(keys, { email }, tx.now) };
      return beginLinkSignIn(tx, names, { email, address: "", client: "", hashes: [] });
    });
  expect(await asks()).toBe(true);
  const owner = await signedIn(tenantId, "owner@example.com");
  const invited = await owner.call("InvitationService/CreateInvitation", { email, role: "AUDITOR" });
  const invitationId = parseUuid(String(invited.body.id));
  if (!invitationId) throw new Error(`there is no invitation: ${invited.status}`);
  await acceptInvitation(tenantId, invitationId);
  expect(await asks()).toBe(true);
});
