import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type IssuerProof, logInAtIssuer, OidcIssuer } from "../../support/oidc-issuer.js";
import { type ServerHere, startServerHere } from "../../support/server-here.js";
import { newTenant, type TestTenant } from "../../support/tenant.js";
import { TestBrowser } from "../../support/test-browser.js";

const BEGIN = "SignInService/BeginOpenIdSignIn";
const WHO = "SignInService/WhoAmI";

let issuer: OidcIssuer;
let server: ServerHere;
let tenant: TestTenant;

beforeAll(async () => {
  issuer = await OidcIssuer.open();
  server = await startServerHere({
    ...issuer.settings,
    OPENID_SECOND_FACTOR: "amr=mfa, acr=urn:example:strong",
  });
  tenant = await newTenant(server.url, server.environment);
});
afterAll(async () => {
  await server?.[Symbol.asyncDispose]();
  issuer?.close();
});

/** Begins a sign-in and returns the issuer's page. */
async function begin(browser: TestBrowser, more: { readonly fresh?: boolean } = {}): Promise<string> {
  const { status, body } = await browser.call(BEGIN, { tenantId: tenant.id, ...more });
  if (status !== 200) throw new Error(`beginning returned ${status}: ${JSON.stringify(body)}`);
  return body.authorizationUrl;
}

/** Logs in at the issuer, and returns the address to which it sends the browser back. */
const logIn = (page: string, account: string) => logInAtIssuer(server.url, page, account);

async function invite(account: string, role = "AUDITOR"): Promise<void> {
  const body = { email: `${account}@example.com`, role };
  expect((await tenant.manage("POST", "/tenants/self/invitations", { body })).status).toBe(201);
}

describe("before the issuer runs", () => {
  it("the server starts, and says that the issuer cannot be reached", async () => {
    issuer.refuseOnce();
    const browser = new TestBrowser(server.url);
    const { body: methods } = await browser.call("SignInService/GetSignInMethods");
    expect(methods).toMatchObject({ methods: ["link", "openid"], openidIssuer: issuer.url, openidSecondFactor: true });
    const refused = await browser.call(BEGIN, { tenantId: tenant.id });
    expect(refused).toMatchObject({ status: 503, body: { code: "unavailable" } });
    issuer.serve(server.url);
  });
});

