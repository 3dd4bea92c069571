import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { beforeAll, describe, expect, inject, it, vi } from "vitest";
import { TokenService } from "../../../gen/cloakroom/v1/tokens_pb.js";
import { toValue } from "../../../src/services/value.js";
import type { RestClient } from "../../support/rest.js";
import { failureOf, RPC_PROTOCOLS, rpcClient } from "../../support/rpc.js";
import { newTenant, type TestTenant } from "../../support/tenant.js";

let tenant: TestTenant;
let backEnd: RestClient & { readonly key: string };
beforeAll(async () => {
  tenant = await newTenant();
  backEnd = await tenant.backEnd();
  await backEnd("POST", "/tokens", { body: { type: "token", id: "taken", data: 1 } });
});

describe("an error over REST", () => {
  it.each([
    ["a body that is not JSON", "POST", "/tokens", { raw: "{" }, 400, "malformed_body"],
    ["a wrong field", "POST", "/tokens", { body: { type: "nope", data: 1 } }, 400, "validation_failed"],
    ["no key", "GET", "/tokens/taken", { key: undefined }, 401, "unauthenticated"],
    ["no permission", "GET", "/logs", {}, 403, "permission_denied"],
    ["nothing there", "GET", "/tokens/not-there", {}, 404, "not_found"],
    ["no such path", "GET", "/nope", {}, 404, "not_found"],
    ["no such method", "PUT", "/tokens", {}, 405, "method_not_allowed"],
    ["a taken id", "POST", "/tokens", { body: { type: "token", id: "taken", data: 1 } }, 409, "already_exists"],
    ["too much", "POST", "/tokens", { raw: `"${"x".repeat(6_000_000)}"` }, 413, "body_too_large"],
    [
      "another content type",
      "POST",
      "/tokens",
      { raw: "x", headers: { "content-type": "text/csv" } },
      415,
      "unsupported_media_type",
    ],
  ])("for %s has the common problem format", async (_, method, path, request, status, code) => {
    const response = await backEnd(method, path, {
      ...request,
      headers: { "BT-TRACE-ID": "T-1", ...("headers" in request ? request.headers : {}) },
    });
    expect(response.status).toBe(status);
    expect(response.headers.get("content-type")).toBe("application/json; charset=utf-8");
    const { errors, ...problem } = response.body;
    expect(problem).toEqual({
      type: `/docs/guides/errors#${code}`,
      title: expect.stringMatching(/\S/),
      status,
      detail: expect.stringMatching(/\S/),
      instance: "urn:cloakroom:trace:T-1",
      code,
    });
    if (status === 400) expect(Object.keys(errors).length).toBeGreaterThan(0);
    for (const [field, texts] of Object.entries(errors ?? {})) {
      expect(field).not.toBe("");
      expect(texts).toEqual([expect.stringMatching(/\S/)]);
    }
  });

  it("shows the first problem and their number, and lists all at once, whichever step finds them", async () => {
    const rules = [
      { priority: 1, container: "/pci", transform: "show", permissions: ["token:raed"] },
      { priority: 1, container: "/", transform: "mask", permissions: ["token:read"] },
    ];
    const application = await tenant.manage("POST", "/applications", { body: { name: 5, type: "private", rules } });
    expect(application).toMatchObject({
      status: 400,
      body: { title: "One or more validation errors occurred.", detail: "name must be a string (1 of 5 problems)" },
    });
    expect(application.body.errors).toEqual({
      name: ["must be a string"],
      "rules[0].transform": ["must be one of: redact, mask, reveal"],
      "rules[0].container": ["must be a container path such as /pci/"],
      "rules[0].permissions[0]": ["must be a token permission"],
      "rules[1].priority": ["must be unique among the rules"],
    });
    const token = { type: "card", data: { number: "12" }, containers: ["pci"], expires_at: "soon", metadata: { a: 1 } };
    const { body } = await backEnd("POST", "/tokens", { body: token });
    expect(body.detail).toBe("metadata.a must be a string (1 of 4 problems)");
    expect(Object.keys(body.errors)).toEqual(["metadata.a", "data.number", "containers[0]", "expires_at"]);
    const single = await backEnd("POST", "/tokens", { body: { type: "token" } });
    expect(single.body).toMatchObject({ detail: "data must be given", errors: { data: ["must be given"] } });
    const leaves = await backEnd("POST", "/tokenize", {
      body: [{ type: "nope", data: 1 }, "x", { type: "card", data: 2 }],
    });
    expect(Object.keys(leaves.body.errors)).toEqual(["[0].type", "[2].data"]);
  });

  it("lists the problems of a list's entries even if one of them cannot be read", async () => {
    const rules = [
      { priority: "first", container: "/pci", transform: "mask", permissions: ["token:read", 5, "token:raed"] },
      "all of it",
      { priority: 2, container: "/", transform: "show", permissions: {} },
      { priority: 2, container: ["/"], transform: 1, permissions: ["token:read"] },
    ];
    const application = await tenant.manage("POST", "/applications", { body: { name: "n", type: "private", rules } });
    expect(application.status).toBe(400);
    expect(application.body.errors).toEqual({
      "rules[0].priority": ["must be a whole number"],
      "rules[0].permissions[1]": ["must be a string"],
      "rules[1]": ["must be an object"],
      "rules[2].permissions": ["must be a list"],
      "rules[3].container": ["must be a string"],
      "rules[3].transform": ["must be a string"],
      "rules[0].container": ["must be a container path such as /pci/"],
      "rules[0].permissions[2]": ["must be a token permission"],
      "rules[2].transform": ["must be one of: redact, mask, reveal"],
      "rules[3].priority": ["must be unique among the rules"],
    });
    const { body } = await backEnd("POST", "/tokens", {
      body: { type: "token", data: 1, containers: [1, "pci", "/a/"] },
    });
    expect(Object.keys(body.errors)).toEqual(["containers[0]", "containers[1]"]);
  });

  it("lists at most 100 problems, in 8 KB", async () => {
    const containers = Array.from({ length: 1_000 }, () => 1);
    const rules = Array.from({ length: 100 }, () => ({ priority: "a", container: 2, transform: 3, permissions: [4] }));
    for (const body of [
      { name: "n", type: "private", rules },
      { name: "n", type: "private", rules, permissions: containers },
    ]) {
      const { body: problem } = await tenant.manage("POST", "/applications", { body });
      expect(Object.keys(problem.errors).length).toBeLessThanOrEqual(100);
      expect(Object.keys(problem.errors).length).toBeGreaterThan(50);
    }
  });

  it("names the kind of key to use if this kind can never have the permission", async () => {
    const touched = await tenant.manage("POST", "/tokens", { body: { type: "token", data: 1 } });
    expect(touched.body.detail).toBe(
      "The key used lacks the permission token:create for this: a management key manages applications and never touches tokens. Use the key of a private or public application.",
    );
    expect((await backEnd("GET", "/proxies")).body.detail).toBe(
      "The key used lacks the permission proxy:read for this: only the key of a management application can hold it.",
    );
  });

  it("names every invalid field as it was sent", async () => {
    const { body } = await backEnd("POST", "/tokens", {
      body: { type: 1, data: 1, containers: ["/a/", 2], metadata: { "my.key": 3 }, expires_at: {} },
    });
    expect(body.errors).toEqual({
      type: ["must be a string"],
      "containers[1]": ["must be a string"],
      "metadata.my.key": ["must be a string"],
      expires_at: ["must be a string"],
    });
  });

  it("has a field `errors`, possibly empty, on every 400: clients look for it", async () => {
    const { status, body } = await backEnd("POST", "/detokenize", { body: "{{ not-there }}" });
    expect({ status, errors: body.errors }).toEqual({ status: 400, errors: {} });
  });
});

