import { isTenantId, parseUuid } from "../../../../src/base/ids.js";
import { acceptInvitation } from "../../../support/accept-invitation.js";
import { addPasskey, provePasskey } from "../../../support/passkeys.js";
import type { RestResponse } from "../../../support/rest.js";
import { type ServerHere, startServerHere } from "../../../support/server-here.js";
import { SoftwareAuthenticator } from "../../../support/software-authenticator.js";
import { newTenant, type TestTenant } from "../../../support/tenant.js";
import { operatorLink, TestBrowser } from "../../../support/test-browser.js";

const HOUR = 3_600_000;

/** A member who came by an invitation, or the OWNER, with a passkey. */
export interface Colleague {
  readonly email: string;
  readonly memberId: string;
  readonly passkeyId: string;
  /** Proves the second factor, where it has not been proved with the sign-in. */
  prove(): Promise<void>;
  /** The cookie of the sign-in, as `name=value`. */
  readonly cookie: string;
  /** Calls a method as this person, who has just proved the second factor. */
  call(operation: string, body?: object): Promise<RestResponse>;
}

/** A server whose clock the test moves. */
export class ClockedServer implements AsyncDisposable {
  readonly here: ServerHere;
  readonly #time: { ahead: number };

  private constructor(here: ServerHere, time: { ahead: number }) {
    this.here = here;
    this.#time = time;
  }

  static async start(): Promise<ClockedServer> {
    const time = { ahead: 0 };
    const here = await startServerHere({ LOG_LEVEL: "error" }, { clock: { now: () => Date.now() + time.ahead } });
    return new ClockedServer(here, time);
  }

  get hoursAhead(): number {
    return this.#time.ahead / HOUR;
  }

  readonly clock = { now: () => Date.now() + this.#time.ahead };

  pass(hours: number): void {
    this.#time.ahead += hours * HOUR;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.here[Symbol.asyncDispose]();
  }
}

/** A tenant whose people come by invitation. */
export class AgreeingTenant {
  readonly server: ClockedServer;
  readonly tenant: TestTenant;
  readonly owner: Colleague;
  #invited = 0;

  private constructor(server: ClockedServer, tenant: TestTenant, owner: Colleague) {
    this.server = server;
    this.tenant = tenant;
    this.owner = owner;
  }

  static async create(server: ClockedServer): Promise<AgreeingTenant> {
    const tenant = await newTenant(server.here.url, server.here.environment);
    return new AgreeingTenant(server, tenant, await colleague(server, tenant.id, "owner@example.com"));
  }

  /** A member whose membership begins now, with a passkey that the OWNER has confirmed. */
  async invite(role: "ADMIN" | "DEVELOPER" = "ADMIN"): Promise<Colleague> {
    this.#invited += 1;
    const email = `colleague-${this.#invited}-${this.tenant.id.slice(-12)}@example.com`;
    const invited = await this.tenant.manage("POST", "/tenants/self/invitations", { body: { email, role } });
    const id = parseUuid(String(invited.body.id));
    if (!isTenantId(this.tenant.id) || !id) throw new Error(`inviting returned ${invited.status}`);
    await acceptInvitation(this.tenant.id, id, this.server.here.environment, this.server.clock);
    const invitee = await colleague(this.server, this.tenant.id, email);
    await this.owner.call("PasskeyService/ConfirmPasskey", { id: invitee.passkeyId });
    await invitee.prove();
    return invitee;
  }

  /** Members with a day behind them. */
  async settled(count: number): Promise<readonly Colleague[]> {
    const colleagues: Colleague[] = [];
    for (let position = 0; position < count; position += 1) colleagues.push(await this.invite());
    this.server.pass(25);
    return colleagues;
  }

  async setApproval(by: Colleague, value: "true" | "false"): Promise<RestResponse> {
    return by.call("TenantService/UpdateTenant", { name: "T", settings: { require_export_approval: value } });
  }
}

async function colleague(server: ClockedServer, tenantId: string, email: string): Promise<Colleague> {
  const { url, environment } = server.here;
  const authenticator = new SoftwareAuthenticator(url.replace("127.0.0.1", "localhost"));
  const signIn = async () => {
    const browser = new TestBrowser(url);
    const link = await operatorLink(tenantId, email, environment, server.clock);
    await browser.call("SignInService/TakeSignInLink", { link });
    return browser;
  };
  let browser = await signIn();
  let signedInAt = server.hoursAhead;
  const { body: who } = await browser.call("SignInService/WhoAmI");
  const added = await addPasskey(browser, authenticator);
  if (added.status !== 200) throw new Error(`adding a passkey returned ${added.status}: ${JSON.stringify(added.body)}`);
  return {
    email,
    memberId: String(who.memberId),
    passkeyId: String(added.body.id),
    get cookie() {
      const pair = [...browser.cookies].find(([name]) => name.startsWith("cloakroom-sign-in"));
      if (!pair) throw new Error("nobody is signed in");
      return pair.join("=");
    },
    async prove() {
      await provePasskey(browser, authenticator, "Check");
    },
    async call(operation, body = {}) {
      if (server.hoursAhead !== signedInAt) {
        browser = await signIn();
        signedInAt = server.hoursAhead;
        await provePasskey(browser, authenticator, "SignIn");
      }
      return browser.call(operation, body);
    },
  };
}
