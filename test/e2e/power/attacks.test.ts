import { beforeEach, describe, expect, it } from "vitest";
import type { Role } from "../../../src/access/role.js";
import { newMember } from "../../support/member.js";
import { addPasskey, callPasskeys, memberWithPasskey, passkeyOrigin, provePasskey } from "../../support/passkeys.js";
import { SoftwareAuthenticator } from "../../support/software-authenticator.js";
import { newTenant, type TestTenant } from "../../support/tenant.js";
import { operatorLink, signedIn, TestBrowser } from "../../support/test-browser.js";
import { acceptAs, newWorld } from "./world.js";

const INVITE = "InvitationService/CreateInvitation";
const UPDATE = "MemberService/UpdateMember";
const CREATE = "ApplicationService/CreateApplication";
const REASON = { headers: { "X-Cloakroom-Reason": "an attack" } };

let tenant: TestTenant;
beforeEach(async () => {
  tenant = await newTenant();
  await tenant.manage("PUT", "/tenants/self", { body: { name: "T", settings: { reveal_to_people: "true" } } });
});

const weak = async (role: Role) => signedIn(tenant.id, await newMember(tenant, role));
const idOf = async (browser: TestBrowser): Promise<string> =>
  (await browser.call("SignInService/WhoAmI")).body.memberId;

describe("an ADMIN without a second factor", () => {
  it("neither invites an ADMIN nor makes one", async () => {
    const thief = await weak("ADMIN");
    const invited = await thief.call(INVITE, { email: "thief@example.com", role: "ADMIN" });
    expect(invited).toMatchObject({ status: 403, body: { message: expect.stringContaining("needs a second factor") } });
    expect((await thief.call(INVITE, { email: "thief@example.com" })).status).toBe(403);
    const id = await idOf(await weak("DEVELOPER"));
    const promoted = await thief.call(UPDATE, { id, role: "ADMIN" });
    expect(promoted).toMatchObject({
      status: 403,
      body: { message: expect.stringContaining("needs a second factor") },
    });
    const { body } = await tenant.manage("GET", "/logs?entity_type=member&size=20");
    expect(body.data).toContainEqual(
      expect.objectContaining({ message: "Member refused: give the role ADMIN", outcome: "denied" }),
    );
  });

  it("neither sends the invitation of an ADMIN again nor changes, removes or resets one", async () => {
    const thief = await weak("ADMIN");
    const body = { email: "real@example.com", role: "ADMIN" };
    const { body: invitation } = await tenant.manage("POST", "/tenants/self/invitations", { body });
    const id = await idOf(await weak("ADMIN"));
    for (const [operation, sent] of [
      ["InvitationService/ResendInvitation", { id: invitation.id }],
      [UPDATE, { id, role: "DEVELOPER" }],
      ["MemberService/DeleteMember", { id }],
      ["PasskeyService/ResetPasskeys", { memberId: id }],
    ] as const) {
      const refused = await thief.call(operation, sent);
      expect(refused.status, operation).toBe(403);
      expect(refused.body.message).toContain("needs a second factor");
    }
  });

  it("may still invite and change AUDITORs and DEVELOPERs, but assigns no containers", async () => {
    const admin = await weak("ADMIN");
    for (const role of ["AUDITOR", "DEVELOPER"]) {
      expect((await admin.call(INVITE, { email: `${role}@example.com`, role })).status).toBe(200);
    }
    const id = await idOf(await weak("DEVELOPER"));
    expect((await admin.call(UPDATE, { id, role: "DEVELOPER", containers: ["/test/"] })).status).toBe(403);
    expect((await admin.call(UPDATE, { id, role: "AUDITOR" })).status).toBe(200);
  });
});

describe.each(["OWNER", "ADMIN"] as const)("%s without a second factor", (role) => {
  it.each([
    ["reveal_to_people", "true"],
    ["fingerprint_tokens", "true"],
    ["deduplicate_tokens", "true"],
    ["record_log_reads", "false"],
    ["disable_ephemeral_proxy", "false"],
  ])("does not set %s to %s, and sets it the other way", async (name, loose) => {
    const strict = loose === "true" ? "false" : "true";
    const set = (value: string) => ({ name: "T", settings: { [name]: value } });
    await tenant.manage("PUT", "/tenants/self", { body: set(strict) });
    const thief = role === "OWNER" ? await signedIn(tenant.id, "owner@example.com") : await weak(role);
    const refused = await thief.call("TenantService/UpdateTenant", set(loose));
    expect(refused).toMatchObject({ status: 403, body: { message: expect.stringContaining(`Switching ${name}`) } });
    const { browser } = await memberWithPasskey(tenant, "ADMIN");
    expect((await browser.call("TenantService/UpdateTenant", set(loose))).status).toBe(200);
    expect((await thief.call("TenantService/UpdateTenant", set(strict))).status).toBe(200);
  });
});

