import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import { newMember } from "../../support/member.js";
import { logInAtIssuer, OidcIssuer } from "../../support/oidc-issuer.js";
import { addPasskey, callPasskeys, confirmInVault } from "../../support/passkeys.js";
import { type ServerHere, startServerHere } from "../../support/server-here.js";
import { SoftwareAuthenticator } from "../../support/software-authenticator.js";
import { newTenant, type TestTenant } from "../../support/tenant.js";
import { signedIn, TestBrowser } from "../../support/test-browser.js";
import { HeldRows, SEVERAL_AT_ONCE } from "../support/held-rows.js";

/*
 * Requests of people that meet others at a certain step. test/e2e/power/races.test.ts searches for more of them.
 */

let issuer: OidcIssuer;
let server: ServerHere;
let database: HeldRows;
let tenant: TestTenant;
beforeAll(async () => {
  issuer = await OidcIssuer.open();
  server = await startServerHere({ ...issuer.settings, ...SEVERAL_AT_ONCE });
  issuer.serve(server.url);
  database = new HeldRows(server.vault);
});
beforeEach(async () => {
  tenant = await newTenant(server.url, server.environment);
});
afterAll(async () => {
  await database?.[Symbol.asyncDispose]();
  await server?.[Symbol.asyncDispose]();
  issuer?.close();
});

const member = (role: "ADMIN" | "AUDITOR") => newMember(tenant, role, server.environment);
const signIn = (email: string) => signedIn(tenant.id, email, server.url, server.environment);
const authenticator = () => new SoftwareAuthenticator(server.url.replace("127.0.0.1", "localhost"));

/** On a busy machine a request waits for the held rows for longer than the server lets it, which is refused with 503. */
const BUSY = 503;

/** Two accounts with the address of one member, who come back from the issuer at the same moment. */
async function twoAccountsReturn(): Promise<readonly number[]> {
  const email = await member("AUDITOR");
  const returning = async (account: string) => {
    issuer.accounts.set(account, { email });
    const browser = new TestBrowser(server.url);
    const { body } = await browser.call("SignInService/BeginOpenIdSignIn", { tenantId: tenant.id });
    const back = await logInAtIssuer(server.url, body.authorizationUrl, account);
    return async () => (await browser.open(back)).status;
  };
  const accounts = [await returning(`a-colleague-of-${email}`), await returning(`somebody-else-than-${email}`)];
  return (await database.race(tenant.id, "members", accounts)).toSorted();
}

it("two accounts at the issuer with the address of a member are not both bound, also at the same moment", async () => {
  let statuses = await twoAccountsReturn();
  while (statuses.includes(BUSY)) statuses = await twoAccountsReturn();
  expect(statuses).toEqual([200, 403]);
});

/** Changes rights of an application that has nothing to do with people. */
async function changeRights(): Promise<void> {
  const { id } = await tenant.application({ type: "private", permissions: ["token:create"] });
  const body = { name: "A", permissions: ["token:read"] };
  expect((await tenant.manage("PUT", `/applications/${id}`, { body })).status).toBe(200);
}

it("a proof and a new passkey are accepted while the rights of others change", async () => {
  const browser = await signIn(await member("ADMIN"));
  const own = authenticator();
  const { body: added } = await addPasskey(browser, own);
  await confirmInVault(tenant, added.id, server.environment);
  const check = (await callPasskeys(browser, "BeginPasskeyCheck")).body;
  const proof = { challengeId: check.challengeId, credential: own.prove(check.options) };
  const served = async (method: "FinishPasskeyCheck" | "FinishPasskeyRegistration", body: object) => {
    let { status } = await callPasskeys(browser, method, body);
    while (status === BUSY) ({ status } = await callPasskeys(browser, method, body));
    return status;
  };
  const prove = () => served("FinishPasskeyCheck", proof);
  const changed = async () => {
    await changeRights();
    return 200;
  };
  // The challenge is used up by then.
  expect(await database.race(tenant.id, "sign_in_requests", [prove, changed])).toEqual([200, 200]);

  const begun = (await callPasskeys(browser, "BeginPasskeyRegistration")).body;
  const credential = authenticator().register(begun.options);
  const registration = { challengeId: begun.challengeId, credential, name: "Another" };
  const add = () => served("FinishPasskeyRegistration", registration);
  expect(await database.race(tenant.id, "sign_in_requests", [add, changed])).toEqual([200, 200]);
  const { body: log } = await tenant.manage("GET", "/logs?size=100");
  expect(log.data.filter(({ outcome }: { outcome: string }) => outcome !== "allowed")).toEqual([]);
});
