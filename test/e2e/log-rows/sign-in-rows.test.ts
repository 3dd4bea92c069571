import { beforeAll, describe, expect, it } from "vitest";
import { SignInService } from "../../../gen/cloakroom/v1/sign_ins_pb.js";
import { newTenant, type TestTenant } from "../../support/tenant.js";
import { operatorLink, signedIn, TestBrowser } from "../../support/test-browser.js";

interface LogRow {
  readonly id: string;
  readonly actor_type?: string;
  readonly entity_type: string;
  readonly operation: string;
}

const OWNER = "owner@example.com";

let tenant: TestTenant;
let other: TestTenant;
beforeAll(async () => {
  [tenant, other] = [await newTenant(), await newTenant()];
});

/** A call of each method, and the rows that it leaves in the tenant's log. */
const CALLS: Readonly<
  Record<string, { readonly call: () => Promise<() => Promise<unknown>>; readonly rows: string[] }>
> = {
  GetSignInMethods: { call: withStranger("GetSignInMethods"), rows: [] },
  // Its message, and whether there is one, is a matter of later.
  AskForSignInLink: { call: withStranger("AskForSignInLink", () => ({ email: OWNER, tenantId: tenant.id })), rows: [] },
  TakeSignInLink: {
    async call() {
      const link = await operatorLink(tenant.id, OWNER);
      return () => new TestBrowser().call("SignInService/TakeSignInLink", { link });
    },
    rows: ["create sign_in user"],
  },
  // The shared server has no issuer; test/e2e/people/openid.test.ts has one.
  BeginOpenIdSignIn: { call: withStranger("BeginOpenIdSignIn", () => ({ tenantId: tenant.id })), rows: [] },
  // And test/e2e/people/device-sign-in.test.ts.
  BeginDeviceSignIn: { call: withStranger("BeginDeviceSignIn", () => ({ tenantId: tenant.id })), rows: [] },
  EndDeviceSignIn: { call: withStranger("EndDeviceSignIn"), rows: [] },
  WhoAmI: { call: withPerson("WhoAmI"), rows: [] },
  SwitchTenant: { call: withPerson("SwitchTenant", () => ({ tenantId: other.id })), rows: ["delete sign_in user"] },
  ListSignIns: { call: withPerson("ListSignIns"), rows: ["list sign_in user"] },
  EndSignIn: {
    async call() {
      const [here, there] = [await signedIn(tenant.id, OWNER), await signedIn(tenant.id, OWNER)];
      const { id } = (await there.call("SignInService/WhoAmI")).body.signIn;
      return () => here.call("SignInService/EndSignIn", { id });
    },
    rows: ["delete sign_in user"],
  },
  SignOut: { call: withPerson("SignOut"), rows: ["delete sign_in user"] },
};

function withStranger(method: string, body: () => object = () => ({})) {
  return async () => () => new TestBrowser().call(`SignInService/${method}`, body());
}

function withPerson(method: string, body: () => object = () => ({})) {
  return async () => {
    const browser = await signedIn(tenant.id, OWNER);
    return () => browser.call(`SignInService/${method}`, body());
  };
}

const rowsNow = async (): Promise<LogRow[]> => (await tenant.manage("GET", "/logs?size=100")).body.data;

describe("the log rows of sign-ins", () => {
  it("are listed for every method, and for no other", () => {
    expect(Object.keys(CALLS).toSorted()).toEqual(SignInService.methods.map(({ name }) => name).toSorted());
  });

  it.each(Object.keys(CALLS))("%s leaves its rows", async (name) => {
    const expected = CALLS[name];
    if (!expected) throw new Error("no such call");
    const run = await expected.call();
    const before = new Set((await rowsNow()).map(({ id }) => id));
    await run();
    const rows = (await rowsNow()).filter(({ id }) => !before.has(id));
    const shown = rows.map(({ operation, entity_type, actor_type }) => `${operation} ${entity_type} ${actor_type}`);
    expect(shown).toEqual(expected.rows);
  });
});