describe("a new ADMIN's first passkey", () => {
  it("signs in, and gives no power until the OWNER confirms it", async () => {
    const backEnd = await tenant.backEnd();
    const { body: token } = await backEnd("POST", "/tokens", { body: { type: "token", data: "a secret value" } });
    const { browser: admin } = await memberWithPasskey(tenant, "ADMIN");
    const email = "new@example.com";
    const { body: invitation } = await admin.call(INVITE, { email, role: "ADMIN" });
    const beganAt = Date.now();
    const joined = await acceptAs(tenant, invitation.id, email);
    const { body: passkeys } = await callPasskeys(joined.browser, "ListPasskeys");
    expect(Date.parse(passkeys.data[0].countsFrom)).toBeGreaterThanOrEqual(beganAt + 24 * 3_600_000);
    const refusals = [
      await joined.browser.call("RevealService/RevealToken", { id: token.id }, REASON),
      await joined.browser.call(CREATE, { name: "A", type: "management", permissions: ["log:read"] }),
      await joined.browser.call(INVITE, { email: "next@example.com", role: "ADMIN" }),
    ];
    expect(refusals.map(({ status }) => status)).toEqual([403, 403, 403]);
    const check = await callPasskeys(joined.browser, "BeginPasskeyCheck");
    expect(check.body.message).toContain("once the OWNER has confirmed it");

    expect((await callPasskeys(admin, "ConfirmPasskey", { id: passkeys.data[0].id })).status).toBe(403);
    const owner = await signedIn(tenant.id, "owner@example.com");
    await addPasskey(owner, new SoftwareAuthenticator(passkeyOrigin()));
    const { body: waiting } = await callPasskeys(owner, "ListPasskeys", { waiting: true });
    expect(waiting.data).toMatchObject([{ id: passkeys.data[0].id, memberId: joined.memberId }]);
    expect((await callPasskeys(owner, "ConfirmPasskey", { id: passkeys.data[0].id })).status).toBe(200);
    expect((await callPasskeys(owner, "ListPasskeys", { waiting: true })).body.data ?? []).toEqual([]);
  });

  it("waits again after a reset, and so does a second one that is added meanwhile", async () => {
    const { browser, email } = await memberWithPasskey(tenant, "ADMIN");
    const { browser: other } = await memberWithPasskey(tenant, "ADMIN");
    expect((await other.call("PasskeyService/ResetPasskeys", { memberId: await idOf(browser) })).status).toBe(200);
    const again = await signedIn(tenant.id, email);
    const authenticator = new SoftwareAuthenticator(passkeyOrigin());
    expect((await addPasskey(again, authenticator)).body.countsFrom).toBeDefined();
    expect((await addPasskey(again, new SoftwareAuthenticator(passkeyOrigin()))).body.countsFrom).toBeDefined();
    expect((await again.call("SignInService/WhoAmI")).body.strongUntil).toBeUndefined();
    expect((await callPasskeys(again, "BeginPasskeyCheck")).status).toBe(400);
    const fresh = new TestBrowser();
    await fresh.call("SignInService/TakeSignInLink", { link: await operatorLink(tenant.id, email) });
    const signedInAgain = await provePasskey(fresh, authenticator, "SignIn");
    expect(signedInAgain.status).toBe(200);
    expect(signedInAgain.body.strongUntil).toBeUndefined();
  });
});

