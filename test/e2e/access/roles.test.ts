import type { DescMethod } from "@bufbuild/protobuf";
import { beforeAll, describe, expect, it } from "vitest";
import { ROLES, type Role } from "../../../src/access/role.js";
import { SERVICES } from "../../../src/server/served-services.js";
import { allowedOperations, operationName, readMethodRoles } from "../../../src/services/method-roles.js";
import { newMember } from "../../support/member.js";
import { openShop } from "../../support/payments.js";
import { newTenant, type TestTenant } from "../../support/tenant.js";
import { signedIn, type TestBrowser } from "../../support/test-browser.js";
import { withoutIds } from "../../support/without-ids.js";

let tenant: TestTenant;
const browsers = new Map<Role, TestBrowser>();

function as(role: Role): TestBrowser {
  const browser = browsers.get(role);
  if (!browser) throw new Error(`no ${role} is signed in`);
  return browser;
}

beforeAll(async () => {
  tenant = await newTenant();
  for (const role of ROLES) {
    const email = role === "OWNER" ? "owner@example.com" : await newMember(tenant, role);
    browsers.set(role, await signedIn(tenant.id, email));
  }
});

const METHODS: readonly DescMethod[] = SERVICES.flatMap(({ methods }) => methods);
/** Those for which a person signs in, and the one that would end the sign-in of the test. */
const UNTRIED = [
  ...["GetSignInMethods", "AskForSignInLink", "TakeSignInLink", "BeginOpenIdSignIn"],
  ...["BeginPasskeySignIn", "FinishPasskeySignIn", "BeginDeviceSignIn", "EndDeviceSignIn", "SignOut"],
];

const HOW_TO_PROVE = "confirm with a passkey, or sign in again at an issuer that proves one.";

describe("each operation", () => {
  it("has a cell in the table of roles", () => {
    for (const method of METHODS) expect(() => readMethodRoles(method)).not.toThrow();
  });

  it.each(ROLES)("is allowed or refused for %s as the table says", async (role) => {
    for (const method of METHODS.filter(({ name, methodKind }) => !UNTRIED.includes(name) && methodKind === "unary")) {
      const { roles, needsSecondFactor } = readMethodRoles(method);
      const { status, body } = await as(role).call(operationName(method), {});
      const said = `${operationName(method)} ${status} ${body.message}`;
      if (!roles.includes(role)) {
        expect(status, said).toBe(403);
        expect(said).toContain(`Your role ${role} may not call ${operationName(method)}; `);
        for (const other of roles) expect(body.message).toContain(other);
      } else if (needsSecondFactor) {
        expect(said).toContain(`${operationName(method)} needs a second factor: ${HOW_TO_PROVE}`);
      } else {
        expect(said).not.toContain("Your role");
        expect([401, 500], said).not.toContain(status);
      }
    }
  });

  it.each(ROLES)("that is a stream is allowed or refused for %s as the table says", async (role) => {
    const streams = METHODS.filter(({ methodKind }) => methodKind === "server_streaming");
    expect(streams.map(({ name }) => name)).toEqual(["ExportTokens", "FollowLogs"]);
    for (const method of streams) {
      const { code, message } = await as(role).callStream(operationName(method));
      if (readMethodRoles(method).roles.includes(role)) expect(code, message).toBeUndefined();
      else {
        expect(code).toBe("permission_denied");
        expect(message).toContain(`Your role ${role} may not call ${operationName(method)}; `);
      }
    }
  });

  it.each(ROLES)("that is allowed for %s is in the response of WhoAmI", async (role) => {
    const { body } = await as(role).call("SignInService/WhoAmI");
    expect(body.operations).toEqual(allowedOperations(role, SERVICES));
  });

  it("leaves a row of the user when it is refused, and when it is done", async () => {
    const { body: who } = await as("AUDITOR").call("SignInService/WhoAmI");
    await as("AUDITOR").call("TokenService/CreateToken", {});
    const { body } = await tenant.manage("GET", `/logs?entity_id=${who.memberId}&entity_type=member&size=50`);
    expect(body.data).toContainEqual(
      expect.objectContaining({
        actor_type: "user",
        actor_id: who.userId,
        message: "Member refused: TokenService/CreateToken",
      }),
    );
  });
});

const CARD = { type: "card", data: { number: "4242424242424242", expiration_month: 12, expiration_year: 2030 } };

