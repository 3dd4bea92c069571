import { getOption, hasOption } from "@bufbuild/protobuf";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { policy } from "../../../gen/cloakroom/v1/options_pb.js";
import { PasskeyService } from "../../../gen/cloakroom/v1/passkeys_pb.js";
import { RevealService } from "../../../gen/cloakroom/v1/reveals_pb.js";
import { ServerService } from "../../../gen/cloakroom/v1/server_pb.js";
import { SignInService } from "../../../gen/cloakroom/v1/sign_ins_pb.js";
import { TokenExportService } from "../../../gen/cloakroom/v1/token_exports_pb.js";
import { http } from "../../../gen/google/api/annotations_pb.js";
import { methods } from "../../support/methods.js";
import type { RestClient, RestResponse } from "../../support/rest.js";
import { openStored, type Stored } from "../../support/stored.js";
import { CALLS, type MethodCall } from "./calls.js";
import { EXPECTED_ROWS } from "./expected-rows.js";
import { CARD, newWorld, type World } from "./world.js";

interface LogRow {
  readonly id: string;
  readonly actor_id?: string;
  readonly actor_type?: string;
  readonly entity_type: string;
  readonly entity_id: string;
  readonly operation: string;
  readonly outcome?: string;
  readonly code?: string;
  readonly key_id?: string;
  readonly client?: string;
  readonly source_ip?: string;
  readonly trace_id?: string;
}

/**
 * sign-in-rows.test.ts and passkey-rows.test.ts have the methods of people, who have no key. REST has neither the stream,
 * for which follow-logs.test.ts is, nor the server's version, which belongs to no tenant and leaves no row.
 */
const ELSEWHERE: readonly unknown[] = [SignInService, PasskeyService, RevealService, TokenExportService, ServerService];
const names = methods
  .filter(({ parent, methodKind }) => !ELSEWHERE.includes(parent) && methodKind === "unary")
  .map(({ name }) => name);
const DELETES_THE_LOG = "DeleteTenant";
const UNKNOWN_ID = "01890000-0000-7000-8000-000000000000";

let world: World;
beforeAll(async () => {
  world = await newWorld();
});
afterAll(() => world?.[Symbol.asyncDispose]());

const rowsNow = async (): Promise<LogRow[]> => (await world.tenant.manage("GET", "/logs?size=100")).body.data;

/** The log rows of an action, once `until` of them are there. */
async function rowsOf<T>(
  action: () => Promise<T>,
  until = 0,
): Promise<{ readonly result: T; readonly rows: LogRow[] }> {
  const before = new Set((await rowsNow()).map(({ id }) => id));
  const result = await action();
  const look = async () => (await rowsNow()).filter(({ id }) => !before.has(id));
  const rows = await vi.waitFor(
    async () => {
      const found = await look();
      if (found.length < until) throw new Error(`${found.length} of ${until} rows are there`);
      return found;
    },
    { interval: 100 },
  );
  return { result, rows };
}

/** The REST paths of a method. */
function bindingsOf(name: string): { readonly verb: string; readonly template: string }[] {
  const method = methods.find((known) => known.name === name);
  if (!method || !hasOption(method, http)) return [];
  const rule = getOption(method, http);
  return [rule, ...rule.additionalBindings].map(({ pattern: { case: verb = "", value } }) => ({
    verb: verb.toUpperCase(),
    template: typeof value === "string" ? value : "",
  }));
}

/** Fails if a call would test another method than it is listed for. */
function requireOwnAddress(name: string, { verb, path }: MethodCall): void {
  const [own = ""] = path.split("?");
  const matching = methods.flatMap((method) =>
    bindingsOf(method.name)
      .filter(
        (binding) =>
          binding.verb === verb && new RegExp(`^${binding.template.replaceAll(/\{\w+\}/g, "[^/]+")}$`).test(own),
      )
      .map(({ template }) => ({ name: method.name, holes: template.split("{").length })),
  );
  // The one method that accepts any verb has no binding of its own.
  if (own === "/proxy") matching.push({ name: "InvokeProxy", holes: 0 });
  const [narrowest] = matching.toSorted((one, other) => one.holes - other.holes);
  expect(narrowest?.name).toBe(name);
}

function put(
  { operation, entity_type, entity_id, actor_id, actor_type }: LogRow,
  caller: string,
  response: RestResponse,
): string {
  const entity =
    entity_id === "*"
      ? "*"
      : world.isStored(entity_id)
        ? "stored"
        : JSON.stringify(response.body).includes(entity_id)
          ? "made"
          : "unseen";
  const isOwn = actor_id === caller && actor_type === "application";
  const actor = isOwn ? "" : actor_id === undefined && actor_type === undefined ? " (server)" : " (somebody else)";
  return `${operation} ${entity_type} ${entity}${actor}`;
}

const send = ({ caller, verb, path, request }: MethodCall) => caller(verb, path, request);

