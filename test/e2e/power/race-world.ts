import { randomBytes } from "node:crypto";
import { storedContainer } from "../../../src/access/container.js";
import type { Role } from "../../../src/access/role.js";
import { newSecret } from "../../../src/access/secret-text.js";
import { asServer } from "../../../src/audit/tenant-database.js";
import { isTenantId, parseUuid, type TenantId } from "../../../src/base/ids.js";
import { addLink } from "../../../src/store/people/invitation-links.js";
import { readMember, updateMemberProfile } from "../../../src/store/people/members.js";
import { openProfile, openSealedRights, sealProfile } from "../../../src/tenancy/profile.js";
import { newMember } from "../../support/member.js";
import { logInAtIssuer, type OidcIssuer } from "../../support/oidc-issuer.js";
import { addPasskey, confirmInVault, provePasskey } from "../../support/passkeys.js";
import type { RestClient } from "../../support/rest.js";
import type { ServerHere } from "../../support/server-here.js";
import { SoftwareAuthenticator } from "../../support/software-authenticator.js";
import { newTenant, type TestTenant, withVault } from "../../support/tenant.js";
import { operatorLink, signedIn, TestBrowser } from "../../support/test-browser.js";

/** A value that only a few may see. */
export const VALUE = "a value that somebody stored";
/** Settings of a server where each sign-in at the issuer comes from a network of its own: the limits are not the subject. */
export const OF_MANY_NETWORKS = { TRUSTED_PROXIES: "127.0.0.1" } as const;
const OWNER_ADDRESS = "owner@example.com";

export interface RacingPerson {
  readonly email: string;
  readonly memberId: string;
  readonly browser: TestBrowser;
  /** Absent: the person has no passkey. */
  readonly authenticator?: SoftwareAuthenticator;
  readonly passkeyId?: string;
}

interface RacingApplication {
  readonly id: string;
  readonly keyId: string;
  readonly key: string;
}

interface Invited {
  readonly id: string;
  readonly url: string;
}

/** A tenant in which two operations meet. What they need is made when they ask for it, and once. */
export class RaceWorld {
  readonly server: ServerHere;
  readonly issuer: OidcIssuer;
  readonly tenant: TestTenant;
  readonly id: TenantId;
  /** Browsers that somebody uses, or has got by a move, by what they are called. */
  readonly browsers = new Map<string, TestBrowser>();
  /** Keys that somebody has, in the same way. */
  readonly keys = new Map<string, string>();
  readonly sessions = new Map<string, string>();
  /** What people, members, applications and keys are called, by their ids. */
  readonly names = new Map<string, string>();
  readonly #made = new Map<string, Promise<unknown>>();

  private constructor(server: ServerHere, issuer: OidcIssuer, tenant: TestTenant) {
    if (!isTenantId(tenant.id)) throw new Error("not the id of a tenant");
    this.server = server;
    this.issuer = issuer;
    this.tenant = tenant;
    this.id = tenant.id;
  }

  static async create(server: ServerHere, issuer: OidcIssuer): Promise<RaceWorld> {
    return new RaceWorld(server, issuer, await newTenant(server.url, server.environment));
  }