describe("a value", () => {
  it("is masked for OWNER and ADMIN, and hidden from an AUDITOR", async () => {
    const backEnd = await tenant.backEnd();
    const { body: token } = await backEnd("POST", "/tokens", { body: CARD });
    for (const role of ["OWNER", "ADMIN", "AUDITOR"] as const) {
      const read = await as(role).call("TokenService/GetToken", { id: token.id });
      expect(read.status).toBe(200);
      const listed = await as(role).call("TokenService/ListTokensByCursor", {});
      const shown = [read.body, ...listed.body.data];
      const text = withoutIds(shown);
      expect(text).not.toContain("4242424242424242");
      expect(text.includes("4242")).toBe(role !== "AUDITOR");
      expect(shown.map(({ id }) => id)).toEqual([token.id, token.id]);
    }
    expect((await as("DEVELOPER").call("TokenService/GetToken", { id: token.id })).status).toBe(403);
  });

  it("is in no payment that an AUDITOR reads", async () => {
    const shop = await openShop([], tenant);
    const paid = await shop.pay();
    expect(paid.body.payment_method).toMatchObject({ label: "4242", details: { bin: "42424242" } });
    const read = async (role: Role) => {
      const one = await as(role).call("TransactionService/GetTransaction", { id: paid.body.id });
      const list = await as(role).call("TransactionService/ListTransactions", {});
      expect(list.body.data).toHaveLength(1);
      return [one.body, ...list.body.data];
    };
    expect(withoutIds(await read("OWNER"))).toContain("4242");
    const seen = await read("AUDITOR");
    expect(withoutIds(seen)).not.toContain("4242");
    for (const { paymentMethod } of seen) {
      expect(paymentMethod).toMatchObject({ token: paid.body.payment_method.token, scheme: "visa" });
      expect(paymentMethod.expirationDate).toBeUndefined();
    }
  });

  it("is not found out by a mask, a search index or a fingerprint that a person writes", async () => {
    const backEnd = await tenant.backEnd();
    const { body: token } = await backEnd("POST", "/tokens", { body: { type: "token", data: "a-secret-value" } });
    const masked = { id: token.id, mask: "{{ data }}", updateMask: "mask" };
    expect((await as("OWNER").call("TokenService/UpdateToken", masked)).status).toBe(200);
    const { body } = await as("OWNER").call("TokenService/GetToken", { id: token.id });
    expect(JSON.stringify(body)).not.toContain("a-secret-value");
  });
});