describe("a sign-in at the issuer", () => {
  it("makes an invited person a member, and finds the member again", async () => {
    await invite("ada");
    const browser = new TestBrowser(server.url);
    const page = await begin(browser);
    expect(Object.fromEntries(new URL(page).searchParams)).toMatchObject({
      ...{ response_type: "code", code_challenge_method: "S256", redirect_uri: `${server.url}/sign-in/openid` },
    });
    const back = await logIn(page, "ada");
    const landed = await browser.open(back, { "Sec-Fetch-Site": "cross-site", "Sec-Fetch-Dest": "document" });
    expect(landed.status).toBe(200);
    expect(landed.body).toContain('http-equiv="refresh" content="0;url=/console"');
    const who = await browser.call(WHO);
    expect(who.body).toMatchObject({ role: "AUDITOR", email: "ada@example.com", signIn: { method: "openid" } });

    const again = new TestBrowser(server.url);
    issuer.accounts.set("ada", { email: "married@example.com" });
    await again.open(await logIn(await begin(again), "ada"));
    expect((await again.call(WHO)).body.memberId).toBe(who.body.memberId);
  });

  it("the callback works once, in the same browser, and not for HEAD or prefetch", async () => {
    await invite("bob");
    const browser = new TestBrowser(server.url);
    const back = await logIn(await begin(browser), "bob");
    expect((await new TestBrowser(server.url).open(back)).status).toBe(403);
    expect((await browser.open(back, {}, "HEAD")).status).toBeGreaterThanOrEqual(400);
    expect((await browser.open(back, { "Sec-Purpose": "prefetch" })).status).toBe(403);
    expect((await browser.open(back)).status).toBe(200);
    expect((await browser.open(back)).status).toBe(403);
  });

  it("is refused with another state, another issuer, or the code of another sign-in", async () => {
    await invite("eve");
    const changed = async (change: (query: URLSearchParams) => void) => {
      const browser = new TestBrowser(server.url);
      const back = new URL(await logIn(await begin(browser), "eve"));
      change(back.searchParams);
      const { status } = await browser.open(back.href);
      return [status, browser.cookie("sign-in")];
    };
    expect(await changed((query) => query.set("state", "another"))).toEqual([403, undefined]);
    expect(await changed((query) => query.set("iss", "https://another.example"))).toEqual([403, undefined]);
    expect(await changed((query) => query.delete("state"))).toEqual([403, undefined]);
    const stolen = new URL(await logIn(await begin(new TestBrowser(server.url)), "eve")).searchParams.get("code") ?? "";
    // The code belongs to another PKCE verifier.
    expect(await changed((query) => query.set("code", stolen))).toEqual([403, undefined]);
  });

  it.each([
    ["whose address is not verified", { email_verified: false }],
    ["whose address is verified as a text", { email_verified: "true" }],
    ["without an address", { email: undefined }],
    ["with the address of somebody who is not invited", { email: "unknown@example.com" }],
    ["with the address of a member that another account is bound to", { email: "ada@example.com" }],
  ])("is refused for an account %s", async (what, claims) => {
    const account = `account-${what.length}`;
    issuer.accounts.set(account, claims);
    await invite(account);
    const browser = new TestBrowser(server.url);
    expect((await browser.open(await logIn(await begin(browser), account))).status).toBe(403);
    expect(browser.cookie("sign-in")).toBeUndefined();
  });

  it("is refused for a removed member", async () => {
    await invite("gone");
    const browser = new TestBrowser(server.url);
    await browser.open(await logIn(await begin(browser), "gone"));
    const { memberId } = (await browser.call(WHO)).body;
    expect((await tenant.manage("DELETE", `/tenants/self/members/${memberId}`)).status).toBe(204);
    expect((await browser.call(WHO)).status).toBe(401);
    const later = new TestBrowser(server.url);
    expect((await later.open(await logIn(await begin(later), "gone"))).status).toBe(403);
  });

  it("has a second factor if the issuer says so, for five minutes from the proof there", async () => {
    await invite("ann", "ADMIN");
    const HOUR = 3_600;
    const now = () => Math.floor(Date.now() / 1_000);
    const deleteUnknown = async (browser: TestBrowser) => {
      const { body } = await browser.call("ConnectionService/DeleteConnection", { id: crypto.randomUUID() });
      return body.code;
    };
    const signedInBy = async (proof: IssuerProof) => {
      issuer.proofs.set("ann", proof);
      const browser = new TestBrowser(server.url);
      await browser.open(await logIn(await begin(browser), "ann"));
      return browser;
    };
    const weak: IssuerProof[] = [{}, { amr: ["pwd"] }, { acr: "urn:example:weak" }, { amr: ["mfa"], ts: now() - HOUR }];
    for (const proof of weak) {
      const browser = await signedInBy(proof);
      const { role, strongUntil } = (await browser.call(WHO)).body;
      expect([role, strongUntil]).toEqual(["ADMIN", undefined]);
      expect(await deleteUnknown(browser)).toBe("permission_denied");
    }
    for (const proof of [{ amr: ["pwd", "mfa"] }, { acr: "urn:example:strong" }, { amr: ["mfa"], ts: now() + HOUR }]) {
      const beganAt = now();
      const browser = await signedInBy(proof);
      const { strongUntil } = (await browser.call(WHO)).body;
      const provenAt = Date.parse(strongUntil) / 1_000 - 5 * 60;
      expect(provenAt).toBeGreaterThanOrEqual(beganAt);
      expect(provenAt).toBeLessThanOrEqual(Date.now() / 1_000);
      expect(await deleteUnknown(browser)).toBe("not_found");
    }
  });

  it("asks for a login if the sign-in must be fresh, also where the issuer has a session", async () => {
    const parameters = async (more: object) =>
      Object.fromEntries(new URL(await begin(new TestBrowser(server.url), more)).searchParams);
    expect(await parameters({ fresh: true })).toMatchObject({
      ...{ prompt: "login", max_age: "43200", acr_values: "urn:example:strong" },
    });
    expect(await parameters({})).not.toHaveProperty("prompt");
  });

  it("keeps no value of the issuer in the log", () => {
    expect(server.said()).not.toMatch(/issuer-secret|code=|id_token|example\.com/);
  });
});