describe.each(RPC_PROTOCOLS)("an error over %s", (protocol) => {
  const tokens = (key: string = backEnd.key) => rpcClient(TokenService, protocol, { key });

  it.each([
    ["InvalidArgument", "validation_failed", () => tokens().createToken({ type: "nope", data: toValue(1) }), ["type"]],
    ["Unauthenticated", "unauthenticated", () => tokens("unknown").getToken({ id: "taken" }), []],
    ["PermissionDenied", "permission_denied", () => tokens(tenant.managementKey).getToken({ id: "taken" }), []],
    ["NotFound", "not_found", () => tokens().getToken({ id: "not-there" }), []],
    [
      "AlreadyExists",
      "already_exists",
      () => tokens().createToken({ type: "token", id: "taken", data: toValue(1) }),
      ["id"],
    ],
    [
      "ResourceExhausted",
      "body_too_large",
      () => tokens().createToken({ type: "token", data: toValue("x".repeat(6_000_000)) }),
      [],
    ],
  ] as const)("is %s, and its details contain %s", async (code, reason, call, fields) => {
    const failure = await failureOf(call());
    expect(failure).toMatchObject({ code, reason, fields, retryAfter: undefined });
    expect(failure.message).toMatch(/\S/);
  });

  it("has the same message as over REST", async () => {
    const { body } = await backEnd("GET", "/tokens/not-there");
    expect((await failureOf(tokens().getToken({ id: "not-there" }))).message).toBe(body.detail);
  });
});