describe("a DEVELOPER", () => {
  it.each([
    ["deletes", { type: "private", permissions: ["token:delete"] }],
    ["reads masks", { type: "private", permissions: ["token:read"] }],
    ["overwrites", { type: "public", permissions: ["token:update"] }],
    [
      "redacts",
      {
        ...{ type: "private" },
        rules: [{ priority: 1, container: "/", transform: "redact", permissions: ["token:update"] }],
      },
    ],
  ])("makes no application that %s on all containers", async (_, definition) => {
    for (const developer of [await weak("DEVELOPER"), (await memberWithPasskey(tenant, "DEVELOPER")).browser]) {
      const refused = await developer.call(CREATE, { name: "A", ...definition });
      expect(refused.status).toBe(403);
      expect(refused.body.message).toContain("outside of the containers assigned to you");
    }
  });

  it("makes one within the containers that an ADMIN with a second factor has assigned, until they are taken", async () => {
    const developer = await weak("DEVELOPER");
    const id = await idOf(developer);
    const { browser: admin } = await memberWithPasskey(tenant, "ADMIN");
    const { email } = (await developer.call("SignInService/WhoAmI")).body;
    const assigned = await admin.call(UPDATE, { id, role: "DEVELOPER", containers: ["/Test/", "/test/"] });
    expect(assigned).toMatchObject({ status: 200, body: { containers: ["/test/"] } });
    expect((await developer.call("SignInService/WhoAmI")).status).toBe(401);
    const again = await signedIn(tenant.id, email);
    const draft = (container: string) => ({
      ...{ name: "A", type: "private" },
      rules: [{ priority: 1, container, transform: "mask", permissions: ["token:read", "token:delete"] }],
    });
    const made = await again.call(CREATE, draft("/test/a/"));
    expect(made.status).toBe(200);
    expect((await again.call(CREATE, draft("/pci/"))).status).toBe(403);
    expect((await admin.call(UPDATE, { id, role: "DEVELOPER" })).status).toBe(200);
    const last = await signedIn(tenant.id, email);
    expect((await last.call("ApplicationKeyService/CreateApplicationKey", { id: made.body.id })).status).toBe(403);
  });

  it("is assigned neither the root nor containers with another role", async () => {
    const { browser: admin } = await memberWithPasskey(tenant, "ADMIN");
    for (const sent of [
      { role: "DEVELOPER", containers: ["/"] },
      { role: "DEVELOPER", containers: ["test"] },
      { role: "AUDITOR", containers: ["/test/"] },
    ]) {
      const refused = await admin.call(INVITE, { email: "d@example.com", ...sent });
      expect(refused.status, JSON.stringify(sent)).toBe(400);
    }
  });
});

describe("an ADMIN with a second factor", () => {
  it("makes no key that deletes the tenant, which only the OWNER may", async () => {
    const { browser } = await memberWithPasskey(tenant, "ADMIN");
    const definition = { name: "A", type: "management", permissions: ["tenant:delete"] };
    const refused = await browser.call(CREATE, definition);
    expect(refused).toMatchObject({ status: 403, body: { message: expect.stringContaining("tenant:delete") } });
  });
});

describe("the key of a proxy that acts as an application", () => {
  it("is shown to people with a second factor only", async () => {
    const world = await newWorld({ role: "ADMIN", hasSecondFactor: false, containers: [] });
    const [actor] = world.people;
    const seen = await actor?.browser.call("ProxyService/GetProxy", { id: world.strong.proxy });
    expect(seen).toMatchObject({ status: 200 });
    expect(seen?.body.key).toBeUndefined();
    const { browser } = await memberWithPasskey(world.tenant, "ADMIN");
    expect((await browser.call("ProxyService/GetProxy", { id: world.strong.proxy })).body.key).toMatch(/^key_/);
  });

  it("is not in the response to another name, which needs no second factor", async () => {
    const { body: reactor } = await tenant.manage("POST", "/reactors", {
      body: { name: "R", code: "module.exports = async () => ({ raw: {} });" },
    });
    const destination = "https://example.com";
    const proxy = { name: "P", destination_url: destination, request_reactor_id: reactor.id };
    const { body: made } = await tenant.manage("POST", "/proxies", { body: proxy });
    const renamed = { id: made.id, name: "Another name", destinationUrl: destination, requestReactorId: reactor.id };
    const seen = await (await weak("ADMIN")).call("ProxyService/ReplaceProxy", renamed);
    expect(seen).toMatchObject({ status: 200, body: { name: "Another name" } });
    expect(seen.body.key).toBeUndefined();
    const { browser } = await memberWithPasskey(tenant, "ADMIN");
    expect((await browser.call("ProxyService/ReplaceProxy", renamed)).body.key).toMatch(/^key_/);
  });
});
