import { callPasskeys } from "../../support/passkeys.js";
import type { RestResponse } from "../../support/rest.js";
import { TestBrowser } from "../../support/test-browser.js";
import { type RaceWorld, type RacingPerson, VALUE } from "./race-world.js";

/** Sends what was prepared. Returns whether it took effect, or showed what it asked for. */
type Send = () => Promise<boolean>;

/** Prepares one request of somebody, up to the last step. */
export type RaceMove = (world: RaceWorld) => Promise<Send>;

type Actor = (world: RaceWorld) => Promise<RacingPerson>;

const isDone = ({ status }: Pick<RestResponse, "status">) => status < 300;

/** A call of a person, whose body may need what is made first. */
function by(who: Actor, operation: string, body: (world: RaceWorld) => object | Promise<object>): RaceMove {
  return async (world) => {
    const { browser } = await who(world);
    const sent = await body(world);
    return async () => isDone(await browser.call(operation, sent));
  };
}

const owner = (world: RaceWorld) => world.owner();
const admin = (world: RaceWorld) => world.admin();
const developer = (world: RaceWorld) => world.developer();
const rule = (container: string, transform: string, permissions: readonly string[]) => [
  { priority: 1, container, transform, permissions },
];

/** A call whose response has a key. */
function makingKey(
  name: string,
  who: Actor,
  operation: string,
  body: (world: RaceWorld) => object | Promise<object>,
): RaceMove {
  return async (world) => {
    const { browser } = await who(world);
    const sent = await body(world);
    return async () => {
      const response = await browser.call(operation, sent);
      if (isDone(response)) world.keys.set(name, String(response.body.key));
      return isDone(response);
    };
  };
}

/** The last step of a proof by a passkey, or of a registration. */
async function provedBy(
  browser: TestBrowser,
  step: "SignIn" | "Check",
  { authenticator }: RacingPerson,
): Promise<Send> {
  const { body } = await callPasskeys(browser, `BeginPasskey${step}`);
  const proof = { challengeId: body.challengeId, credential: authenticator?.prove(body.options) };
  return async () => isDone(await callPasskeys(browser, `FinishPasskey${step}`, proof));
}

const adding =
  (who: Actor): RaceMove =>
  async (world) => {
    const { browser } = await who(world);
    const { body } = await callPasskeys(browser, "BeginPasskeyRegistration");
    const credential = world.authenticator().register(body.options);
    const sent = { challengeId: body.challengeId, credential, name: "A key" };
    return async () => isDone(await callPasskeys(browser, "FinishPasskeyRegistration", sent));
  };

const taking =
  (name: string, who: Actor): RaceMove =>
  async (world) => {
    const link = await world.link((await who(world)).email);
    const browser = new TestBrowser(world.server.url);
    world.browsers.set(name, browser);
    return async () => isDone(await browser.call("SignInService/TakeSignInLink", { link }));
  };

const accepting: RaceMove = async (world) => {
  const { url } = await world.invitation();
  return async () => isDone(await fetch(url, { method: "POST" }));
};

const fromIssuer =
  (name: string, email: (world: RaceWorld) => Promise<string>): RaceMove =>
  async (world) => {
    const open = await world.fromIssuer(name, await email(world));
    return async () => isDone({ status: await open() });
  };

const ofDeveloper = async (world: RaceWorld) => {
  const { id } = await world.ofDeveloper();
  return { id };
};
const memberOf = (who: Actor) => async (world: RaceWorld) => {
  const { memberId } = await who(world);
  return { id: memberId };
};

