import { type AccessRights, parseRights, readRule } from "../../../src/access/access-rule.js";
import { storedContainer } from "../../../src/access/container.js";
import { Grant } from "../../../src/access/grant.js";
import {
  type ApplicationType,
  isApplicationType,
  isPermission,
  TOKEN_PERMISSIONS,
} from "../../../src/access/permissions.js";
import { restClient } from "../../support/rest.js";
import type { TestBrowser } from "../../support/test-browser.js";
import { CREDENTIALS, type Person, type Start, type World } from "./world.js";

/** What the model lets a start hold, written from docs/people.md and not from the code. */
export function allowedFor({ role, hasSecondFactor, containers }: Start): (held: string) => boolean {
  const isAdministrator = role === "OWNER" || role === "ADMIN";
  const allowed = new Set<string>();
  const allow = (...held: readonly string[]) => {
    for (const one of held) allowed.add(one);
  };
  if (role !== "DEVELOPER") allow("logs", "members", "redacted");
  if (role !== "AUDITOR") allow("build", "token:create mask /pci/", "token:create mask /test/");
  if (isAdministrator) {
    // The role may have what a reactor is configured with; the one who configures it needs a second factor.
    allow("later configuration");
    allow("invite", "masked", "delete", "3ds:session:create", "3ds:session:read", "3ds:session:authenticate");
    for (const container of ["/pci/", "/test/"]) allowEditing(allow, container);
  }
  for (const container of containers) allowEditing(allow, container);
  const isStrong = isAdministrator && hasSecondFactor;
  return (held) => allowed.has(held) || (isStrong && (role === "OWNER" || !OF_OWNER.has(held)));
}

const OF_OWNER = new Set(["confirm", "tenant:delete"]);

function allowEditing(allow: (...held: readonly string[]) => void, container: string): void {
  for (const permission of ["create", "read", "delete"]) {
    for (const transform of ["mask", "redact"]) allow(`token:${permission} ${transform} ${container}`);
  }
  // Without reading: no mask that it writes shows anything.
  for (const seen of ["token:update redact", "blind token:update redact", "blind token:update mask"]) {
    allow(`${seen} ${container}`);
  }
}

/** Everything that the actor and all that it controls can do now. */
export async function heldIn(world: World): Promise<ReadonlySet<string>> {
  const people = await Promise.all(world.people.map((person) => heldByPerson(world, person)));
  const keys = await Promise.all([...new Set(world.keys)].map((key) => heldByKey(world, key)));
  return new Set([...people, ...keys, await configurationsIn(world)].flat());
}

/**
 * The reactors with credentials that a proxy of the actor's runs: what their code returns goes where the proxy's author
 * says. "later": a stronger person has configured the reactor meanwhile.
 */
async function configurationsIn({ tenant, people, strong }: World): Promise<readonly string[]> {
  const configure = (configuration: object) =>
    tenant.manage("PATCH", `/reactors/${strong.plain}`, {
      body: { configuration },
      headers: { "Content-Type": "application/merge-patch+json" },
    });
  const isConfigured = (await configure(CREDENTIALS)).status === 204;
  if (isConfigured) await configure({ KEY: null });
  const controlled = new Set(people.map(({ memberId }) => memberId));
  const { body } = await tenant.manage("GET", "/tenants/self/members?size=50");
  const members: readonly { id: string; user: { id: string } }[] = body.data;
  const authors = members.filter(({ id }) => controlled.has(id)).map(({ user }) => user.id);
  const proxies = await listProxies(tenant);
  const own = proxies.filter(({ created_by: author = "" }) => authors.includes(author));
  const runs = (reactor: string) =>
    own.some((proxy) => [proxy.request_reactor_id, proxy.response_reactor_id].includes(reactor));
  return [
    ...(runs(strong.configured) ? ["configuration"] : []),
    ...(isConfigured && runs(strong.plain) ? ["later configuration"] : []),
  ];
}

async function listProxies({ manage }: World["tenant"]): Promise<readonly Record<string, string>[]> {
  const proxies: Record<string, string>[] = [];
  for (let page = 1; ; page += 1) {
    const { data, pagination } = (await manage("GET", `/proxies?size=100&page=${page}`)).body;
    proxies.push(...data);
    if (page >= pagination.total_pages) return proxies;
  }
}

