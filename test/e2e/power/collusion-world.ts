import { parseRights, readRule } from "../../../src/access/access-rule.js";
import { storedContainer } from "../../../src/access/container.js";
import { isApplicationType } from "../../../src/access/permissions.js";
import { SERVICES } from "../../../src/server/served-services.js";
import { allowedOperations } from "../../../src/services/method-roles.js";
import { newMember } from "../../support/member.js";
import { memberWithPasskey } from "../../support/passkeys.js";
import { connect } from "../../support/payments.js";
import type { RestResponse } from "../../support/rest.js";
import { restClient } from "../../support/rest.js";
import { newTenant, type TestTenant } from "../../support/tenant.js";
import { signedIn } from "../../support/test-browser.js";
import { type Destination, startDestination } from "../proxy/support/destination.js";
import { allowedFor, heldWith } from "./held.js";

/** The kinds of entities that moves name. */
export type Kind =
  | ("application" | "key" | "proxy" | "reactor" | "formula" | "session" | "invitation" | "webhook" | "token")
  | ("member" | "signIn" | "export" | "connection" | "transaction" | "nonce" | "proxyKey");

/** A caller that the group controls: a person, or a key. */
export interface Holder {
  readonly name: string;
  call(operation: string, body: object): Promise<RestResponse>;
  /** Absent: a person. */
  readonly key?: string;
  /** Whether its kind of caller may do anything by an operation. */
  mayCall(operation: string): boolean;
}

/** What a group of colluding callers controls and has seen, in a tenant with things of stronger callers. */
export interface Collusion extends AsyncDisposable {
  readonly tenant: TestTenant;
  readonly holders: Holder[];
  readonly known: Record<Kind, string[]>;
  readonly destination: Destination;
  /** What no response and no request to the destination may contain. */
  readonly secrets: readonly string[];
  /** What all members of the group may hold together. */
  isAllowed(held: string): boolean;
  /** Everything of stronger callers, which the group may not change. */
  strong(): Promise<unknown>;
}

export const GROUPS = [
  "a DEVELOPER and a page",
  "a DEVELOPER in /test/, an AUDITOR, a page",
  "an AUDITOR and a support key",
  "all",
] as const;
export type Group = (typeof GROUPS)[number];

const SECRET = "a-value-that-none-of-them-may-see";
const CREDENTIAL = "the-credential-of-a-partner";
/** Without those that show a proxy's key, or what proxies and reactors are configured with, as the interface has it. */
const READS = ["application:read", "log:read", "tenant:read", "tenant:member:read", "webhooks:read"];
const CODE =
  "module.exports = async ({ configuration, args }) => ({ raw: { length: Object.keys(configuration).length } });";

/** One caller of a group: a person's role, or rights of an application. */
async function recruit(
  tenant: TestTenant,
  group: Group,
): Promise<{ holders: Holder[]; allowed: (held: string) => boolean }> {
  const holders: Holder[] = [];
  const allowances: ((held: string) => boolean)[] = [];
  const person = async (role: "DEVELOPER" | "AUDITOR", containers: readonly string[] = []) => {
    const browser =
      containers.length > 0
        ? (
            await memberWithPasskey(
              tenant,
              role,
              containers.map((path) => storedContainer(path)),
            )
          ).browser
        : await signedIn(tenant.id, await newMember(tenant, role));
    const operations = new Set(allowedOperations(role, SERVICES));
    holders.push({
      name: role,
      call: (operation, body) => browser.call(operation, body),
      mayCall: (operation) => operations.has(operation),
    });
    allowances.push(allowedFor({ role, hasSecondFactor: containers.length > 0, containers }));
  };
  const key = async (name: string, definition: Parameters<TestTenant["application"]>[0]) => {
    const made = await tenant.application(definition);
    holders.push(keyHolder(tenant, name, made.key));
    const held = new Set(await heldByKey(tenant, made.key));
    allowances.push((one) => held.has(one));
  };
  const [isAll, isFirst, isSecond] = [group === "all", group === GROUPS[0], group === GROUPS[1]];
  if (isAll || isFirst) await person("DEVELOPER");
  if (isAll || isSecond) await person("DEVELOPER", ["/test/"]);
  if (!isFirst) await person("AUDITOR");
  if (isAll || isFirst || isSecond) await key("page", { type: "public", permissions: ["token:create"] });
  if (isAll || group === GROUPS[2]) {
    const rules = [{ priority: 1, container: "/test/", transform: "mask", permissions: ["token:read"] }];
    await key("support", { type: "private", rules });
    await key("reader", { type: "management", permissions: READS });
  }
  return { holders, allowed: (held) => allowances.some((isHeld) => isHeld(held)) };
}