describe("the log rows of every method", () => {
  it("are listed for every method, and for no other", () => {
    expect(new Set(names).size).toBe(names.length);
    expect(Object.keys(EXPECTED_ROWS).toSorted()).toEqual(names.toSorted());
    expect(Object.keys(CALLS).toSorted()).toEqual(names.toSorted());
  });

  it.each(names.filter((name) => name !== DELETES_THE_LOG))("%s leaves the rows of expected-rows.ts", async (name) => {
    const prepare = CALLS[name];
    if (!prepare) throw new Error(`calls.ts does not say how ${name} is called`);
    const expected = EXPECTED_ROWS[name] ?? ["a line in expected-rows.ts"];
    const call = await prepare(world);
    requireOwnAddress(name, call);
    const { result, rows } = await rowsOf(() => send(call), call.isDoneLater ? expected.length : 0);
    expect(result.status, JSON.stringify(result.body)).toBeLessThan(300);
    expect(rows.map((row) => put(row, call.caller.id, result)).toSorted()).toEqual(expected.toSorted());
    for (const row of rows.filter(({ actor_id }) => actor_id === call.caller.id)) {
      // Every row of the caller names the request, also those that work in the background leaves later.
      expect(row).toMatchObject({ outcome: "allowed", client: "node", source_ip: "127.0.0.1" });
      expect(row.trace_id).toBe(result.headers.get("bt-trace-id"));
      // A run later acts as the application, without its key.
      expect(row.key_id === undefined ? call.isDoneLater : row.key_id).toBeTruthy();
    }
    expect(JSON.stringify(rows)).not.toContain(CARD.number);
  });

  it("disappear with a deleted tenant a moment later", async () => {
    const stored: Stored = await openStored();
    try {
      // The log is removed within 5 s: a slow test deletes another tenant.
      await vi.waitFor(async () => {
        await using own = await newWorld();
        const before = await own.tenant.manage("GET", "/logs?size=1");
        const call = await CALLS[DELETES_THE_LOG]?.(own);
        if (!call) throw new Error("calls.ts does not say how a tenant is deleted");
        expect((await send(call)).status).toBe(204);
        const text = await stored.textOf(own.tenant.id, "audit_logs");
        const rows = text.split("\n").filter((row) => row.includes(",delete,"));
        expect(before.status).toBe(200);
        expect(rows).toHaveLength(1);
        expect(rows[0]).toContain(`,application,tenant,${own.tenant.id},delete,`);
        expect(rows[0]).toContain(own.manager.id);
      });
    } finally {
      await stored[Symbol.asyncDispose]();
    }
  });
});

/** The methods that accept an idempotency key. */
const REPEATABLE = methods.filter((method) => getOption(method, policy).idempotent).map(({ name }) => name);

describe("a repeated request with an idempotency key", () => {
  it.each(REPEATABLE)("%s is replayed with a header that says so, and leaves only rows of the replay", async (name) => {
    const call = await CALLS[name]?.(world);
    if (!call) throw new Error(`calls.ts does not say how ${name} is called`);
    const headers = { ...call.request?.headers, "BT-IDEMPOTENCY-KEY": `again-${name}` };
    const repeatable = { ...call, request: { ...call.request, headers } };
    const first = await send(repeatable);
    expect(first.status, JSON.stringify(first.body)).toBeLessThan(300);
    const { result, rows } = await rowsOf(() => send(repeatable), 1);
    expect(result.status).toBe(first.status);
    expect(result.headers.get("bt-idempotency-replayed")).toBe("true");
    expect(first.headers.get("bt-idempotency-replayed")).toBeNull();
    expect(rows.map(({ operation, actor_id }) => [operation, actor_id])).toEqual(
      Array(name === "Tokenize" ? 3 : 1).fill(["replay", call.caller.id]),
    );
  });
});

/** Methods that every key may call. */
const NEEDS_NO_PERMISSION = ["GetApplicationByKey", "ListPermissions"];

describe("a known key without permission", () => {
  let powerless: RestClient & { readonly id: string };
  let proxyKey: string;
  beforeAll(async () => {
    powerless = await world.tenant.application({ type: "private", permissions: ["token:search"] });
    const proxy = { name: "P", destination_url: "https://example.com" };
    ({ key: proxyKey } = (await world.tenant.manage("POST", "/proxies", { body: proxy })).body);
  });

  it.each(names.filter((name) => !NEEDS_NO_PERMISSION.includes(name)))(
    "%s leaves one row that says so",
    async (name) => {
      const client = ["AuthorizeSession", "SearchTokens", "SearchTokensByCursor"].includes(name)
        ? world.front
        : powerless;
      const [binding = { verb: "POST", template: "/proxy" }] = bindingsOf(name);
      const path = binding.template.replaceAll(/\{\w+\}/g, UNKNOWN_ID);
      const type = binding.verb === "PATCH" ? "application/merge-patch+json" : "application/json";
      const request = binding.verb === "GET" ? {} : { body: { nonce: "none", permissions: ["token:read"] } };
      const headers = { "Content-Type": type, "BT-PROXY-KEY": proxyKey };
      const { result, rows } = await rowsOf(() => client(binding.verb, path, { ...request, headers }));
      expect(result.status, JSON.stringify(result.body)).toBe(403);
      expect(rows.map(({ operation, actor_id }) => [operation, actor_id])).toEqual([["refuse", client.id]]);
      expect(rows[0]).toMatchObject({ outcome: "denied", code: "permission_denied", source_ip: "127.0.0.1" });
    },
  );
});
