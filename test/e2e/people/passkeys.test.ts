import { beforeAll, describe, expect, inject, it } from "vitest";
import type { Role } from "../../../src/access/role.js";
import { EMPTY_CONTEXT } from "../../../src/audit/audit-context.js";
import { asServer } from "../../../src/audit/tenant-database.js";
import { isTenantId } from "../../../src/base/ids.js";
import { startSignIn } from "../../../src/people/sign-in.js";
import { memberWithAddress } from "../../../src/people/sign-in-link.js";
import { newMember } from "../../support/member.js";
import {
  addPasskey,
  callPasskeys,
  memberWithPasskey as newMemberWithPasskey,
  passkeyOrigin,
  provePasskey,
} from "../../support/passkeys.js";
import { type Forgery, SoftwareAuthenticator } from "../../support/software-authenticator.js";
import { newTenant, type TestTenant, withVault } from "../../support/tenant.js";
import { operatorLink, signedIn, TestBrowser } from "../../support/test-browser.js";

const TAKE = "SignInService/TakeSignInLink";
const WHO = "SignInService/WhoAmI";
const ORIGIN = passkeyOrigin();

let tenant: TestTenant;

const member = (role?: Role) => newMember(tenant, role);
const memberWithPasskey = (role?: Role) => newMemberWithPasskey(tenant, role);

/** A browser whose sign-in waits for a passkey. */
async function waiting(email: string): Promise<TestBrowser> {
  const browser = new TestBrowser();
  const taken = await browser.call(TAKE, { link: await operatorLink(tenant.id, email) });
  expect(taken).toMatchObject({ status: 200, body: { needsPasskey: true } });
  return browser;
}

async function messagesOf(entityType: string): Promise<readonly string[]> {
  const { body } = await tenant.manage("GET", `/logs?entity_type=${entityType}&size=100`);
  return body.data.map(({ message }: { message: string }) => message);
}

beforeAll(async () => {
  tenant = await newTenant();
});

describe("a member with a passkey", () => {
  it("is signed in by link and passkey, and by none of them alone", async () => {
    const { email, authenticator } = await memberWithPasskey("AUDITOR");
    const browser = await waiting(email);
    expect(browser.cookie("sign-in")).toBeUndefined();
    expect((await browser.call(WHO)).status).toBe(401);
    expect((await browser.call("SignInService/GetSignInMethods")).body.awaitsPasskey).toBe(true);
    const beganAt = Date.now();
    const finished = await provePasskey(browser, authenticator, "SignIn");
    expect(finished.body).toMatchObject({ role: "AUDITOR", email, hasPasskey: true });
    expect(finished.body.needsPasskey).toBeUndefined();
    const provenAt = Date.parse(finished.body.strongUntil) - 300_000;
    expect(provenAt).toBeGreaterThanOrEqual(beganAt);
    expect(provenAt).toBeLessThanOrEqual(Date.now());
    expect((await browser.call("SignInService/GetSignInMethods")).body.awaitsPasskey).toBeUndefined();
    expect((await browser.call(WHO)).body.signIn.method).toBe("operator");
    expect(await messagesOf("passkey")).toContain("Passkey used");
  });

  it("has no other sign-in left once the first passkey is added", async () => {
    const email = await member();
    const [here, there] = [await signedIn(tenant.id, email), await signedIn(tenant.id, email)];
    expect((await addPasskey(here, new SoftwareAuthenticator(ORIGIN))).status).toBe(200);
    expect((await there.call(WHO)).status).toBe(401);
    expect((await here.call(WHO)).body.hasPasskey).toBe(true);
  });

  it("lists, renames and removes passkeys, and needs none after the last", async () => {
    const { email, browser, authenticator, passkey } = await memberWithPasskey();
    const second = new SoftwareAuthenticator(ORIGIN);
    const { body: other } = await addPasskey(browser, second);
    await callPasskeys(browser, "RenamePasskey", { id: other.id, name: "In the safe </b>" });
    const listed = await callPasskeys(browser, "ListPasskeys");
    expect(listed.body.data.map(({ name }: { name: string }) => name)).toEqual(["A key", "In the safe </b>"]);
    expect((await callPasskeys(browser, "DeletePasskey", { id: passkey.id })).status).toBe(200);
    const next = await waiting(email);
    expect((await provePasskey(next, authenticator, "SignIn")).status).toBe(403);
    expect((await provePasskey(next, second, "SignIn")).status).toBe(200);
    expect((await callPasskeys(next, "DeletePasskey", { id: other.id })).status).toBe(200);
    expect((await (await signedIn(tenant.id, email)).call(WHO)).body.hasPasskey).toBeUndefined();
    expect(await messagesOf("passkey")).toEqual(
      expect.arrayContaining(["Passkey created", "Passkey updated", "Passkey deleted", "Passkey listed"]),
    );
  });

  it("cannot touch passkeys of others", async () => {
    const { browser } = await memberWithPasskey();
    const { passkey, email } = await memberWithPasskey("DEVELOPER");
    for (const [operation, body] of [
      ["RenamePasskey", { id: passkey.id, name: "x" }],
      ["DeletePasskey", { id: passkey.id }],
    ] as const) {
      expect((await callPasskeys(browser, operation, body)).status, operation).toBe(404);
    }
    const { browser: auditor } = await memberWithPasskey("AUDITOR");
    const memberId = await memberIdOf(email);
    expect((await callPasskeys(auditor, "ListPasskeys", { memberId })).status).toBe(403);
    expect((await callPasskeys(auditor, "ResetPasskeys", { memberId })).status).toBe(403);
  });
});