/** What the OWNER and the management key change or take. */
const CHANGES: Readonly<Record<string, RaceMove>> = {
  "the OWNER lowers the ADMIN": by(owner, "MemberService/UpdateMember", async (world) => ({
    ...(await memberOf(admin)(world)),
    role: "AUDITOR",
  })),
  "the OWNER removes the ADMIN": by(owner, "MemberService/DeleteMember", memberOf(admin)),
  "the OWNER removes the DEVELOPER": by(owner, "MemberService/DeleteMember", memberOf(developer)),
  "the OWNER takes the DEVELOPER's containers": by(owner, "MemberService/UpdateMember", async (world) => ({
    ...(await memberOf(developer)(world)),
    role: "DEVELOPER",
  })),
  "the OWNER resets the ADMIN's passkeys": by(owner, "PasskeyService/ResetPasskeys", async (world) => ({
    memberId: (await world.admin()).memberId,
  })),
  "the OWNER ends the ADMIN's sign-in": by(owner, "SignInService/EndSignIn", async (world) => {
    const { browser } = await world.admin();
    const { signIn } = (await browser.call("SignInService/WhoAmI")).body;
    return { id: signIn.id };
  }),
  "the OWNER withdraws the invitation": by(owner, "InvitationService/DeleteInvitation", async (world) => ({
    id: (await world.invitation()).id,
  })),
  "the OWNER sends the invitation again": by(owner, "InvitationService/ResendInvitation", async (world) => ({
    id: (await world.invitation()).id,
  })),
  "the OWNER withdraws the export": by(owner, "TokenExportService/DeleteTokenExport", async (world) => ({
    id: await world.askedExport(),
  })),
  "the OWNER lets the DEVELOPER's application reveal": by(
    owner,
    "ApplicationService/UpdateApplication",
    async (world) => ({
      ...(await ofDeveloper(world)),
      ...{ name: "A", rules: rule("/", "reveal", ["token:read", "token:update"]) },
    }),
  ),
  "the OWNER narrows the back end": by(owner, "ApplicationService/UpdateApplication", async (world) => ({
    ...{ id: (await world.backEnd()).id, name: "B", permissions: ["token:create"] },
  })),
  "the OWNER deletes the back end's key": by(owner, "ApplicationKeyService/DeleteApplicationKey", async (world) => {
    const { id, keyId } = await world.backEnd();
    return { id, keyId };
  }),
  "the OWNER replaces the back end's key": makingKey(
    "a new one of the back end",
    owner,
    "ApplicationService/RegenerateApplicationKey",
    async (world) => ({ id: (await world.backEnd()).id }),
  ),
  "the OWNER deletes the DEVELOPER's application": by(owner, "ApplicationService/DeleteApplication", ofDeveloper),
  "the OWNER stops showing values": by(owner, "TenantService/UpdateTenant", async (world) => {
    await world.showsValues();
    return { name: "T", settings: { reveal_to_people: "false" } };
  }),
  "the OWNER ends the session": by(owner, "SessionService/DeleteSession", async (world) => {
    await world.session();
    const { body } = await world.tenant.manage("GET", "/sessions");
    return { id: body.data[0].id };
  }),
  "a key makes the DEVELOPER an AUDITOR": async (world) => {
    const { memberId } = await world.developer();
    const body = { role: "AUDITOR" };
    return async () => isDone(await world.tenant.manage("PUT", `/tenants/self/members/${memberId}`, { body }));
  },
};

