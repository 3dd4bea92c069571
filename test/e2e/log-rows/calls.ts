import { nextLink } from "../../support/mail.js";
import type { RestRequest, RestResponse } from "../../support/rest.js";
import { CARD, type Caller, resultOf, THREE_DS_AUTHENTICATION, type World } from "./world.js";

/** One successful call of a method. */
export interface MethodCall {
  readonly caller: Caller;
  readonly verb: string;
  readonly path: string;
  readonly request?: RestRequest;
  /** Whether its rows are written after the response. */
  readonly isDoneLater?: boolean;
}

/** Creates what a call needs, and then describes it. */
type Prepare = (world: World) => Promise<MethodCall> | MethodCall;

const MERGE_PATCH = { "Content-Type": "application/merge-patch+json" };
const PROXY = { name: "P", destination_url: "https://example.com" };
const REACTOR = {
  name: "R",
  code: "module.exports = async (req) => ({ raw: 1, tokenize: req.args.later ? undefined : { made: 'new' } });",
};
const WEBHOOK = { name: "W", url: "https://shop.example.com/hook", events: ["application.key.deleted"] };
const FORMULA = { name: "F", type: "private", code: "module.exports = async () => ({ raw: 1 });" };
const CONNECTION = {
  ...{ connection_formula_id: "simulator-card", method: "card", display_name: "S", active: true },
  ...{ fields: [{ key: "merchant_id", value: "shop" }], accepted_countries: ["US"], accepted_currencies: ["USD"] },
};

const manage =
  (verb: string, path: string, body?: object): Prepare =>
  ({ manager }) => ({ caller: manager, verb, path, ...(body ? { request: { body } } : {}) });

/** A call on an entity that a POST to its collection creates first; `{id}` in the path is replaced by its id. */
const manageOne =
  (collection: string, made: object, verb: string, below = "", request?: RestRequest): Prepare =>
  async ({ manager, made: make }) => ({
    ...{ caller: manager, verb },
    path: `${collection}/${await make(manager, collection, made)}${below}`,
    ...(request ? { request } : {}),
  });

const APPLICATION = { name: "A", type: "private", permissions: ["token:read"] };
const onKey =
  (verb: string): Prepare =>
  async ({ manager, made }) => {
    const keys = `/applications/${await made(manager, "/applications", APPLICATION)}/keys`;
    return { caller: manager, verb, path: `${keys}/${await made(manager, keys)}` };
  };

let people = 0;
const somebody = ({ tenant }: World) => `person-${++people}-${tenant.id.slice(-12)}@example.com`;
const onInvitation =
  (verb: string, below = ""): Prepare =>
  async (world) => {
    const id = await world.made(world.manager, "/tenants/self/invitations", { email: somebody(world) });
    return { caller: world.manager, verb, path: `/tenants/self/invitations/${id}${below}` };
  };

/** A member who accepted an invitation. */
async function member(world: World): Promise<string> {
  const email = somebody(world);
  await world.manager("POST", "/tenants/self/invitations", { body: { email } });
  await fetch(await nextLink(email, 0), { method: "POST" });
  const { body } = await world.manager("GET", "/tenants/self/members?size=50");
  const { id } = body.data.find(({ user }: { user: { email: string } }) => user.email === email);
  world.remember(id);
  return id;
}

const onCard =
  (verb: string): Prepare =>
  async ({ backEnd, card }) => ({ caller: backEnd, verb, path: `/tokens/${await card()}` });

const onPair =
  (verb: string, path: string, request?: RestRequest): Prepare =>
  ({ backEnd }) => ({ caller: backEnd, verb, path, ...(request ? { request } : {}) });

const onPayment =
  (verb: string, below = "", body?: object): Prepare =>
  async ({ backEnd, payment }) => ({
    ...{ caller: backEnd, verb, path: `/orchestration/transactions/${await payment()}${below}` },
    ...(body ? { request: { body } } : {}),
  });

/** The refunds of a captured payment. */
async function refunds({ backEnd, payment }: World): Promise<string> {
  const path = `/orchestration/transactions/${await payment()}`;
  await succeed(backEnd("POST", `${path}/capture`, { body: {} }));
  return `${path}/refunds`;
}

const onThreeDSSession =
  (verb: string, below: string, isAuthenticated: boolean, request?: RestRequest): Prepare =>
  async ({ backEnd, threeDSSession }) => {
    const path = `/3ds/sessions/${await threeDSSession()}`;
    if (isAuthenticated) await succeed(backEnd("POST", `${path}/authenticate`, { body: THREE_DS_AUTHENTICATION }));
    return { caller: backEnd, verb, path: `${path}${below}`, ...(request ? { request } : {}) };
  };

