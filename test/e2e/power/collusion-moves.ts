import type { Collusion, Kind } from "./collusion-world.js";

/** What a move fills its request with. */
export interface Draw {
  id(kind: Kind): string;
  one<T>(choices: readonly T[]): T;
}

interface CollusionMove {
  /** What its response's id and key are. */
  readonly makes?: Kind;
  body(draw: Draw, collusion: Collusion): object;
}

const rule = (container: string, transform: string, permissions: readonly string[]) => ({
  rules: [{ priority: 1, container, transform, permissions }],
});
const RIGHTS = [
  { type: "private", permissions: ["token:create"] },
  { type: "public", permissions: ["token:create"] },
  { type: "private", ...rule("/pci/", "reveal", ["token:read", "token:use"]) },
  { type: "private", ...rule("/test/", "mask", ["token:read", "token:delete"]) },
  { type: "private", ...rule("/test/", "redact", ["token:update"]) },
  { type: "private", permissions: ["token:export", "token:import"] },
  { type: "management", permissions: ["application:create", "tenant:member:update"] },
];
/** Shows all that it gets. */
const CODE = `module.exports = async ({ args, configuration, bt }) => {
  const { token } = args.body ?? args;
  const tried = await Promise.allSettled([
    Promise.resolve().then(() => bt.detokenize({ seen: "{{ " + token + " }}" })),
    Promise.resolve().then(() => bt.tokens.retrieve(token)),
  ]);
  const raw = { configuration, args, tried: tried.map(({ value, reason }) => value ?? String(reason)) };
  return { raw, body: raw, headers: {} };
};`;
const token = (draw: Draw) => `{{ ${draw.id("token")} }}`;
const application = (draw: Draw) => draw.one([{}, { application: { id: draw.id("application") } }]);
const id = (kind: Kind) => ({ body: (draw: Draw) => ({ id: draw.id(kind) }) });
const onKey = { body: (draw: Draw) => ({ id: draw.id("application"), keyId: draw.id("key") }) };

function proxy(draw: Draw, { destination }: Collusion) {
  const runs = [{}, { requestReactorId: draw.id("reactor") }, { responseReactorId: draw.id("reactor") }];
  const code = [{}, { requestTransform: { code: CODE } }];
  const named = { name: "P", destinationUrl: destination.url, requireAuth: draw.one([true, false]) };
  return { ...named, ...draw.one(runs), ...draw.one(code), ...application(draw) };
}
const reactor = (draw: Draw) => ({
  ...{ name: "R", ...application(draw) },
  ...draw.one([{ code: CODE }, { formula: { id: draw.id("formula") } }]),
});
const formula = () => ({ name: "F", type: "private", code: CODE });
const webhook = () => ({ name: "W", url: "https://evil.example", events: ["token.created"] });
const patch = (kind: Kind, change: object) => ({
  body: (draw: Draw) => ({ id: draw.id(kind), ...change, updateMask: Object.keys(change).join(",") }),
});