  #once<T>(name: string, make: () => Promise<T>): Promise<T>;
  #once(name: string, make: () => Promise<unknown>): Promise<unknown> {
    const known = this.#made.get(name) ?? make();
    this.#made.set(name, known);
    return known;
  }

  async call(browser: TestBrowser, operation: string, body: object): Promise<Record<string, unknown>> {
    const response = await browser.call(operation, body);
    if (response.status !== 200) throw new Error(`${operation}: ${response.status} ${JSON.stringify(response.body)}`);
    return response.body;
  }

  async manage(method: string, path: string, body: object): Promise<Record<string, unknown>> {
    const response = await this.tenant.manage(method, path, { body });
    if (response.status >= 300) throw new Error(`${path}: ${response.status} ${JSON.stringify(response.body)}`);
    return response.body;
  }

  owner(): Promise<RacingPerson> {
    return this.#once("owner", async () => this.#strengthened(await this.#joined("owner", OWNER_ADDRESS)));
  }

  admin(): Promise<RacingPerson> {
    return this.#once("admin", async () => {
      const email = await newMember(this.tenant, "ADMIN", this.server.environment);
      return this.#strengthened(await this.#joined("admin", email));
    });
  }

  /** Without a passkey, and with `/test/`. */
  developer(): Promise<RacingPerson> {
    return this.#once("developer", async () => {
      const containers = [storedContainer("/test/")];
      return this.#joined("developer", await newMember(this.tenant, "DEVELOPER", this.server.environment, containers));
    });
  }

  async #joined(name: string, email: string): Promise<RacingPerson> {
    const browser = await signedIn(this.id, email, this.server.url, this.server.environment);
    this.browsers.set(name, browser);
    const { memberId, userId } = await this.call(browser, "SignInService/WhoAmI", {});
    this.names.set(String(memberId), name).set(String(userId), name);
    return { email, browser, memberId: String(memberId) };
  }

  /** Gives a person a passkey that counts, a second factor, and a word where two people must agree. */
  async #strengthened(person: RacingPerson): Promise<RacingPerson> {
    const authenticator = this.authenticator();
    const { body } = await addPasskey(person.browser, authenticator);
    await confirmInVault(this.tenant, String(body.id), this.server.environment);
    await provePasskey(person.browser, authenticator, "Check");
    await this.#settle(person.memberId);
    return { ...person, authenticator, passkeyId: String(body.id) };
  }

  authenticator(): SoftwareAuthenticator {
    return new SoftwareAuthenticator(this.server.url.replace("127.0.0.1", "localhost"));
  }

  /** As if the last change of the membership were long ago. */
  #settle(memberId: string): Promise<void> {
    const id = parseUuid(memberId);
    if (!id) throw new Error("not an id");
    return withVault(this.server.environment, async ({ database, keyring }) => {
      const keys = await keyring.of(this.id);
      await asServer(database, keys).ordinary(async (tx) => {
        const row = await tx.query(readMember, id);
        if (!row) throw new Error("no such member");
        const rights = { ...openSealedRights(keys, row), role: row.role, revision: 0 };
        tx.enqueue(updateMemberProfile, { id, profile: sealProfile(keys, row, openProfile(keys, row), rights) });
      });
    });
  }

  /** A browser in which a member has proved all but the passkey. */
  async waiting(name: string, { email }: RacingPerson): Promise<TestBrowser> {
    const browser = new TestBrowser(this.server.url);
    this.browsers.set(name, browser);
    await this.call(browser, "SignInService/TakeSignInLink", { link: await this.link(email) });
    return browser;
  }

  link(email: string): Promise<string> {
    return operatorLink(this.id, email, this.server.environment);
  }

  /** A private application of the DEVELOPER's, whose key the DEVELOPER has. */
  ofDeveloper(): Promise<RacingApplication> {
    return this.#once("ofDeveloper", async () => {
      const { browser } = await this.developer();
      const rules = [{ priority: 1, container: "/test/", transform: "mask", permissions: ["token:read"] }];
      const { body } = await browser.call("ApplicationService/CreateApplication", {
        ...{ name: "A", type: "private", rules },
      });
      this.keys.set("of the developer", String(body.key));
      this.names.set(String(body.id), "the developer's application");
      return { id: String(body.id), keyId: String(body.keys[0].id), key: String(body.key) };
    });
  }

  /** An application that reads, exports and authorizes all. */
  backEnd(): Promise<RacingApplication & { readonly client: RestClient }> {
    return this.#once("backEnd", async () => {
      const permissions = ["token:create", "token:read", "token:export"];
      const client = await this.tenant.application({
        ...{ type: "private", rules: [{ priority: 1, container: "/", transform: "reveal", permissions }] },
      });
      const { body } = await this.tenant.manage("GET", `/applications/${client.id}/keys`);
      this.keys.set("of the back end", client.key);
      this.names.set(client.id, "the back end");
      return { id: client.id, key: client.key, keyId: String(body.data[0].id), client };
    });
  }

  token(): Promise<string> {
    return this.#once("token", async () => {
      const { client } = await this.backEnd();
      const body = { type: "token", data: VALUE, containers: ["/pci/"] };
      return String((await client("POST", "/tokens", { body })).body.id);
    });
  }

  /** A session of a page without rights. */
  session(): Promise<{ readonly nonce: string; readonly key: string }> {
    return this.#once("session", async () => {
      const page = await this.tenant.application({ type: "public", permissions: ["token:create"] });
      const { body } = await page("POST", "/sessions");
      this.sessions.set("of a page", String(body.session_key));
      return { nonce: String(body.nonce), key: String(body.session_key) };
    });
  }

  /** The tenant asks for two people, and the OWNER has asked for an export of the back end. */
  askedExport(): Promise<string> {
    return this.#once("askedExport", async () => {
      await this.askForTwoPeople();
      const { browser } = await this.owner();
      return String((await this.call(browser, "TokenExportService/RequestTokenExport", await this.exportRequest())).id);
    });
  }

  askForTwoPeople(): Promise<unknown> {
    return this.#once("twoPeople", async () => {
      const [{ browser }] = [await this.owner(), await this.admin(), await this.token()];
      const settings = { require_export_approval: "true" };
      return this.call(browser, "TenantService/UpdateTenant", { name: "T", settings });
    });
  }

  async exportRequest() {
    return { applicationId: (await this.backEnd()).id, container: "/pci/", reason: "a race" };
  }

  showsValues(): Promise<unknown> {
    return this.#once("showsValues", () =>
      this.manage("PUT", "/tenants/self", { name: "T", settings: { reveal_to_people: "true" } }),
    );
  }

  /** The invitation of an address that an account at the issuer has, too, with a link that works. */
  invitation(): Promise<Invited> {
    return this.#once("invitation", () => this.invite(this.invited, "ADMIN"));
  }

  /** Invites an address, with a link that works. */
  async invite(email: string, role: Role): Promise<Invited> {
    const made = await this.manage("POST", "/tenants/self/invitations", { email, role });
    const id = parseUuid(String(made.id));
    if (!id) throw new Error("an invitation without an id");
    const { text, hash } = newSecret("inv", this.id, id);
    await withVault(this.server.environment, ({ database }) =>
      database.of(this.id).ordinary((tx) => tx.query(addLink, { id, hash, revision: 1 })),
    );
    return { id, url: `${this.server.url}/invitations/${text.reveal()}` };
  }

  get invited(): string {
    return `invited-${this.id.slice(-12)}@example.com`;
  }

  /** A browser that comes back from the issuer, where an account with this address was logged in. */
  async fromIssuer(name: string, email: string): Promise<() => Promise<number>> {
    const account = `${name.replaceAll(" ", "-")}-${this.id.slice(-12)}`;
    this.issuer.accounts.set(account, { email });
    const browser = new TestBrowser(this.server.url);
    this.browsers.set(name, browser);
    const network = ["198", ...randomBytes(2), "7"].join(".");
    const headers = { "X-Forwarded-For": network };
    const { body } = await browser.call("SignInService/BeginOpenIdSignIn", { tenantId: this.id }, { headers });
    const back = await logInAtIssuer(this.server.url, String(body.authorizationUrl), account);
    return async () => (await browser.open(back)).status;
  }

  /** Another tenant, of which the ADMIN is an AUDITOR. */
  elsewhere(): Promise<RaceWorld> {
    return this.#once("elsewhere", async () => {
      const other = await RaceWorld.create(this.server, this.issuer);
      const { url } = await other.invite((await this.admin()).email, "AUDITOR");
      await fetch(url, { method: "POST" });
      return other;
    });
  }

  has(name: "backEnd" | "token" | "elsewhere"): boolean {
    return this.#made.has(name);
  }
}