async function succeed(response: Promise<RestResponse>): Promise<RestResponse> {
  const { status, body } = await response;
  if (status >= 300) throw new Error(`what comes before got ${status}: ${JSON.stringify(body)}`);
  return response;
}

const twice = async ({ card, text }: World) => {
  const [first, second] = [await card(), await text()];
  return { first: `{{ ${first} }}`, second: `{{ ${second} }}`, again: [`{{ ${first} }}`, `{{ ${second} }}`] };
};

/** A call on a new webhook. A tenant may have five: those of earlier calls make room. */
const onWebhook =
  (verb: string, below = "", request?: RestRequest): Prepare =>
  async (world) => {
    await removeWebhooks(world);
    return manageOne("/webhooks", WEBHOOK, verb, below, request)(world);
  };

async function removeWebhooks({ manager }: World): Promise<void> {
  const { body } = await manager("GET", "/webhooks");
  for (const { id } of body.data) await succeed(manager("DELETE", `/webhooks/${id}`));
}

/** The delivery of a test, whether it arrived or not. */
const onDelivery =
  (verb: string, below = "", body?: object): Prepare =>
  async (world) => {
    await removeWebhooks(world);
    const webhook = `/webhooks/${await world.made(world.manager, "/webhooks", WEBHOOK)}`;
    const { body: made } = await succeed(world.manager("POST", `${webhook}/test`, { body: {} }));
    const path = `${webhook}/deliveries/${made.event_id}${below}`;
    return { caller: world.manager, verb, path, ...(body ? { request: { body } } : {}) };
  };