/** What others do at the same moment, to have it, to show it or to give it. */
const ACTS: Readonly<Record<string, RaceMove>> = {
  "the ADMIN invites an ADMIN": by(admin, "InvitationService/CreateInvitation", () => ({
    ...{ email: "evil@example.com", role: "ADMIN" },
  })),
  "the ADMIN makes the DEVELOPER an ADMIN": by(admin, "MemberService/UpdateMember", async (world) => ({
    ...(await memberOf(developer)(world)),
    role: "ADMIN",
  })),
  "the ADMIN removes the DEVELOPER": by(admin, "MemberService/DeleteMember", memberOf(developer)),
  "the ADMIN makes an application that reveals": makingKey(
    "of the ADMIN",
    admin,
    "ApplicationService/CreateApplication",
    () => ({
      ...{ name: "E", type: "private", rules: rule("/", "reveal", ["token:read"]) },
    }),
  ),
  "the ADMIN adds a passkey": adding(admin),
  "the ADMIN proves a passkey": async (world) => {
    const person = await world.admin();
    return provedBy(person.browser, "Check", person);
  },
  "the ADMIN signs in with a passkey": async (world) => {
    const person = await world.admin();
    return provedBy(await world.waiting("the ADMIN elsewhere", person), "SignIn", person);
  },
  "the ADMIN removes the passkey": by(admin, "PasskeyService/DeletePasskey", async (world) => ({
    id: (await world.admin()).passkeyId,
  })),
  "the ADMIN signs out": by(admin, "SignInService/SignOut", () => ({})),
  "the ADMIN asks for an export": by(admin, "TokenExportService/RequestTokenExport", async (world) => {
    await world.askForTwoPeople();
    return world.exportRequest();
  }),
  "the ADMIN approves the export": by(admin, "TokenExportService/ApproveTokenExport", async (world) => ({
    id: await world.askedExport(),
  })),
  "the ADMIN reveals a token": async (world) => {
    await world.showsValues();
    const [{ browser }, id] = [await world.admin(), await world.token()];
    const headers = { "X-Cloakroom-Reason": "a race" };
    return async () => {
      const { body } = await browser.call("RevealService/RevealToken", { id }, { headers });
      return body.data === VALUE;
    };
  },
  "the ADMIN switches to the other tenant": by(admin, "SignInService/SwitchTenant", async (world) => ({
    tenantId: (await world.elsewhere()).id,
  })),
  "the ADMIN switches within the tenant": by(admin, "SignInService/SwitchTenant", async (world) => ({
    tenantId: world.id,
  })),
  "the ADMIN imports a token": by(admin, "TokenService/ImportTokens", () => ({
    ...{ importId: "i", position: 1, rows: [{ type: "token", data: "imported" }] },
  })),
  "the DEVELOPER makes a key": makingKey(
    "another",
    developer,
    "ApplicationKeyService/CreateApplicationKey",
    ofDeveloper,
  ),
  "the DEVELOPER replaces the key": makingKey(
    "a new one",
    developer,
    "ApplicationService/RegenerateApplicationKey",
    ofDeveloper,
  ),
  "the DEVELOPER deletes the key": by(developer, "ApplicationKeyService/DeleteApplicationKey", async (world) => {
    const { id, keyId } = await world.ofDeveloper();
    return { id, keyId };
  }),
  "the DEVELOPER deletes the application": by(developer, "ApplicationService/DeleteApplication", ofDeveloper),
  "the DEVELOPER changes the application": by(developer, "ApplicationService/UpdateApplication", async (world) => ({
    ...(await ofDeveloper(world)),
    ...{ name: "A", rules: rule("/test/", "mask", ["token:read", "token:delete"]) },
  })),
  "the DEVELOPER adds a first passkey": adding(developer),
  "the DEVELOPER takes a link": taking("the DEVELOPER elsewhere", developer),
  "an account at the issuer signs in as the DEVELOPER": fromIssuer(
    "an account",
    async (world) => (await world.developer()).email,
  ),
  "another account with the address does": fromIssuer(
    "another account",
    async (world) => (await world.developer()).email,
  ),
  "who is invited accepts": accepting,
  "who is invited accepts once more": accepting,
  "who is invited signs in at the issuer": fromIssuer("the invited", async (world) => {
    await world.invitation();
    return world.invited;
  }),
  "the back end authorizes the session": async (world) => {
    const [{ client }, { nonce }] = [await world.backEnd(), await world.session(), await world.token()];
    const body = { nonce, permissions: ["token:read"] };
    return async () => isDone(await client("POST", "/sessions/authorize", { body }));
  },
  "the back end exports": async (world) => {
    const [{ client }] = [await world.backEnd(), await world.askedExport()];
    const body = { container: "/pci/" };
    return async () => (await client("POST", "/tokens/export", { body })).body.data?.[0]?.data === VALUE;
  },
};

export const RACE_MOVES: Readonly<Record<string, RaceMove>> = { ...CHANGES, ...ACTS };
