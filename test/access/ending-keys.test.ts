import fc from "fast-check";
import { afterAll, beforeAll, expect, inject, it } from "vitest";
import { Authenticator } from "../../src/access/authenticate.js";
import { parseKeyName } from "../../src/access/frame-pass.js";
import { FramePasses } from "../../src/access/frame-passes.js";
import { EMPTY_CONTEXT } from "../../src/audit/audit-context.js";
import { HOUR_MS, MINUTE_MS } from "../../src/base/clock.js";
import { readConfig } from "../../src/settings/config.js";
import { openVault, type Vault } from "../../src/vault/vault.js";
import { frameHeader, keyNameOf } from "../support/frame-pass.js";
import { type RestResponse, restClient } from "../support/rest.js";
import { newTenant, type TestTenant } from "../support/tenant.js";

const SHOP = "https://shop.example.com";
/** Shorter than a session and a pass usually last. */
const LIFE_MS = 2 * MINUTE_MS;
const DEFINITIONS = {
  management: {
    permissions: ["application:create", "application:read", "application:update", "application:delete"],
  },
  private: { permissions: ["token:create", "token:read"] },
  public: { permissions: ["token:create"], allowed_origins: [SHOP], allow_page_requests: true },
} as const;
type Type = keyof typeof DEFINITIONS;

const clock = { ahead: 0, now: () => Date.now() + clock.ahead };
let vault: Vault;
let tenant: TestTenant;
beforeAll(async () => {
  const config = readConfig(inject("serverEnvironment"));
  [vault, tenant] = await Promise.all([openVault({ config, as: "command", announce: () => {}, clock }), newTenant()]);
});
afterAll(() => vault?.[Symbol.asyncDispose]());

/** What somebody has got who began with one key that ends. */
interface Holdings {
  readonly end: number;
  readonly keys: { readonly type: Type; readonly key: string }[];
  readonly sessions: string[];
  readonly nonces: string[];
  /** The key of a page, which does not end. Others authorize its sessions. */
  readonly page: string;
  readonly passes: { readonly header: string; readonly key: string }[];
  /** All that the holder knows, with others' whose keys it does not have. */
  readonly applications: { readonly type: Type; readonly id: string }[];
}

/** An end that a request asks for, from that of the first key. */
const ASKED = { none: undefined, before: -1_000, same: 0, later: 1, "much later": HOUR_MS } as const;
type Asked = keyof typeof ASKED;

interface Step {
  readonly move: "application" | "key" | "regenerate" | "session" | "authorize" | "pass";
  readonly type: Type;
  readonly by: number;
  readonly on: number;
  readonly asked: Asked;
}

function pick<T>(items: readonly T[], index: number): T | undefined {
  return items[index % Math.max(items.length, 1)];
}

/** Takes what a response made. Only a later end than the first key's is refused, and a key that was replaced meanwhile. */
function taken({ status, body }: RestResponse, asked: Asked): boolean {
  if (status < 300) return true;
  const isLater = asked === "later" || asked === "much later";
  if (isLater && status !== 401)
    expect({ status, fields: Object.keys(body.errors ?? {}) }).toEqual({ status: 400, fields: ["expires_at"] });
  return false;
}

async function take(held: Holdings, { move, type, by, on, asked }: Step): Promise<void> {
  const holder = (wanted: Type) =>
    pick(
      held.keys.filter((key) => key.type === wanted),
      by,
    )?.key;
  const call = (key: string | undefined, path: string, body?: object) =>
    restClient(tenant.url, key)("POST", path, body ? { body } : {});
  const offset = ASKED[asked];
  const end = offset === undefined ? {} : { expires_at: new Date(held.end + offset).toISOString() };
  const application = pick(held.applications, on);
  switch (move) {
    case "application": {
      const made = await call(holder("management"), "/applications", { name: "A", type, ...DEFINITIONS[type] });
      held.applications.push({ type, id: made.body.id });
      held.keys.push({ type, key: made.body.key });
      return;
    }
    case "key": {
      const made = await call(holder("management"), `/applications/${application?.id}/keys`, end);
      if (application && taken(made, asked)) held.keys.push({ type: application.type, key: made.body.key });
      return;
    }
    case "regenerate": {
      const made = await call(holder("management"), `/applications/${application?.id}/regenerate`);
      if (application && made.status === 200) held.keys.push({ type: application.type, key: made.body.key });
      return;
    }
    case "session": {
      const { status, body } = await call(type === "public" ? holder("public") : held.page, "/sessions");
      if (status !== 201) return;
      held.sessions.push(body.session_key);
      held.nonces.push(body.nonce);
      return;
    }
    case "authorize": {
      const nonce = pick(held.nonces, on);
      const authorizer = holder("private");
      if (nonce === undefined || authorizer === undefined) return;
      const sent = { nonce, permissions: ["token:read"], ...end };
      const { status } = await call(authorizer, "/sessions/authorize", sent);
      if (offset !== undefined && offset > 0) expect([400, 401]).toContain(status);
      return;
    }
    case "pass": {
      const key = holder("public");
      if (key === undefined || (await restClient(tenant.url, key)("GET", "/applications/key")).status === 401) return;
      held.passes.push({ key, header: (await frameHeader(tenant.url, key, SHOP))["Cloakroom-Frame"] ?? "" });
    }
  }
}

