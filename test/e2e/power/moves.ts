import type { TestBrowser } from "../../support/test-browser.js";
import { acceptAs, type ControlledApplication, type Person, type World } from "./world.js";

/** Something that a person tries, and that gives power if it succeeds. Returns whether anything was allowed. */
export type Move = (world: World, by: Person) => Promise<boolean>;

const ALL = ["token:create", "token:read", "token:search", "token:update", "token:delete", "token:use"];
const rule = (container: string, transform: string, permissions: readonly string[]) => ({
  rules: [{ priority: 1, container, transform, permissions }],
});

/** Rights that somebody may want. */
const RIGHTS = {
  create: { type: "private", permissions: ["token:create"] },
  "public create": { type: "public", permissions: ["token:create"] },
  reveal: { type: "private", ...rule("/", "reveal", ALL) },
  use: { type: "private", permissions: ["token:use"] },
  mask: { type: "private", ...rule("/", "mask", ["token:read"]) },
  search: { type: "private", permissions: ["token:search"] },
  "test search": { type: "private", ...rule("/test/", "redact", ["token:search"]) },
  delete: { type: "private", permissions: ["token:delete"] },
  overwrite: { type: "private", ...rule("/", "redact", ["token:update"]) },
  "mask by mask": { type: "private", ...rule("/", "mask", ["token:update", "token:read"]) },
  "public update": { type: "public", permissions: ["token:update"] },
  "test mask": { type: "private", ...rule("/test/", "mask", ["token:read", "token:delete"]) },
  "test overwrite": { type: "private", ...rule("/test/", "redact", ["token:update"]) },
  "test reveal": { type: "private", ...rule("/test/", "reveal", ["token:read"]) },
  "3ds": { type: "private", permissions: ["3ds:session:create", "3ds:session:read"] },
  capture: { type: "private", permissions: ["orchestration:transaction:capture"] },
  management: { type: "management", permissions: ["application:create", "tenant:member:update"] },
  "tenant:delete": { type: "management", permissions: ["tenant:delete"] },
} as const;

const CODE = "module.exports = async () => ({ raw: 2 });";
const LANDED = "https://evil.example";

/** Moves by the operation that they try. The search fails for an operation of people that is neither here nor there. */
export const MOVES: Readonly<Record<string, Readonly<Record<string, Move>>>> = {
  "InvitationService/CreateInvitation": {
    OWNER: invite("OWNER"),
    ADMIN: invite("ADMIN"),
    AUDITOR: invite("AUDITOR"),
    DEVELOPER: invite("DEVELOPER"),
    "DEVELOPER in /test/": invite("DEVELOPER", ["/test/"]),
    "DEVELOPER in /pci/": invite("DEVELOPER", ["/pci/"]),
  },
  "MemberService/UpdateMember": {
    "controlled to ADMIN": promote({ role: "ADMIN" }),
    "controlled to AUDITOR": promote({ role: "AUDITOR" }),
    "controlled to DEVELOPER in /pci/": promote({ role: "DEVELOPER", containers: ["/pci/"] }),
  },
  "ApplicationService/CreateApplication": forRights((name, rights) => async (world, by) => {
    const { status, body } = await by.browser.call("ApplicationService/CreateApplication", { name: "A", ...rights });
    if (status !== 200) return false;
    world.applications.push({ id: body.id, type: rights.type, by, rights: name });
    world.keys.push(body.key);
    return true;
  }),
  "ApplicationService/UpdateApplication": forRights((name, { type: _, ...change }) => async (world, { browser }) => {
    const update = async (id: string) =>
      (await browser.call("ApplicationService/UpdateApplication", { id, name: "B", ...change })).status === 200;
    const updates = unlike(world.applications).map(async (application) => {
      const isDone = await update(application.id);
      if (isDone) application.rights = name;
      return isDone;
    });
    return (await Promise.all([update(world.strong.application), ...updates])).some(Boolean);
  }),
  "ApplicationService/RegenerateApplicationKey": {
    any: takingKeys("ApplicationService/RegenerateApplicationKey"),
  },
  "ApplicationKeyService/CreateApplicationKey": { any: takingKeys("ApplicationKeyService/CreateApplicationKey") },
  "ProxyService/CreateProxy": {
    "as the strong application": keyOf((world) => [
      "ProxyService/CreateProxy",
      { name: "P", destinationUrl: LANDED, application: { id: world.strong.application }, requireAuth: false },
    ]),
    "with the strong reactor": keyOf((world) => [
      "ProxyService/CreateProxy",
      { name: "P", destinationUrl: LANDED, requestReactorId: world.strong.reactor },
    ]),
    "with the configured reactor": ownProxy((world) => ({ responseReactorId: world.strong.configured })),
    "with the reactor that may be configured": ownProxy((world) => ({ requestReactorId: world.strong.plain })),
  },
  "ProxyService/UpdateProxy": {
    "own to the configured reactor": async ({ strong }, { browser }) => {
      const { body } = await browser.call("ProxyService/ListProxies", {});
      const ids = (body.data ?? []).map(({ id }: { id: string }) => id).filter((id: string) => id !== strong.proxy);
      const change = { requestReactorId: strong.configured, updateMask: "requestReactorId" };
      return someDone(ids.map((id: string) => browser.call("ProxyService/UpdateProxy", { id, ...change })));
    },
    "destination of the strong": keyOf((world) => [
      "ProxyService/UpdateProxy",
      { id: world.strong.proxy, destinationUrl: LANDED, updateMask: "destinationUrl" },
    ]),
  },
  "ProxyService/ReplaceProxy": {
    "the strong": keyOf((world) => [
      "ProxyService/ReplaceProxy",
      { id: world.strong.proxy, name: "P", destinationUrl: LANDED },
    ]),
  },
  "ProxyService/GetProxy": { "the strong": keyOf((world) => ["ProxyService/GetProxy", { id: world.strong.proxy }]) },
  "ProxyService/ListProxies": {
    any: async (world, { browser }) => {
      const { body } = await browser.call("ProxyService/ListProxies", {});
      const shown = (body.data ?? []).filter(({ key }: { key?: string }) => key);
      world.keys.push(...shown.map(({ key }: { key: string }) => key));
      return shown.length > 0;
    },
  },
  "ReactorService/CreateReactor": {
    "as the strong application": codeOf((world) => [
      "ReactorService/CreateReactor",
      { name: "R", code: CODE, application: { id: world.strong.application } },
    ]),
  },
  "ReactorService/UpdateReactor": {
    "the strong": codeOf((world) => [
      "ReactorService/UpdateReactor",
      { id: world.strong.reactor, code: CODE, updateMask: "code" },
    ]),
  },
  "ReactorService/ReplaceReactor": {
    "the strong": codeOf((world) => [
      "ReactorService/ReplaceReactor",
      { id: world.strong.reactor, name: "R", code: CODE, application: { id: world.strong.application } },
    ]),
  },
  "ReactorFormulaService/ReplaceReactorFormula": {
    "in use": codeOf((world) => [
      "ReactorFormulaService/ReplaceReactorFormula",
      { id: world.strong.formula, name: "F", type: "private", code: CODE },
    ]),
  },
  "PasskeyService/ConfirmPasskey": {
    any: async (_world, { browser }) => {
      const { body } = await browser.call("PasskeyService/ListPasskeys", { waiting: true });
      const { body: own } = await browser.call("PasskeyService/ListPasskeys", {});
      const ids = [...(body.data ?? []), ...(own.data ?? [])].map(({ id }: { id: string }) => id);
      return someDone(ids.map((id) => browser.call("PasskeyService/ConfirmPasskey", { id })));
    },
  },
  "TenantService/UpdateTenant": {
    reveal_to_people: async (_world, { browser }) => {
      const set = (value: string) =>
        browser.call("TenantService/UpdateTenant", { name: "T", settings: { reveal_to_people: value } });
      return (await set("false")).status === 200 && (await set("true")).status === 200;
    },
  },
  "PasskeyService/ResetPasskeys": {
    "of the ADMIN": async (world, { browser }) => {
      const memberId = world.strong.administrator;
      return (await browser.call("PasskeyService/ResetPasskeys", { memberId })).status === 200;
    },
  },
  "MemberService/DeleteMember": {
    "the ADMIN": async (world, { browser }) =>
      (await browser.call("MemberService/DeleteMember", { id: world.strong.administrator })).status === 200,
  },
};