/** Calls that tell whether the person could. What they change gives nothing that is not held then. */
const PROBES: readonly (readonly [string, string, object])[] = [
  ["logs", "LogService/ListLogs", {}],
  ["members", "MemberService/ListMembers", {}],
  ["invite", "InvitationService/CreateInvitation", { email: "no address" }],
  ["build", "ProxyService/CreateProxy", {}],
  ["connect", "ConnectionService/CreateConnection", {}],
  ["delete", "TokenService/DeleteToken", { id: "none" }],
  ["confirm", "PasskeyService/ConfirmPasskey", { id: "01890000-0000-7000-8000-000000000000" }],
  ["search data", "TokenService/SearchTokens", { query: "data:4242" }],
  ["loosen", "TenantService/UpdateTenant", { name: "T", settings: { deduplicate_tokens: "true" } }],
  ["listen", "WebhookService/CreateWebhook", {}],
  ["import", "TokenService/ImportTokens", {}],
  ["export", "TokenExportService/RequestTokenExport", {}],
  ["reset", "PasskeyService/ResetPasskeys", { memberId: "01890000-0000-7000-8000-000000000000" }],
];

async function heldByPerson({ strong }: World, { browser }: Person): Promise<readonly string[]> {
  const held: string[] = [];
  for (const [name, operation, body] of PROBES) {
    const { status } = await browser.call(operation, body);
    if (status !== 403 && status !== 401) held.push(name);
  }
  const reason = { headers: { "X-Cloakroom-Reason": "a search for power" } };
  const revealed = await browser.call("RevealService/RevealToken", { id: strong.token }, reason);
  if (revealed.status === 200) held.push("reveal");
  const read = await browser.call("TokenService/GetToken", { id: strong.token });
  if (read.status === 200) held.push(JSON.stringify(read.body.data ?? null).includes("4242") ? "masked" : "redacted");
  held.push(...(await shownByTry(strong.token, browser)));
  return held;
}

/** What a try of a proxy shows of a token: its expressions are replaced by what the caller reads. */
async function shownByTry(token: string, browser: TestBrowser): Promise<readonly string[]> {
  const body = { whole: `{{ ${token} }}`, hidden: `{{ ${token} | json: '$.number' | slice: 6, 6 }}` };
  const tried = await browser.call("ProxyService/TestProxy", { request: { body }, evaluateTokens: true });
  const shown = JSON.stringify(tried.body.request?.body ?? null);
  if (tried.status !== 200 || !shown.includes("4242")) return [];
  return [/4242424242424242|"hidden":"424242"/.test(shown) ? "reveal" : "masked"];
}

async function heldByKey({ tenant, strong }: World, key: string): Promise<readonly string[]> {
  // A proxy and code act as the strong application.
  const isOwnKey = key !== "code" && !key.startsWith("key_prod_prx_");
  const { status, body } = isOwnKey
    ? await restClient(tenant.url, key)("GET", "/applications/key")
    : await tenant.manage("GET", `/applications/${strong.application}`);
  if (status === 401) return [];
  if (status !== 200 || !isApplicationType(body.type)) throw new Error(`a key got ${status}`);
  const rules = body.rules.map((rule: Parameters<typeof readRule>[0]) => readRule(rule));
  return heldWith(body.type, parseRights(body.type, body.permissions, rules));
}

/** What a key of an application with these rights can do. */
export function heldWith(type: ApplicationType, rights: AccessRights): readonly string[] {
  const grant = new Grant(rights);
  const others = rights.permissions.filter((name) => isPermission(name) && !name.startsWith("token:"));
  const ofTokens = TOKEN_PERMISSIONS.flatMap((permission) =>
    ["/pci/", "/test/"].flatMap((path) => {
      const token = { id: "t", containers: [storedContainer(path)] };
      const transform = grant.transformFor(permission, token);
      if (transform === undefined) return [];
      const isBlind = permission === "token:update" && !grant.transformFor("token:read", token) && type === "public";
      return [`${isBlind ? "blind " : ""}${permission} ${transform} ${path}`];
    }),
  );
  return [...others, ...ofTokens];
}