/** What works at a time. */
async function working({ keys, sessions, passes }: Holdings, at: number): Promise<readonly string[]> {
  clock.ahead = at - Date.now();
  const authenticator = new Authenticator(vault.database, vault.keyring, clock);
  const framePasses = new FramePasses(vault.database, vault.keyring, clock);
  const works = async (name: string, attempt: Promise<unknown>) => {
    const result = await attempt.then(
      (found) => found !== undefined,
      () => false,
    );
    return result ? [name] : [];
  };
  const sessionWithRights = async (key: string) => {
    const caller = await authenticator.identify(key, EMPTY_CONTEXT);
    return caller.grant.isEmpty ? undefined : caller;
  };
  const issue = async (key: string) => {
    const name = parseKeyName(keyNameOf(key));
    return name && framePasses.issue(name, "192.0.2.1");
  };
  const attempts = [
    ...keys.map(({ type, key }) => works(`the ${type} key ${key}`, authenticator.identify(key, EMPTY_CONTEXT))),
    ...sessions.map((key) => works(`the session ${key}`, sessionWithRights(key))),
    ...keys.filter(({ type }) => type === "public").map(({ key }) => works(`a pass for ${key}`, issue(key))),
    ...passes.map(async ({ header, key }) => {
      const [pass = ""] = header.split(" ");
      const until = Number.parseInt(pass.split(".")[1] ?? "", 36);
      return until > at || (await works(key, framePasses.renew(header, "192.0.2.1"))).length > 0
        ? [`the pass ${pass}`]
        : [];
    }),
  ];
  return (await Promise.all(attempts)).flat();
}

/** An application with a key that its holder does not know, and that does not end. */
async function someApplication(type: Type) {
  const body = { name: "B", type, ...DEFINITIONS[type] };
  const { id } = (await tenant.manage("POST", "/applications", { body })).body;
  return { type, id: String(id) };
}

async function newHoldings(): Promise<Holdings> {
  const applications = await Promise.all((["management", "private", "public"] as const).map(someApplication));
  const end = Date.now() + LIFE_MS;
  const body = { expires_at: new Date(end).toISOString() };
  const own = await someApplication("management");
  const first = await tenant.manage("POST", `/applications/${own.id}/keys`, { body });
  const key = String(first.body.key);
  const page = (await tenant.application({ type: "public", permissions: ["token:create"] })).key;
  return { end, keys: [{ type: "management", key }], sessions: [], nonces: [], page, passes: [], applications };
}

const step = fc.record<Step>({
  move: fc.constantFrom("application", "key", "regenerate", "session", "authorize", "pass"),
  type: fc.constantFrom("management", "private", "public"),
  by: fc.nat(5),
  on: fc.nat(5),
  asked: fc.constantFrom<Asked>("none", "before", "same", "later", "much later"),
});

it("gets no key, session or pass that works after its end, by any chain", async () => {
  let made = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 4, maxLength: 12 }), async (steps) => {
      clock.ahead = 0;
      const held = await newHoldings();
      for (const next of steps) await take(held, next);
      made += held.keys.length + held.sessions.length + held.passes.length - 1;
      expect(await working(held, held.end - 10_000)).not.toEqual([]);
      expect(await working(held, held.end)).toEqual([]);
    }),
    { numRuns: 60 },
  );
  expect(made).toBeGreaterThan(60);
});
