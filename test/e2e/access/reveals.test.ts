import { beforeAll, describe, expect, it } from "vitest";
import type { Role } from "../../../src/access/role.js";
import { newMember } from "../../support/member.js";
import { memberWithPasskey } from "../../support/passkeys.js";
import { newTenant, type TestTenant } from "../../support/tenant.js";
import { signedIn, type TestBrowser } from "../../support/test-browser.js";

const REVEAL = "RevealService/RevealToken";
const NUMBER = "4242424242424242";
const CARD = {
  type: "card",
  data: { number: NUMBER, expiration_month: 12, expiration_year: 2030, cvc: "987" },
};
const REASON = { headers: { "X-Cloakroom-Reason": "a chargeback, case 17" } };

let tenant: TestTenant;
let tokenId: string;

async function person(role: Role, { hasPasskey = true } = {}): Promise<TestBrowser> {
  if (hasPasskey) return (await memberWithPasskey(tenant, role)).browser;
  return signedIn(tenant.id, await newMember(tenant, role));
}

const allow = (value: string) =>
  tenant.manage("PUT", "/tenants/self", { body: { name: "Test", settings: { reveal_to_people: value } } });

beforeAll(async () => {
  tenant = await newTenant();
  const backEnd = await tenant.backEnd();
  const { body } = await backEnd("POST", "/tokens", { body: CARD });
  tokenId = body.id;
  expect((await allow("true")).status).toBe(200);
});

describe("a value in the clear", () => {
  it("is shown to an ADMIN with passkey and reason, without the code of the card", async () => {
    const browser = await person("ADMIN");
    const { status, body } = await browser.call(REVEAL, { id: tokenId }, REASON);
    expect(status, JSON.stringify(body)).toBe(200);
    expect(body.data).toEqual({ number: NUMBER, expiration_month: 12, expiration_year: 2030 });
    expect(JSON.stringify(body.data)).not.toContain("987");
    const { body: who } = await browser.call("SignInService/WhoAmI");
    const { body: log } = await tenant.manage("GET", `/logs?entity_type=token&entity_id=${tokenId}&size=1`);
    expect(log.data[0]).toMatchObject({
      ...{ actor_type: "user", actor_id: who.userId, operation: "read", outcome: "allowed", transform: "reveal" },
      reason: "a chargeback, case 17",
    });
  });

  it("stays masked in all other reads of the same person", async () => {
    const browser = await person("ADMIN");
    const responses = await Promise.all([
      browser.call("TokenService/GetToken", { id: tokenId }, REASON),
      browser.call("TokenService/ListTokensByCursor", {}, REASON),
      browser.call("TokenService/SearchTokensByCursor", { query: "type:card" }, REASON),
    ]);
    expect(JSON.stringify(responses.map(({ body }) => body))).not.toContain(NUMBER);
  });

  it("is refused without a reason, without a second factor, and to other roles", async () => {
    const browser = await person("ADMIN");
    expect((await browser.call(REVEAL, { id: tokenId })).body.message).toContain("X-Cloakroom-Reason");
    const plain = await (await person("ADMIN", { hasPasskey: false })).call(REVEAL, { id: tokenId }, REASON);
    expect(plain).toMatchObject({ status: 403, body: { message: expect.stringContaining("needs a second factor") } });
    for (const role of ["AUDITOR", "DEVELOPER"] as const) {
      const refused = await (await person(role)).call(REVEAL, { id: tokenId }, REASON);
      expect(refused).toMatchObject({ status: 403, body: { message: expect.stringContaining(`Your role ${role}`) } });
    }
    const { body: log } = await tenant.manage("GET", "/logs?outcome=denied&size=4");
    expect(log.data.length).toBe(4);
  });

  it("is refused while the tenant's setting is off, which a person turns on with a second factor only", async () => {
    const browser = await person("ADMIN");
    await allow("false");
    const refused = await browser.call(REVEAL, { id: tokenId }, REASON);
    expect(refused).toMatchObject({ status: 403, body: { message: expect.stringContaining("reveal_to_people") } });
    const change = { name: "Test", settings: { reveal_to_people: "true" } };
    const plain = await person("ADMIN", { hasPasskey: false });
    const denied = await plain.call("TenantService/UpdateTenant", change);
    expect(denied).toMatchObject({ status: 403, body: { message: expect.stringContaining("second factor") } });
    expect((await browser.call("TenantService/UpdateTenant", change)).status).toBe(200);
    expect((await browser.call(REVEAL, { id: tokenId }, REASON)).status).toBe(200);
  });

  it("is not found for a token that does not exist", async () => {
    expect((await (await person("ADMIN")).call(REVEAL, { id: "none" }, REASON)).status).toBe(404);
  });
});

describe("an ADMIN with a second factor", () => {
  it("gives an application rights to values, which a DEVELOPER may not", async () => {
    const draft = {
      ...{ name: "Charges", type: "private", permissions: [] },
      rules: [{ priority: 1, container: "/", transform: "reveal", permissions: ["token:read", "token:use"] }],
    };
    const create = async (browser: TestBrowser) => await browser.call("ApplicationService/CreateApplication", draft);
    expect((await create(await person("ADMIN"))).status).toBe(200);
    expect((await create(await person("ADMIN", { hasPasskey: false }))).status).toBe(403);
    expect((await create(await person("DEVELOPER"))).status).toBe(403);
  });
});
