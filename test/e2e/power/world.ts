import { storedContainer } from "../../../src/access/container.js";
import type { Role } from "../../../src/access/role.js";
import { isTenantId, parseUuid } from "../../../src/base/ids.js";
import { acceptInvitation } from "../../support/accept-invitation.js";
import { newMember } from "../../support/member.js";
import { addPasskey, memberWithPasskey, passkeyOrigin } from "../../support/passkeys.js";
import { SoftwareAuthenticator } from "../../support/software-authenticator.js";
import { newTenant, type TestTenant } from "../../support/tenant.js";
import { signedIn, type TestBrowser } from "../../support/test-browser.js";

/** A person who begins a chain. */
export interface Start {
  readonly role: Role;
  readonly hasSecondFactor: boolean;
  readonly containers: readonly string[];
}

/** A person of whom the actor reads the mail, or the actor. */
export interface Person {
  readonly browser: TestBrowser;
  readonly memberId: string;
}

/** An application that somebody whom the actor controls has made. */
export interface ControlledApplication {
  readonly id: string;
  readonly type: string;
  readonly by: Person;
  /** The name of what was last given to it. */
  rights: string;
}

/** A tenant with things that stronger people made, and all that the actor controls in it. */
export interface World {
  readonly start: Start;
  readonly tenant: TestTenant;
  /**
   * Of stronger people: an application that reveals, its proxy and reactor, a formula in use, an ADMIN, a reactor with a
   * partner's credentials as its configuration, and one that may get some.
   */
  readonly strong: Record<
    "application" | "proxy" | "reactor" | "formula" | "administrator" | "token" | "configured" | "plain",
    string
  >;
  readonly people: Person[];
  /** Keys of applications, and of proxies. */
  readonly keys: string[];
  readonly applications: ControlledApplication[];
  invited: number;
}

const CODE = "module.exports = async () => ({ raw: 1 });";
/** What a partner gave the tenant, as the configuration of a reactor. */
export const CREDENTIALS = { KEY: "partner-secret" };
const CARD = { type: "card", data: { number: "4242424242424242", expiration_month: 12, expiration_year: 2030 } };

export async function newWorld(start: Start): Promise<World> {
  const tenant = await newTenant();
  const backEnd = await tenant.backEnd();
  const make = async (path: string, body: object): Promise<string> => {
    const made = await tenant.manage("POST", path, { body });
    if (made.status !== 201) throw new Error(`${path} returned ${made.status}: ${JSON.stringify(made.body)}`);
    return String(made.body.id);
  };
  const application = { id: backEnd.id };
  const formula = await make("/reactor-formulas", { name: "F", type: "private", code: CODE });
  const proxy = await make("/proxies", {
    ...{ name: "P", destination_url: "https://example.com", application, require_auth: false },
  });
  const reactor = await make("/reactors", { name: "R", formula: { id: formula }, application });
  const configured = await make("/reactors", { name: "C", code: CODE, configuration: CREDENTIALS });
  const plain = await make("/reactors", { name: "N", code: CODE });
  const token = await backEnd("POST", "/tokens", { body: { ...CARD, containers: ["/pci/"] } });
  await tenant.manage("PUT", "/tenants/self", { body: { name: "T", settings: { reveal_to_people: "true" } } });
  const victim = await signedIn(tenant.id, await newMember(tenant, "ADMIN"));
  const administrator = await memberIdOf(victim);
  const actor = await actorOf(tenant, start);
  return {
    ...{ start, tenant, people: [{ browser: actor, memberId: await memberIdOf(actor) }], keys: [], applications: [] },
    strong: {
      application: backEnd.id,
      proxy,
      reactor,
      formula,
      administrator,
      token: token.body.id,
      configured,
      plain,
    },
    invited: 0,
  };
}

async function actorOf(tenant: TestTenant, { role, hasSecondFactor, containers }: Start): Promise<TestBrowser> {
  if (role === "OWNER") {
    const browser = await signedIn(tenant.id, "owner@example.com");
    if (hasSecondFactor) await addPasskey(browser, new SoftwareAuthenticator(passkeyOrigin()));
    return browser;
  }
  const assigned = containers.map(storedContainer);
  if (hasSecondFactor) return (await memberWithPasskey(tenant, role, assigned)).browser;
  return signedIn(tenant.id, await newMember(tenant, role, undefined, assigned));
}

async function memberIdOf(browser: TestBrowser): Promise<string> {
  return (await browser.call("SignInService/WhoAmI")).body.memberId;
}

/** Opens the mailed link of an invitation, signs in by a link, and adds a passkey: all that a mailbox is good for. */
export async function acceptAs({ id: tenantId }: TestTenant, invitationId: string, email: string): Promise<Person> {
  const id = parseUuid(invitationId);
  if (!isTenantId(tenantId) || !id) throw new Error("not the ids of a tenant and an invitation");
  await acceptInvitation(tenantId, id);
  const browser = await signedIn(tenantId, email);
  await addPasskey(browser, new SoftwareAuthenticator(passkeyOrigin()));
  return { browser, memberId: await memberIdOf(browser) };
}