async function memberIdOf(email: string): Promise<string> {
  const { body } = await tenant.manage("GET", "/tenants/self/members?size=50");
  return body.data.find(({ user }: { user: { email: string } }) => user.email === email).id;
}

describe("a proof", () => {
  const FORGERIES: readonly (readonly [string, Forgery])[] = [
    ["another challenge", { challenge: Buffer.alloc(32).toString("base64url") }],
    ["another origin", { origin: "https://vault.example.net" }],
    ["another domain", { rpId: "example.net" }],
    ["no verification of the person", { isUserVerified: false }],
    ["the ceremony of a registration", { type: "webauthn.create" }],
    ["the counter of before", { counter: 1 }],
    ["an unknown credential", { credentialId: "bm8tc3VjaC1rZXk" }],
  ];

  it.each(FORGERIES)("with %s is refused, and leaves a row", async (_name, forgery) => {
    const { email, authenticator } = await memberWithPasskey();
    const browser = await waiting(email);
    expect((await provePasskey(browser, authenticator, "SignIn")).status).toBe(200);
    const hostile = await waiting(email);
    const refused = await provePasskey(hostile, authenticator, "SignIn", forgery);
    expect(refused).toMatchObject({ status: 403, body: { code: "permission_denied" } });
    expect(hostile.cookie("sign-in")).toBeUndefined();
    const { body } = await tenant.manage("GET", "/logs?entity_type=passkey&size=1");
    expect(body.data[0].message).toMatch(/^Passkey refused: (not valid|unknown passkey|counter went back)$/);
    expect((await provePasskey(hostile, authenticator, "SignIn")).status).toBe(200);
  });

  it("is accepted once, also at the same time", async () => {
    const { email, authenticator } = await memberWithPasskey();
    const browser = await waiting(email);
    const { body } = await callPasskeys(browser, "BeginPasskeySignIn");
    const proof = { challengeId: body.challengeId, credential: authenticator.prove(body.options) };
    const copies = Array.from({ length: 4 }, () => {
      const copy = new TestBrowser();
      for (const [name, value] of browser.cookies) copy.cookies.set(name, value);
      return callPasskeys(copy, "FinishPasskeySignIn", proof);
    });
    const responses = await Promise.all(copies);
    expect(responses.map(({ status }) => status).toSorted()).toEqual([200, 403, 403, 403]);
    expect((await callPasskeys(browser, "FinishPasskeySignIn", proof)).status).toBe(403);
  });

  it("is refused if it is another member's, another browser's, or for another purpose", async () => {
    const one = await memberWithPasskey();
    const other = await memberWithPasskey();
    const browser = await waiting(one.email);
    expect((await provePasskey(browser, other.authenticator, "SignIn")).status).toBe(403);
    const { body } = await callPasskeys(browser, "BeginPasskeySignIn");
    const proof = { challengeId: body.challengeId, credential: one.authenticator.prove(body.options) };
    expect((await callPasskeys(new TestBrowser(), "FinishPasskeySignIn", proof)).status).toBe(403);
    expect((await callPasskeys(await waiting(one.email), "FinishPasskeySignIn", proof)).status).toBe(403);
    const check = await callPasskeys(one.browser, "BeginPasskeyCheck");
    const checked = { challengeId: check.body.challengeId, credential: one.authenticator.prove(check.body.options) };
    expect((await callPasskeys(browser, "FinishPasskeySignIn", checked)).status).toBe(403);
    expect((await callPasskeys(other.browser, "FinishPasskeyCheck", checked)).status).toBe(403);
    expect((await callPasskeys(one.browser, "FinishPasskeyCheck", checked)).status).toBe(200);
    expect((await callPasskeys(one.browser, "FinishPasskeyCheck", checked)).status).toBe(403);
  });

  it.each(["", "{}", "null", "[]", '{"id":"a","type":"public-key","response":{}}', "x".repeat(12_001)])(
    "is a 400 that names the credential, if its form is %.40s",
    async (credential) => {
      const { browser } = await memberWithPasskey();
      const { body } = await callPasskeys(browser, "BeginPasskeyCheck");
      const refused = await callPasskeys(browser, "FinishPasskeyCheck", { challengeId: body.challengeId, credential });
      expect(refused.status).toBe(400);
      expect(JSON.stringify(refused.body)).toContain("credential");
    },
  );
});