/** Requests of each operation that makes, changes, ends or shows something of somebody. */
export const COLLUSION_MOVES: Readonly<Record<string, CollusionMove>> = {
  "ApplicationService/CreateApplication": {
    makes: "application",
    body: (draw) => ({ name: "A", ...draw.one(RIGHTS) }),
  },
  "ApplicationService/UpdateApplication": {
    body: (draw) => {
      const { type: _, ...rights } = draw.one(RIGHTS);
      return { id: draw.id("application"), name: "B", ...rights };
    },
  },
  "ApplicationService/RegenerateApplicationKey": id("application"),
  "ApplicationService/DeleteApplication": id("application"),
  "ApplicationService/GetApplication": id("application"),
  "ApplicationService/ListApplications": { body: () => ({}) },
  "ApplicationKeyService/CreateApplicationKey": { makes: "key", ...id("application") },
  "ApplicationKeyService/DeleteApplicationKey": onKey,
  "ApplicationKeyService/GetApplicationKey": onKey,
  "PermissionService/ExplainAccess": {
    body: (draw) => ({ tokenId: draw.id("token"), applicationId: draw.id("application") }),
  },
  "ProxyService/CreateProxy": { makes: "proxy", body: proxy },
  "ProxyService/ReplaceProxy": { body: (draw, collusion) => ({ id: draw.id("proxy"), ...proxy(draw, collusion) }) },
  "ProxyService/UpdateProxy": {
    body: (draw, { destination }) => {
      const changes = [
        { destinationUrl: destination.url },
        { requestReactorId: draw.id("reactor") },
        { application: { id: draw.id("application") } },
        { requireAuth: false },
      ];
      const change = draw.one<object>(changes);
      return { id: draw.id("proxy"), ...change, updateMask: Object.keys(change).join(",") };
    },
  },
  "ProxyService/DeleteProxy": id("proxy"),
  "ProxyService/GetProxy": id("proxy"),
  "ProxyService/ListProxies": { body: () => ({}) },
  "ProxyService/ListFailedProxyRuns": id("proxy"),
  "ProxyService/TestProxy": {
    body: (draw, { destination }) => ({
      requestTransforms: [{ type: "code", code: CODE }],
      request: { body: { token: draw.id("token"), seen: token(draw) } },
      ...draw.one<object>([{ destinationUrl: destination.url }, { evaluateTokens: true }]),
    }),
  },
  "ReactorService/CreateReactor": { makes: "reactor", body: reactor },
  "ReactorService/ReplaceReactor": { body: (draw) => ({ id: draw.id("reactor"), ...reactor(draw) }) },
  "ReactorService/UpdateReactor": patch("reactor", { code: CODE }),
  "ReactorService/DeleteReactor": id("reactor"),
  "ReactorService/GetReactor": id("reactor"),
  "ReactorService/ListFailedReactorRuns": id("reactor"),
  "ReactorService/TestReactor": {
    body: (draw) => ({ code: CODE, args: { token: draw.id("token"), seen: token(draw) }, evaluateTokens: true }),
  },
  "ReactorService/React": {
    body: (draw) => ({ id: draw.id("reactor"), args: { token: draw.id("token"), seen: draw.one(["", token(draw)]) } }),
  },
  "ReactorFormulaService/CreateReactorFormula": { makes: "formula", body: formula },
  "ReactorFormulaService/ReplaceReactorFormula": { body: (draw) => ({ id: draw.id("formula"), ...formula() }) },
  "ReactorFormulaService/DeleteReactorFormula": id("formula"),
  "SessionService/CreateSession": { body: () => ({}) },
  "SessionService/AuthorizeSession": {
    body: (draw) => {
      const { type: _, ...rights } = draw.one(RIGHTS);
      return { nonce: draw.id("nonce"), ...rights };
    },
  },
  "SessionService/ListSessions": { body: () => ({}) },
  "SessionService/DeleteSession": id("session"),
  "InvitationService/CreateInvitation": {
    makes: "invitation",
    body: (draw) => ({ email: "evil@example.com", role: draw.one(["ADMIN", "DEVELOPER"]) }),
  },
  "InvitationService/ResendInvitation": id("invitation"),
  "InvitationService/DeleteInvitation": id("invitation"),
  "MemberService/UpdateMember": { body: (draw) => ({ id: draw.id("member"), role: draw.one(["ADMIN", "AUDITOR"]) }) },
  "MemberService/DeleteMember": id("member"),
  "SignInService/EndSignIn": id("signIn"),
  "SignInService/ListSignIns": { body: (draw) => ({ memberId: draw.id("member") }) },
  "PasskeyService/ResetPasskeys": { body: (draw) => ({ memberId: draw.id("member") }) },
  "TokenExportService/RequestTokenExport": {
    makes: "export",
    body: (draw) => ({ applicationId: draw.id("application"), container: "/pci/", reason: "a reason" }),
  },
  "TokenExportService/ApproveTokenExport": id("export"),
  "TokenExportService/DeleteTokenExport": id("export"),
  "TokenService/ExportTokenPage": { body: () => ({ container: "/pci/" }) },
  "TokenService/ImportTokens": {
    body: (draw) => ({ importId: "i", position: 1, rows: [{ id: draw.id("token"), type: "token", data: "evil" }] }),
  },
  "TokenService/CreateToken": {
    makes: "token",
    body: (draw) => ({
      type: "token",
      data: token(draw),
      mask: "{{ data }}",
      containers: [draw.one(["/pci/", "/test/"])],
    }),
  },
  "TokenService/GetToken": id("token"),
  "TokenService/ListTokens": { body: () => ({}) },
  "TokenService/SearchTokens": { body: (draw) => ({ query: draw.one(["data:4242", "type:card"]) }) },
  "TokenService/UpdateToken": {
    body: (draw) => {
      const change = draw.one<object>([{ mask: "{{ data }}" }, { containers: ["/test/"] }, { data: "evil" }]);
      return { id: draw.id("token"), ...change, updateMask: Object.keys(change).join(",") };
    },
  },
  "TokenService/DeleteToken": id("token"),
  "TokenizeService/Detokenize": { body: (draw) => ({ value: { seen: token(draw) } }) },
  "TransactionService/GetTransaction": id("transaction"),
  "TransactionService/VoidTransaction": id("transaction"),
  "TransactionService/CaptureTransaction": id("transaction"),
  "TransactionService/CreateTransaction": {
    body: (draw) => ({ amount: "1", currency: "USD", connectionId: draw.id("connection"), token: draw.id("token") }),
  },
  "ConnectionService/GetConnection": id("connection"),
  "ConnectionService/DeleteConnection": id("connection"),
  "WebhookService/CreateWebhook": { makes: "webhook", body: webhook },
  "WebhookService/ReplaceWebhook": { body: (draw) => ({ id: draw.id("webhook"), ...webhook() }) },
  "WebhookService/RotateWebhookSecret": id("webhook"),
  "WebhookService/DeleteWebhook": id("webhook"),
  "WebhookService/TestWebhook": id("webhook"),
  "WebhookService/ListWebhooks": { body: () => ({}) },
  "WebhookService/ListWebhookDeliveries": id("webhook"),
  "LogService/ListLogs": { body: () => ({ size: 100 }) },
  "TenantService/UpdateTenant": { body: () => ({ name: "T", settings: { reveal_to_people: "true" } }) },
  "RevealService/RevealToken": id("token"),
};