describe("people do not go around their role", () => {
  const RULE = { priority: 1, container: "/", transform: "reveal", permissions: ["token:read"] };

  it.each([
    ["a rule that reveals", { type: "private", rules: [RULE] }],
    ["token:use", { type: "private", permissions: ["token:use"] }],
    ["management", { type: "management", permissions: ["application:create"] }],
    ["captures", { type: "private", permissions: ["orchestration:transaction:capture"] }],
  ])("with an application with %s", async (_, definition) => {
    for (const role of ["OWNER", "ADMIN", "DEVELOPER"] as const) {
      const { status, body } = await as(role).call("ApplicationService/CreateApplication", {
        name: "A",
        ...definition,
      });
      expect(status).toBe(403);
      expect(body.message).toContain("second factor");
      expect(body.message.endsWith(HOW_TO_PROVE), role).toBe(role !== "DEVELOPER");
    }
    const creating = { name: "A", type: "private", permissions: ["token:create"] };
    expect((await as("DEVELOPER").call("ApplicationService/CreateApplication", creating)).status).toBe(200);
    const masked = { ...creating, permissions: ["token:create", "token:read", "3ds:session:create"] };
    expect((await as("ADMIN").call("ApplicationService/CreateApplication", masked)).status).toBe(200);
  });

  it("with an application that may write the mask by which it then reads", async () => {
    const rights = [
      { permissions: ["token:read", "token:update"] },
      { rules: [{ priority: 1, container: "/", transform: "mask", permissions: ["token:read", "token:update"] }] },
    ];
    for (const role of ["OWNER", "ADMIN", "DEVELOPER"] as const) {
      for (const given of rights) {
        const definition = { name: "A", type: "private", ...given };
        const { status, body } = await as(role).call("ApplicationService/CreateApplication", definition);
        expect(status).toBe(403);
        expect(body.message).toContain(role === "DEVELOPER" ? "outside of the containers" : "token:update");
      }
    }
    const rule = (permissions: string[], transform: string) => ({
      priority: 1,
      container: "/",
      transform,
      permissions,
    });
    const allowed = [
      { type: "public", permissions: ["token:create", "token:update"] },
      { type: "private", rules: [rule(["token:update"], "redact"), { ...rule(["token:read"], "mask"), priority: 2 }] },
    ];
    for (const given of allowed) {
      const { status } = await as("ADMIN").call("ApplicationService/CreateApplication", { name: "A", ...given });
      expect(status).toBe(200);
    }
  });

  it("with a new key, a proxy, a reactor or a formula of an application that sees values", async () => {
    const strong = await tenant.backEnd();
    const application = { id: strong.id };
    const { body: reactor } = await tenant.manage("POST", "/reactors", {
      body: { name: "R", code: "module.exports = async () => ({ raw: 1 });", application },
    });
    const { body: proxy } = await tenant.manage("POST", "/proxies", {
      body: { name: "P", destination_url: "https://example.com", application },
    });
    const own = { name: "P", destinationUrl: "https://example.com" };
    const code = "module.exports = async () => ({ raw: 1 });";
    const { body: formula } = await tenant.manage("POST", "/reactor-formulas", {
      body: { name: "F", type: "private", code },
    });
    const ofFormula = { body: { name: "R", formula: { id: formula.id }, application } };
    expect((await tenant.manage("POST", "/reactors", ofFormula)).status).toBe(201);
    const changedFormula = { id: formula.id, name: "F", type: "private", code: "module.exports = async () => 2;" };
    for (const role of ["OWNER", "ADMIN", "DEVELOPER"] as const) {
      const refusals = [
        await as(role).call("ReactorFormulaService/ReplaceReactorFormula", changedFormula),
        await as(role).call("ApplicationKeyService/CreateApplicationKey", { id: strong.id }),
        await as(role).call("ApplicationService/RegenerateApplicationKey", { id: strong.id }),
        await as(role).call("ProxyService/CreateProxy", { ...own, application }),
        await as(role).call("ProxyService/CreateProxy", { ...own, requestReactorId: reactor.id }),
        await as(role).call("ProxyService/UpdateProxy", {
          id: proxy.id,
          destinationUrl: "https://evil.example",
          updateMask: "destinationUrl",
        }),
        await as(role).call("ReactorService/UpdateReactor", {
          id: reactor.id,
          code: "module.exports = async () => 2;",
          updateMask: "code",
        }),
      ];
      for (const { body } of refusals) expect(body.message).toMatch(/second factor|you created/);
      expect(
        refusals.map(({ status }) => status),
        role,
      ).toEqual(refusals.map(() => 403));
    }
    expect((await as("DEVELOPER").call("ProxyService/CreateProxy", own)).status).toBe(200);
  });

  it("with a formula that reactors use, which a second factor does not let a DEVELOPER change", async () => {
    const draft = { name: "F", type: "private", code: "module.exports = async () => ({ raw: 1 });" };
    const { body: formula } = await as("DEVELOPER").call("ReactorFormulaService/CreateReactorFormula", draft);
    const reactor = { name: "R", formula: { id: formula.id } };
    expect((await tenant.manage("POST", "/reactors", { body: reactor })).status).toBe(201);
    const change = async (role: Role) => {
      const { body } = await as(role).call("ReactorFormulaService/ReplaceReactorFormula", { id: formula.id, ...draft });
      return body.message;
    };
    expect(await change("DEVELOPER")).toBe(
      "Your role DEVELOPER may not change a formula that reactors use; OWNER and ADMIN may, with a second factor.",
    );
    expect(await change("ADMIN")).toBe(`Changing a formula that reactors use needs a second factor: ${HOW_TO_PROVE}`);
  });

  it("as DEVELOPERs who delete what others created", async () => {
    const { body: proxy } = await tenant.manage("POST", "/proxies", {
      body: { name: "P", destination_url: "https://example.com", configuration: { API_KEY: "partner-secret" } },
    });
    const refused = await as("DEVELOPER").call("ProxyService/DeleteProxy", { id: proxy.id });
    expect(refused).toMatchObject({ status: 403, body: { message: expect.stringContaining("OWNER and ADMIN may") } });
    for (const role of ROLES) {
      const { body } = await as(role).call("ProxyService/GetProxy", { id: proxy.id });
      expect(body.configuration).toEqual({ API_KEY: "" });
      expect(body.key === undefined || body.key === "").toBe(role === "AUDITOR" || role === "DEVELOPER");
    }
    const own = await as("DEVELOPER").call("ProxyService/CreateProxy", {
      name: "P",
      destinationUrl: "https://example.com",
    });
    expect(own.body.key).toMatch(/^key_prod_prx_/);
    expect((await as("DEVELOPER").call("ProxyService/DeleteProxy", { id: own.body.id })).status).toBe(200);
    expect((await as("ADMIN").call("ProxyService/DeleteProxy", { id: proxy.id })).status).toBe(200);
  });

  it("as DEVELOPERs who change what others created", async () => {
    const code = "module.exports = async () => ({ raw: 1 });";
    const permissions = ["token:create"];
    const make = async (path: string, body: object) => (await tenant.manage("POST", path, { body })).body.id;
    const proxy = await make("/proxies", { name: "P", destination_url: "https://example.com" });
    const reactor = await make("/reactors", { name: "R", code });
    const formula = await make("/reactor-formulas", { name: "F", type: "private", code });
    const shop = await make("/applications", { name: "A", type: "public", permissions });
    const evil = { name: "P", destinationUrl: "https://evil.example" };
    const changes = (from: Record<"proxy" | "reactor" | "formula" | "shop", string>): [string, object][] => [
      ["ProxyService/UpdateProxy", { id: from.proxy, ...evil, updateMask: "destinationUrl" }],
      ["ProxyService/ReplaceProxy", { id: from.proxy, ...evil }],
      ["ReactorService/UpdateReactor", { id: from.reactor, code, updateMask: "code" }],
      ["ReactorService/ReplaceReactor", { id: from.reactor, name: "R", code }],
      ["ReactorFormulaService/ReplaceReactorFormula", { id: from.formula, name: "F", type: "private", code }],
      ["ApplicationService/UpdateApplication", { id: from.shop, name: "B", permissions }],
    ];
    for (const [operation, change] of changes({ proxy, reactor, formula, shop })) {
      const { status, body } = await as("DEVELOPER").call(operation, change);
      expect({ operation, status, message: body.message }).toMatchObject({
        status: 403,
        message: expect.stringContaining("what you created"),
      });
    }
    const created = async (operation: string, body: object) => (await as("DEVELOPER").call(operation, body)).body.id;
    const own = {
      proxy: await created("ProxyService/CreateProxy", { name: "P", destinationUrl: "https://example.com" }),
      reactor: await created("ReactorService/CreateReactor", { name: "R", code }),
      formula: await created("ReactorFormulaService/CreateReactorFormula", { name: "F", type: "private", code }),
      shop: await created("ApplicationService/CreateApplication", { name: "A", type: "public", permissions }),
    };
    for (const [operation, change] of changes(own)) {
      const { status, body } = await as("DEVELOPER").call(operation, change);
      expect(status, `${operation} ${JSON.stringify(body)}`).toBe(200);
    }
  });

  it("when they change themselves or the OWNER", async () => {
    const { body: admin } = await as("ADMIN").call("SignInService/WhoAmI");
    const { body: owner } = await as("OWNER").call("SignInService/WhoAmI");
    const change = (id: string, role: string) => as("ADMIN").call("MemberService/UpdateMember", { id, role });
    expect((await change(admin.memberId, "DEVELOPER")).status).toBe(400);
    expect((await change(owner.memberId, "ADMIN")).status).toBe(400);
    expect((await change(admin.memberId, "OWNER")).status).toBe(400);
    expect((await as("ADMIN").call("MemberService/DeleteMember", { id: owner.memberId })).status).toBe(400);
    expect((await as("ADMIN").call("MemberService/DeleteMember", { id: admin.memberId })).status).toBe(400);
    const invite = (role: string) =>
      as("ADMIN").call("InvitationService/CreateInvitation", { email: `${role}@example.com`, role });
    expect((await invite("OWNER")).status).toBe(400);
    expect((await invite("DEVELOPER")).status).toBe(200);
    expect((await as("OWNER").call("SignInService/WhoAmI")).body.role).toBe("OWNER");
  });
});