describe("a sign-in that asks for challenges again and again", () => {
  it("is refused for a minute, and no other is", async () => {
    const { email, authenticator } = await memberWithPasskey();
    const browser = await waiting(email);
    const statuses: number[] = [];
    for (let count = 0; count < 12; count++) statuses.push((await callPasskeys(browser, "BeginPasskeySignIn")).status);
    expect(statuses).toEqual([...Array<number>(10).fill(200), 429, 429]);
    expect((await provePasskey(await waiting(email), authenticator, "SignIn")).status).toBe(200);
  });
});

/** The cookie of a new sign-in that replaces one of some hours ago, as a switch of tenants makes it. */
async function switchedSignIn(email: string, hoursAgo: number): Promise<string> {
  const { id: tenantId } = tenant;
  if (!isTenantId(tenantId)) throw new Error("not the id of a tenant");
  return await withVault(inject("serverEnvironment"), async ({ database, keyring }) => {
    const keys = await keyring.of(tenantId);
    const { token } = await asServer(database, keys).ordinary(async (tx) => {
      const found = await memberWithAddress(tx, email);
      if (!found) throw new Error(`${email} is no member`);
      const until = new Date(tx.now.getTime() + (12 - hoursAgo) * 60 * 60_000);
      const visit = { address: "127.0.0.1", client: "Firefox on Linux", context: EMPTY_CONTEXT };
      return startSignIn(tx, found, { method: "link", until }, visit);
    });
    return token.reveal();
  });
}

describe("a registration", () => {
  it.each<readonly [string, Forgery]>([
    ["another challenge", { challenge: Buffer.alloc(32).toString("base64url") }],
    ["another origin", { origin: "http://evil.localhost" }],
    ["no verification of the person", { isUserVerified: false }],
    ["a statement that would be checked elsewhere", { fmt: "packed" }],
  ])("with %s is refused", async (_name, forgery) => {
    const browser = await signedIn(tenant.id, await member());
    const refused = await addPasskey(browser, new SoftwareAuthenticator(ORIGIN), forgery);
    expect(refused).toMatchObject({ status: 400, body: { code: "invalid_argument" } });
    expect((await browser.call(WHO)).body.hasPasskey).toBeUndefined();
  });

  it("needs a sign-in of the last ten minutes if it is the first: a switch of tenants does not renew it", async () => {
    const email = await member();
    const browser = await signedIn(tenant.id, email);
    const [name = ""] = [...browser.cookies.keys()].filter((cookie) => cookie.includes("sign-in"));
    browser.cookies.set(name, await switchedSignIn(email, 11));
    expect((await browser.call(WHO)).status).toBe(200);
    const refused = await callPasskeys(browser, "BeginPasskeyRegistration");
    expect(refused.body.message).toContain("Sign in again");
    browser.cookies.set(name, await switchedSignIn(email, 0));
    expect((await addPasskey(browser, new SoftwareAuthenticator(ORIGIN))).status).toBe(200);
  });

  it("takes a credential once, also from another member", async () => {
    const { authenticator } = await memberWithPasskey();
    const browser = await signedIn(tenant.id, await member());
    expect((await addPasskey(browser, authenticator)).status).toBe(409);
  });
});

describe("passkeys that are lost", () => {
  it("are reset by an ADMIN with a second factor, which ends the member's sign-ins", async () => {
    const admin = await memberWithPasskey();
    const lost = await memberWithPasskey("DEVELOPER");
    const memberId = await memberIdOf(lost.email);
    const plain = await signedIn(tenant.id, await member());
    const refused = await callPasskeys(plain, "ResetPasskeys", { memberId });
    expect(refused.body.message).toContain("needs a second factor");
    expect((await callPasskeys(admin.browser, "ResetPasskeys", { memberId })).status).toBe(200);
    expect((await lost.browser.call(WHO)).status).toBe(401);
    expect((await (await signedIn(tenant.id, lost.email)).call(WHO)).body.role).toBe("DEVELOPER");
    expect(await messagesOf("passkey")).toContain("Passkey deleted: reset");
  });

  it("are not reset by others if they are the OWNER's", async () => {
    const admin = await memberWithPasskey();
    const { body } = await tenant.manage("GET", "/tenants/self/owner");
    expect((await callPasskeys(admin.browser, "ResetPasskeys", { memberId: body.id })).status).toBe(403);
  });
});