function invite(role: string, containers: readonly string[] = []): Move {
  return async (world, { browser }) => {
    world.invited += 1;
    const email = `controlled-${world.invited}@example.com`;
    const invitation = { email, role, containers };
    const { status, body } = await browser.call("InvitationService/CreateInvitation", invitation);
    if (status !== 200) return false;
    world.people.push(await acceptAs(world.tenant, body.id, email));
    return true;
  };
}

/** Changes every controlled member. */
function promote(change: { readonly role: string; readonly containers?: readonly string[] }): Move {
  return async ({ people }, { browser, memberId }) => {
    const others = people.filter((person) => person.memberId !== memberId);
    return someDone(
      others.map((other) => browser.call("MemberService/UpdateMember", { id: other.memberId, ...change })),
    );
  };
}

function takingKeys(operation: string): Move {
  return async (world, { browser }) => {
    const ids = [world.strong.application, ...unlike(world.applications).map(({ id }) => id)];
    const responses = await Promise.all(ids.map((id) => browser.call(operation, { id })));
    const keys = responses.flatMap(({ status, body }) => (status === 200 && body.key ? [String(body.key)] : []));
    world.keys.push(...keys);
    return keys.length > 0;
  };
}

type Call = (world: World) => readonly [string, object];

/** Something that acts as a strong application: its key is one of that application. */
function keyOf(call: Call): Move {
  return async (world, { browser }) => {
    const { body } = await browser.call(...call(world));
    if (body.key) world.keys.push(String(body.key));
    return Boolean(body.key);
  };
}

/** A proxy of one's own, which acts as no application: its key holds nothing. */
function ownProxy(runs: (world: World) => object): Move {
  return async (world, { browser }) => {
    const proxy = { name: "P", destinationUrl: LANDED, ...runs(world) };
    return (await browser.call("ProxyService/CreateProxy", proxy)).status === 200;
  };
}

/** Code that runs as a strong application: its author has the application's rights. */
function codeOf(call: Call): Move {
  return async (world, { browser }) => {
    const { status } = await browser.call(...call(world));
    if (status === 200) world.keys.push("code");
    return status === 200;
  };
}

function forRights(move: (name: string, rights: (typeof RIGHTS)[keyof typeof RIGHTS]) => Move): Record<string, Move> {
  return Object.fromEntries(Object.entries(RIGHTS).map(([name, rights]) => [name, move(name, rights)]));
}

/** One application of each type, maker and rights: a move on another one of them is the same. */
function unlike(applications: readonly ControlledApplication[]): ControlledApplication[] {
  const known = new Map(
    applications.map((application) => {
      const { type, by, rights } = application;
      return [`${type}, ${by.memberId}, ${rights}`, application];
    }),
  );
  return [...known.values()];
}

async function someDone(calls: readonly ReturnType<TestBrowser["call"]>[]): Promise<boolean> {
  return (await Promise.all(calls)).some(({ status }) => status === 200);
}