/** What keys of pages, back ends and management that only reads are good for. */
const OF_KEYS = /^(?:Session|Token|Tokenize|Transaction)Service|React$|[/](?:Get|List)(?!SignIns|Connections)/;

export function keyHolder({ url }: TestTenant, name: string, key: string): Holder {
  return {
    name,
    key,
    mayCall: (operation) => OF_KEYS.test(operation),
    async call(operation, body) {
      const headers = { "Content-Type": "application/json", "BT-API-KEY": key };
      const sent = { method: "POST", headers, body: JSON.stringify(body) };
      const response = await fetch(`${url}/cloakroom.v1.${operation}`, sent);
      const text = await response.text();
      const isJson = /json/.test(response.headers.get("content-type") ?? "") && text !== "";
      return { status: response.status, headers: response.headers, body: isJson ? JSON.parse(text) : text };
    },
  };
}

/** What a key can do. Nothing: it does not work. */
export async function heldByKey({ url }: TestTenant, key: string): Promise<readonly string[]> {
  const { status, body } = await restClient(url, key)("GET", "/applications/key");
  if (status !== 200 || !isApplicationType(body.type)) return [];
  const rules = body.rules.map((rule: Parameters<typeof readRule>[0]) => readRule(rule));
  return heldWith(body.type, parseRights(body.type, body.permissions, rules));
}

/**
 * A stronger caller relies on what a DEVELOPER of the group made: it has a key of the DEVELOPER's application, and a proxy that
 * runs the DEVELOPER's reactor.
 */
async function trustDeveloper(tenant: TestTenant, holders: readonly Holder[], { url }: Destination) {
  const developer = holders.find(({ name }) => name === "DEVELOPER");
  if (!developer) return { keys: [], paths: [], known: { application: [], key: [], reactor: [], proxy: [] } };
  const rights = { name: "A", type: "private", permissions: ["token:create"] };
  const { body: application } = await developer.call("ApplicationService/CreateApplication", rights);
  const { body: reactor } = await developer.call("ReactorService/CreateReactor", { name: "R", code: CODE });
  const { body: key } = await tenant.manage("POST", `/applications/${application.id}/keys`);
  const runs = { name: "P", destination_url: url, request_reactor_id: reactor.id };
  const { body: proxy } = await tenant.manage("POST", "/proxies", { body: runs });
  return {
    keys: [String(key.key)],
    paths: [`/reactors/${reactor.id}`, `/proxies/${proxy.id}`],
    known: {
      application: [String(application.id)],
      key: [String(key.id), String(application.keys[0].id)],
      reactor: [String(reactor.id)],
      proxy: [String(proxy.id)],
    },
  };
}