describe("the trace of a request", () => {
  const wellFormed = ["a", "0123.ABC_def-9", "x".repeat(128)];
  const malformed = ["", "a b", "a/b", "ä", "x".repeat(129), "a,b", "<script>"];
  const ours = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
  const latin1 = (text: string) => Buffer.from(text).toString("latin1");

  it.each([
    ["a success", "GET", "/tokens/taken", 200],
    ["an error", "GET", "/tokens/not-there", 404],
    ["no such path", "GET", "/nope", 404],
    ["no such method", "PUT", "/tokens", 405],
    ["a preflight", "OPTIONS", "/tokens", 204],
    ["a look at the health", "GET", "/healthz", 200],
    ["a call over Connect", "POST", "/cloakroom.v1.TokenService/GetToken", 400],
    ["a call of a wrong method", "GET", "/cloakroom.v1.TokenService/GetToken", 405],
  ])("is returned in %s, or replaced if it is malformed", async (_, method, path, status) => {
    const send = (headers: Record<string, string>) =>
      backEnd(method, path, { headers, ...(method === "POST" ? { body: {} } : {}) });
    for (const trace of wellFormed) {
      const response = await send({ "BT-TRACE-ID": trace });
      expect({ status: response.status, trace: response.headers.get("bt-trace-id") }).toEqual({ status, trace });
    }
    const replaced = new Set<string | null>();
    for (const trace of malformed) {
      const response = await send({ "BT-TRACE-ID": latin1(trace) });
      expect(response.headers.get("bt-trace-id")).toMatch(ours);
      replaced.add(response.headers.get("bt-trace-id"));
    }
    expect(replaced.size).toBe(malformed.length);
    expect((await send({})).headers.get("bt-trace-id")).toMatch(ours);
  });

  it.each(RPC_PROTOCOLS)("is returned over %s, in responses and in errors", async (protocol) => {
    const tokens = rpcClient(TokenService, protocol, { key: backEnd.key, headers: { "bt-trace-id": "rpc-1" } });
    let seen: string | null = null;
    await tokens.getToken(
      { id: "taken" },
      {
        onHeader: (headers) => {
          seen = headers.get("bt-trace-id");
        },
      },
    );
    expect(seen).toBe("rpc-1");
    expect((await failureOf(tokens.getToken({ id: "not-there" }))).metadata.get("bt-trace-id")).toBe("rpc-1");
    const without = rpcClient(TokenService, protocol, {
      key: backEnd.key,
      headers: { "bt-trace-id": "not well formed" },
    });
    expect((await failureOf(without.getToken({ id: "not-there" }))).metadata.get("bt-trace-id")).toMatch(ours);
  });

  it("is in the operator's log, once per request, without any caller input", async () => {
    const trace = `operator-${process.pid}-${Date.now()}`;
    // Without digits: an id that repeats a number of the data which may be a card's is refused.
    const secret = `needle-${randomUUID().replaceAll(/\d/g, "x")}`;
    const headers = { "BT-TRACE-ID": trace, "BT-IDEMPOTENCY-KEY": secret };
    await backEnd("POST", "/tokens", {
      body: { type: "token", id: secret, data: secret, metadata: { k: secret } },
      headers,
    });
    await backEnd("GET", `/tokens/${secret}?q=${secret}`, { headers });
    await backEnd("POST", "/tokens", {
      raw: `{"${secret}`,
      headers: { ...headers, "BT-IDEMPOTENCY-KEY": `${secret}-other` },
    });
    await backEnd("GET", `/${secret}`, { headers });
    await backEnd("POST", "/cloakroom.v1.TokenService/GetToken", { body: { id: secret }, headers });
    await backEnd("POST", "/cloakroom.v1.TokenService/GetToken", { raw: `{"${secret}`, headers });
    await backEnd("GET", `/tokens/${secret}`, { headers, key: `${secret}` });
    const log = await vi.waitFor(() => {
      const text = readFileSync(inject("serverLog"), "utf8");
      expect(text.split(trace).length - 1).toBe(6);
      return text;
    });
    expect(log).not.toContain(secret);
    expect(log).not.toContain(backEnd.key);
    const lines = log
      .split("\n")
      .filter((line) => line.includes(trace))
      .map((line) => JSON.parse(line));
    const identified = { tenant_id: tenant.id, application_id: expect.any(String) };
    const timed = {
      level: 30,
      time: expect.stringMatching(/^\d{4}-.*Z$/),
      trace_id: trace,
      duration_ms: expect.any(Number),
    };
    expect(lines).toEqual([
      { ...timed, ...identified, msg: "served", rpc: "CreateToken", route: "/tokens", status: 201 },
      { ...timed, ...identified, msg: "served", rpc: "GetToken", route: "/tokens/{id}", status: 200 },
      {
        ...timed,
        ...identified,
        msg: "refused",
        rpc: "CreateToken",
        route: "/tokens",
        status: 400,
        code: "malformed_body",
      },
      { ...timed, ...identified, msg: "served", rpc: "GetToken", status: 200 },
      { ...timed, ...identified, msg: "refused", rpc: "GetToken", status: 400, code: "malformed_body" },
      { ...timed, msg: "refused", rpc: "GetToken", route: "/tokens/{id}", status: 401, code: "unauthenticated" },
    ]);
  });
});
