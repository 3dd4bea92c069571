import { beforeAll, describe, expect, it } from "vitest";
import { PasskeyService } from "../../../gen/cloakroom/v1/passkeys_pb.js";
import { RevealService } from "../../../gen/cloakroom/v1/reveals_pb.js";
import { newMember } from "../../support/member.js";
import {
  addPasskey,
  callPasskeys,
  memberWithPasskey,
  memberWithWaitingPasskey,
  passkeyOrigin,
} from "../../support/passkeys.js";
import { SoftwareAuthenticator } from "../../support/software-authenticator.js";
import { newTenant, type TestTenant } from "../../support/tenant.js";
import { operatorLink, signedIn, TestBrowser } from "../../support/test-browser.js";

interface LogRow {
  readonly id: string;
  readonly actor_type?: string;
  readonly entity_type: string;
  readonly operation: string;
}

type Run = () => Promise<unknown>;

let tenant: TestTenant;
beforeAll(async () => {
  tenant = await newTenant();
  await tenant.manage("PUT", "/tenants/self", { body: { name: "Test", settings: { reveal_to_people: "true" } } });
});

/** A call of each method, and the rows that it leaves in the tenant's log. */
const CALLS: Readonly<Record<string, { readonly call: () => Promise<Run>; readonly rows: readonly string[] }>> = {
  BeginPasskeySignIn: {
    async call() {
      const browser = await waiting((await memberWithPasskey(tenant)).email);
      return () => callPasskeys(browser, "BeginPasskeySignIn");
    },
    rows: [],
  },
  FinishPasskeySignIn: {
    async call() {
      const { email, authenticator } = await memberWithPasskey(tenant);
      return prepared(await waiting(email), "SignIn", authenticator);
    },
    rows: ["create sign_in user", "use passkey user"],
  },
  BeginPasskeyCheck: { call: withPasskey("BeginPasskeyCheck"), rows: [] },
  FinishPasskeyCheck: {
    async call() {
      const { browser, authenticator } = await memberWithPasskey(tenant);
      return prepared(browser, "Check", authenticator);
    },
    rows: ["use passkey user"],
  },
  BeginPasskeyRegistration: { call: withPasskey("BeginPasskeyRegistration"), rows: [] },
  FinishPasskeyRegistration: {
    async call() {
      const browser = await signedIn(tenant.id, await newMember(tenant));
      const { body } = await callPasskeys(browser, "BeginPasskeyRegistration");
      const credential = new SoftwareAuthenticator(passkeyOrigin()).register(body.options);
      const { challengeId } = body;
      return () => callPasskeys(browser, "FinishPasskeyRegistration", { challengeId, credential, name: "A key" });
    },
    rows: ["create passkey user", "update member user"],
  },
  ConfirmPasskey: {
    async call() {
      const owner = await strongOwner();
      const { passkey } = await memberWithWaitingPasskey(tenant);
      return () => callPasskeys(owner, "ConfirmPasskey", { id: passkey.id });
    },
    rows: ["confirm passkey user"],
  },
  ListPasskeys: { call: withPasskey("ListPasskeys"), rows: ["list passkey user"] },
  RenamePasskey: {
    call: withPasskey("RenamePasskey", (id) => ({ id, name: "Another" })),
    rows: ["update passkey user"],
  },
  DeletePasskey: {
    call: withPasskey("DeletePasskey", (id) => ({ id })),
    rows: ["delete passkey user", "update member user"],
  },
  ResetPasskeys: {
    async call() {
      const [admin, lost] = [await memberWithPasskey(tenant), await memberWithPasskey(tenant)];
      const { memberId } = (await lost.browser.call("SignInService/WhoAmI")).body;
      return () => callPasskeys(admin.browser, "ResetPasskeys", { memberId });
    },
    rows: ["update member user", "delete passkey user"],
  },
  RevealToken: {
    async call() {
      const backEnd = await tenant.backEnd();
      const { body } = await backEnd("POST", "/tokens", { body: { type: "token", data: "a value" } });
      const { browser } = await memberWithPasskey(tenant);
      const headers = { "X-Cloakroom-Reason": "a test" };
      return () => browser.call("RevealService/RevealToken", { id: body.id }, { headers });
    },
    rows: ["read token user"],
  },
};

/** The OWNER, signed in by the operator's link: a passkey that is added there counts at once. */
async function strongOwner(): Promise<TestBrowser> {
  const browser = await signedIn(tenant.id, "owner@example.com");
  await addPasskey(browser, new SoftwareAuthenticator(passkeyOrigin()));
  return browser;
}

async function waiting(email: string): Promise<TestBrowser> {
  const browser = new TestBrowser();
  await browser.call("SignInService/TakeSignInLink", { link: await operatorLink(tenant.id, email) });
  return browser;
}

async function prepared(browser: TestBrowser, step: string, authenticator: SoftwareAuthenticator): Promise<Run> {
  const { body } = await callPasskeys(browser, `BeginPasskey${step}`);
  const proof = { challengeId: body.challengeId, credential: authenticator.prove(body.options) };
  return () => callPasskeys(browser, `FinishPasskey${step}`, proof);
}

function withPasskey(method: string, bodyOf: (passkeyId: string) => object = () => ({})) {
  return async () => {
    const { browser, passkey } = await memberWithPasskey(tenant);
    return () => callPasskeys(browser, method, bodyOf(passkey.id));
  };
}

const rowsNow = async (): Promise<LogRow[]> => (await tenant.manage("GET", "/logs?size=100")).body.data;

describe("the log rows of passkeys and reveals", () => {
  it("are listed for every method, and for no other", () => {
    const methods = [...PasskeyService.methods, ...RevealService.methods];
    expect(Object.keys(CALLS).toSorted()).toEqual(methods.map(({ name }) => name).toSorted());
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