export async function newCollusion(group: Group): Promise<Collusion> {
  const tenant = await newTenant();
  const destination = await startDestination();
  const backEnd = await tenant.backEnd();
  const made = async (path: string, body: object, by = tenant.manage) => {
    const response = await by("POST", path, { body });
    if (response.status !== 201) throw new Error(`${path}: ${response.status} ${JSON.stringify(response.body)}`);
    return response.body;
  };
  const application = { id: backEnd.id };
  const front = await tenant.application({ type: "public", permissions: ["token:create"] });
  const data = { number: "4242424242424242", expiration_month: 12, expiration_year: 2030 };
  const card = await made("/tokens", { type: "card", data, containers: ["/pci/"] }, backEnd);
  const text = await made("/tokens", { type: "token", data: SECRET, containers: ["/pci/"] }, backEnd);
  const formula = await made("/reactor-formulas", { name: "F", type: "private", code: CODE });
  const configured = { name: "R", code: CODE, application, configuration: { KEY: CREDENTIAL } };
  const reactor = await made("/reactors", configured);
  const ofFormula = await made("/reactors", { name: "R", formula: { id: formula.id }, application });
  const open = { name: "P", destination_url: destination.url, application, require_auth: false };
  const proxy = await made("/proxies", open);
  const withReactor = { name: "P", destination_url: destination.url, request_reactor_id: reactor.id };
  const reacting = await made("/proxies", { ...withReactor, configuration: { KEY: CREDENTIAL } });
  const hook = { name: "W", url: "https://shop.example.com/hook", events: ["token.deleted"] };
  const webhook = await made("/webhooks", hook);
  const invitation = await made("/tenants/self/invitations", { email: "chief@example.com", role: "ADMIN" });
  const connection = await connect(tenant);
  const order = { amount: 1000, currency: "USD", connection_id: connection, token: card.id };
  const payment = await made("/orchestration/transactions", order, backEnd);
  const { body: session } = await front("POST", "/sessions");
  const rights = { nonce: session.nonce, permissions: ["token:create"], expires_at: new Date(Date.now() + 3_600_000) };
  await backEnd("POST", "/sessions/authorize", { body: rights });
  const administrator = await signedIn(tenant.id, await newMember(tenant, "ADMIN"));
  const { memberId, signIn } = (await administrator.call("SignInService/WhoAmI")).body;
  const sessions = (await tenant.manage("GET", "/sessions")).body.data;
  const applications = (await tenant.manage("GET", "/applications?size=100")).body.data;
  const { holders, allowed } = await recruit(tenant, group);
  const trusted = await trustDeveloper(tenant, holders, destination);
  const strong = async () => {
    const read = async (path: string, by = tenant.manage) => {
      const { status, body } = await by("GET", path);
      const { modified_at: _at, modified_by: _by, ...kept } = body;
      return [path, status, kept];
    };
    const kinds = { "/reactors": [reactor, ofFormula], "/proxies": [proxy, reacting], "/reactor-formulas": [formula] };
    const entities = Object.entries({ ...kinds, "/webhooks": [webhook], "/tenants/self/invitations": [invitation] });
    const of = (await tenant.manage("GET", "/applications?size=100")).body.data;
    const isStrong = ({ id }: { id: string }) => applications.some((one: { id: string }) => one.id === id);
    return {
      applications: of.filter(isStrong).map(({ id, permissions, rules, keys }: Record<string, { id: string }[]>) => ({
        ...{ id, permissions, rules, keys: keys?.map((each) => each.id) },
      })),
      entities: await Promise.all(entities.flatMap(([path, all]) => all.map(({ id }) => read(`${path}/${id}`)))),
      trusted: await Promise.all(trusted.paths.map((path) => read(path))),
      tokens: await Promise.all([card, text].map(({ id }) => read(`/tokens/${id}`, backEnd))),
      payment: (await backEnd("GET", `/orchestration/transactions/${payment.id}`)).body.status,
      session: (
        await restClient(tenant.url, session.session_key)("POST", "/tokens", { body: { type: "token", data: 1 } })
      ).status,
      administrator: (await administrator.call("SignInService/WhoAmI")).body.role,
      keys: await Promise.all(
        [backEnd.key, front.key, ...trusted.keys].map(async (key) => (await heldByKey(tenant, key)).length > 0),
      ),
      settings: (await tenant.manage("GET", "/tenants/self")).body.settings,
    };
  };
  return {
    ...{ tenant, holders, destination, strong, isAllowed: allowed },
    secrets: [
      SECRET,
      CREDENTIAL,
      data.number,
      proxy.key,
      reacting.key,
      webhook.secret,
      backEnd.key,
      session.session_key,
      ...trusted.keys,
    ],
    known: {
      application: [...applications.map(({ id }: { id: string }) => id), ...trusted.known.application],
      key: [
        ...applications.flatMap(({ keys }: { keys: { id: string }[] }) => keys.map(({ id }) => id)),
        ...trusted.known.key,
      ],
      proxy: [proxy.id, reacting.id, ...trusted.known.proxy],
      reactor: [reactor.id, ofFormula.id, ...trusted.known.reactor],
      formula: [formula.id],
      session: sessions.map(({ id }: { id: string }) => id),
      invitation: [invitation.id],
      webhook: [webhook.id],
      token: [card.id, text.id],
      member: [memberId],
      signIn: [signIn.id],
      export: [],
      connection: [connection],
      transaction: [payment.id],
      nonce: [],
      proxyKey: [],
    },
    [Symbol.asyncDispose]: () => destination[Symbol.asyncDispose](),
  };
}