/** How each method is called once. */
export const CALLS: Readonly<Record<string, Prepare>> = {
  CreateApplication: manage("POST", "/applications", APPLICATION),
  ListApplications: manage("GET", "/applications"),
  GetApplication: manageOne("/applications", APPLICATION, "GET"),
  GetApplicationByKey: manage("GET", "/applications/key"),
  UpdateApplication: manageOne("/applications", APPLICATION, "PUT", "", { body: APPLICATION }),
  RegenerateApplicationKey: manageOne("/applications", APPLICATION, "POST", "/regenerate"),
  DeleteApplication: manageOne("/applications", APPLICATION, "DELETE"),
  CreateApplicationKey: manageOne("/applications", APPLICATION, "POST", "/keys"),
  ListApplicationKeys: manageOne("/applications", APPLICATION, "GET", "/keys"),
  GetApplicationKey: onKey("GET"),
  DeleteApplicationKey: onKey("DELETE"),
  ListPermissions: manage("GET", "/permissions"),
  ExplainAccess: manage("POST", "/permissions/explain", { containers: ["/"] }),

  CreateToken: ({ backEnd }) => ({
    ...{ caller: backEnd, verb: "POST", path: "/tokens" },
    request: { body: { type: "card", data: CARD } },
  }),
  GetToken: onCard("GET"),
  UpdateToken: async ({ backEnd, text }) => ({
    ...{ caller: backEnd, verb: "PATCH", path: `/tokens/${await text()}` },
    request: { body: { data: "changed" }, headers: MERGE_PATCH },
  }),
  DeleteToken: onCard("DELETE"),
  ListTokens: onPair("GET", "/tokens?metadata.pair=one"),
  SearchTokens: onPair("POST", "/tokens/search", { body: { query: "metadata.pair:one" } }),
  ListTokensByCursor: onPair("GET", "/v2/tokens?metadata.pair=one"),
  SearchTokensByCursor: onPair("POST", "/v2/tokens/search", { body: { query: "metadata.pair:one" } }),
  ImportTokens: ({ backEnd }) => ({
    ...{ caller: backEnd, verb: "POST", path: "/tokens/import" },
    request: {
      body: { import_id: "rows", position: 1, rows: [{ type: "card", data: { number: CARD.number } }, null] },
    },
  }),
  ExportTokenPage: async ({ backEnd, made }) => {
    await made(backEnd, "/tokens", { type: "token", data: "x", containers: ["/exported/"] });
    const request = { body: { container: "/exported/" } };
    return { caller: backEnd, verb: "POST", path: "/tokens/export", request };
  },
  Tokenize: ({ backEnd }) => ({
    ...{ caller: backEnd, verb: "POST", path: "/tokenize" },
    request: {
      body: ["a", { b: "c" }, { type: "bank", data: { routing_number: "021000021", account_number: "12345" } }],
    },
  }),
  Detokenize: async (world) => ({
    ...{ caller: world.backEnd, verb: "POST", path: "/detokenize" },
    request: { body: await twice(world) },
  }),

  CreateWebhook: async (world) => {
    await removeWebhooks(world);
    return { caller: world.manager, verb: "POST", path: "/webhooks", request: { body: WEBHOOK } };
  },
  ListWebhooks: manage("GET", "/webhooks"),
  ListWebhookEventTypes: manage("GET", "/webhooks/event-types"),
  GetWebhook: onWebhook("GET"),
  ReplaceWebhook: onWebhook("PUT", "", { body: WEBHOOK }),
  DeleteWebhook: onWebhook("DELETE"),
  RotateWebhookSecret: onWebhook("POST", "/secret/rotate", { body: {} }),
  TestWebhook: onWebhook("POST", "/test", { body: {} }),
  ListWebhookDeliveries: onWebhook("GET", "/deliveries"),
  GetWebhookDelivery: onDelivery("GET"),
  ReplayWebhookDelivery: onDelivery("POST", "/replay", {}),

  CreateProxy: manage("POST", "/proxies", PROXY),
  ListProxies: manage("GET", "/proxies"),
  GetProxy: manageOne("/proxies", PROXY, "GET"),
  ReplaceProxy: manageOne("/proxies", PROXY, "PUT", "", { body: PROXY }),
  UpdateProxy: manageOne("/proxies", PROXY, "PATCH", "", { body: { name: "Q" }, headers: MERGE_PATCH }),
  DeleteProxy: manageOne("/proxies", PROXY, "DELETE"),
  TestProxy: manage("POST", "/proxies/test", { request: {} }),
  ListFailedProxyRuns: manageOne("/proxies", PROXY, "GET", "/failed-runs"),
  InvokeProxy: async (world) => {
    const made = { ...PROXY, destination_url: world.destination.url };
    const id = await world.made(world.manager, "/proxies", made);
    const { body } = await world.manager("GET", `/proxies/${id}`);
    return {
      ...{ caller: world.backEnd, verb: "POST", path: "/proxy" },
      request: { body: await twice(world), headers: { "BT-PROXY-KEY": body.key } },
    };
  },

  CreateReactor: manage("POST", "/reactors", REACTOR),
  ListReactors: manage("GET", "/reactors"),
  GetReactor: manageOne("/reactors", REACTOR, "GET"),
  ReplaceReactor: manageOne("/reactors", REACTOR, "PUT", "", { body: REACTOR }),
  UpdateReactor: manageOne("/reactors", REACTOR, "PATCH", "", { body: { name: "Q" }, headers: MERGE_PATCH }),
  DeleteReactor: manageOne("/reactors", REACTOR, "DELETE"),
  TestReactor: manage("POST", "/reactors/test", { code: REACTOR.code }),
  ListFailedReactorRuns: manageOne("/reactors", REACTOR, "GET", "/failed-runs"),
  React: async (world) => ({
    ...{ caller: world.backEnd, verb: "POST" },
    path: `/reactors/${await world.made(world.manager, "/reactors", REACTOR)}/react`,
    request: { body: { args: await twice(world) } },
  }),
  ReactAsync: async (world) => ({
    ...{ caller: world.backEnd, verb: "POST", isDoneLater: true },
    path: `/reactors/${await world.made(world.manager, "/reactors", REACTOR)}/react-async`,
    request: { body: { args: { ...(await twice(world)), later: true } } },
  }),
  GetReactorResult: async (world) => {
    const id = await world.made(world.manager, "/reactors", REACTOR);
    const { body } = await world.backEnd("POST", `/reactors/${id}/react-async`, { body: { args: { later: true } } });
    await resultOf(world, id, body.asyncReactorRequestId);
    return { caller: world.backEnd, verb: "GET", path: `/reactors/${id}/results/${body.asyncReactorRequestId}` };
  },
  CreateReactorFormula: manage("POST", "/reactor-formulas", FORMULA),
  ListReactorFormulas: manage("GET", "/reactor-formulas"),
  GetReactorFormula: manageOne("/reactor-formulas", FORMULA, "GET"),
  ReplaceReactorFormula: manageOne("/reactor-formulas", FORMULA, "PUT", "", { body: FORMULA }),
  DeleteReactorFormula: manageOne("/reactor-formulas", FORMULA, "DELETE"),

  CreateSession: ({ front }) => ({ caller: front, verb: "POST", path: "/sessions" }),
  AuthorizeSession: async ({ front, backEnd }) => {
    const { body } = await front("POST", "/sessions");
    return {
      ...{ caller: backEnd, verb: "POST", path: "/sessions/authorize" },
      request: {
        body: {
          nonce: body.nonce,
          rules: [{ priority: 1, container: "/", transform: "mask", permissions: ["token:read"] }],
        },
      },
    };
  },

  ListSessions: manage("GET", "/sessions"),
  DeleteSession: async ({ front, manager }) => {
    await succeed(front("POST", "/sessions"));
    const { body } = await succeed(manager("GET", "/sessions"));
    return { caller: manager, verb: "DELETE", path: `/sessions/${body.data[0].id}` };
  },

  GetTenant: manage("GET", "/tenants/self"),
  UpdateTenant: manage("PUT", "/tenants/self", { name: "Renamed" }),
  DeleteTenant: manage("DELETE", "/tenants/self"),
  GetUsageReport: manage("GET", "/tenants/self/reports/usage"),
  GetActivity: manage("GET", "/activity"),
  GetHealth: manage("GET", "/tenants/self/health"),
  ListMembers: manage("GET", "/tenants/self/members"),
  UpdateMember: async (world) => ({
    ...{ caller: world.manager, verb: "PUT", path: `/tenants/self/members/${await member(world)}` },
    request: { body: { role: "ADMIN" } },
  }),
  DeleteMember: async (world) => ({
    ...{ caller: world.manager, verb: "DELETE", path: `/tenants/self/members/${await member(world)}` },
  }),
  GetOwner: manage("GET", "/tenants/self/owner"),
  ListRoles: manage("GET", "/roles"),
  CreateInvitation: (world) => ({
    ...{ caller: world.manager, verb: "POST", path: "/tenants/self/invitations" },
    request: { body: { email: somebody(world) } },
  }),
  ListInvitations: manage("GET", "/tenants/self/invitations"),
  GetInvitation: onInvitation("GET"),
  ResendInvitation: onInvitation("POST", "/resend"),
  DeleteInvitation: onInvitation("DELETE"),

  ListLogs: manage("GET", "/logs"),
  ListLogEntityTypes: manage("GET", "/logs/entity-types"),

  CreateConnection: manage("POST", "/orchestration/connections", CONNECTION),
  ListConnections: manage("GET", "/orchestration/connections"),
  GetConnection: manageOne("/orchestration/connections", CONNECTION, "GET"),
  ReplaceConnection: manageOne("/orchestration/connections", CONNECTION, "PUT", "", { body: CONNECTION }),
  DeleteConnection: manageOne("/orchestration/connections", CONNECTION, "DELETE"),
  ListConnectionFormulas: manage("GET", "/orchestration/connection_formulas"),

  CreateTransaction: async ({ backEnd, card, connectionId }) => ({
    ...{ caller: backEnd, verb: "POST", path: "/orchestration/transactions" },
    request: { body: { amount: 1000, currency: "USD", connection_id: connectionId, token: await card() } },
  }),
  ListTransactions: ({ backEnd }) => ({ caller: backEnd, verb: "GET", path: "/orchestration/transactions" }),
  GetTransaction: onPayment("GET"),
  CaptureTransaction: onPayment("POST", "/capture", {}),
  VoidTransaction: onPayment("POST", "/void"),
  SyncTransaction: onPayment("POST", "/sync"),
  CreateRefund: async (world) => ({
    ...{ caller: world.backEnd, verb: "POST", path: await refunds(world) },
    request: { body: { amount: 100 } },
  }),
  ListRefunds: onPayment("GET", "/refunds"),
  GetRefund: async (world) => {
    const id = await world.made(world.backEnd, await refunds(world), { amount: 100 });
    return { caller: world.backEnd, verb: "GET", path: `/orchestration/refunds/${id}` };
  },

  CreateThreeDSSession: async ({ backEnd, card }) => ({
    ...{ caller: backEnd, verb: "POST", path: "/3ds/sessions" },
    request: { body: { token_id: await card(), device: "browser" } },
  }),
  GetThreeDSSession: onThreeDSSession("GET", "", false),
  AuthenticateThreeDSSession: onThreeDSSession("POST", "/authenticate", false, { body: THREE_DS_AUTHENTICATION }),
  GetThreeDSChallengeResult: onThreeDSSession("GET", "/challenge-result", true),
};
