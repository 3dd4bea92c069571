import { type IncomingMessage, request } from "node:http";
import { text } from "node:stream/consumers";
import { type DescMethod, type DescService, getOption, hasOption } from "@bufbuild/protobuf";
import { beforeAll, describe, expect, inject, it } from "vitest";
import {
  ApplicationKeyService,
  ApplicationService,
  PermissionService,
} from "../../../gen/cloakroom/v1/applications_pb.js";
import { ConnectionService } from "../../../gen/cloakroom/v1/connections_pb.js";
import { InvitationService } from "../../../gen/cloakroom/v1/invitations_pb.js";
import { LogService } from "../../../gen/cloakroom/v1/logs_pb.js";
import { MemberService } from "../../../gen/cloakroom/v1/members_pb.js";
import { AuthMode, policy } from "../../../gen/cloakroom/v1/options_pb.js";
import { ProxyService } from "../../../gen/cloakroom/v1/proxies_pb.js";
import { ReactorFormulaService, ReactorService } from "../../../gen/cloakroom/v1/reactors_pb.js";
import { SessionService } from "../../../gen/cloakroom/v1/sessions_pb.js";
import { TenantService } from "../../../gen/cloakroom/v1/tenants_pb.js";
import { ThreeDSService } from "../../../gen/cloakroom/v1/threeds_pb.js";
import { TokenizeService, TokenService } from "../../../gen/cloakroom/v1/tokens_pb.js";
import { TransactionService } from "../../../gen/cloakroom/v1/transactions_pb.js";
import { http } from "../../../gen/google/api/annotations_pb.js";
import type { HttpRule } from "../../../gen/google/api/http_pb.js";
import type { RestClient } from "../../support/rest.js";
import { newTenant, type TestTenant } from "../../support/tenant.js";

const SERVICES: readonly DescService[] = [
  ...[ApplicationKeyService, ApplicationService, ConnectionService, InvitationService, LogService, MemberService],
  ...[PermissionService, ProxyService, ReactorFormulaService, ReactorService, SessionService, TenantService],
  ...[ThreeDSService, TokenService, TokenizeService, TransactionService],
];

describe("paths", () => {
  let tenant: TestTenant;
  let backEnd: RestClient & { readonly key: string };
  beforeAll(async () => {
    tenant = await newTenant();
    backEnd = await tenant.backEnd();
  });

  it.each([
    ["GET", "/"],
    ["GET", "/nope"],
    ["POST", "/nope"],
    ["DELETE", "/tokens/a/b"],
    ["GET", "//tokens"],
    ["GET", "/tenants"],
    ["GET", "/tenants/other"],
    ["GET", "/v1/tokens"],
    ["GET", "/TENANTS/SELF"],
    ["POST", "/cloakroom.v1.TokenService/Nope"],
    ["POST", "/cloakroom.v1.NopeService/GetToken"],
    ["POST", "/cloakroom.v1.TokenService"],
  ])("are 404 if they do not exist, also without a key: %s %s", async (method, path) => {
    for (const key of [backEnd.key, undefined]) {
      const { status, body, headers } = await backEnd(method, path, {
        key,
        ...(method === "POST" ? { body: {} } : {}),
      });
      expect({ status, code: body.code }).toEqual({ status: 404, code: "not_found" });
      expect(headers.get("content-type")).toBe("application/json; charset=utf-8");
    }
  });

  it.each([
    ["DELETE", "/tokenize", ["POST"]],
    ["GET", "/detokenize", ["POST"]],
    ["PATCH", "/tenants/self", ["GET", "PUT"]],
    ["POST", "/logs", ["GET"]],
    ["DELETE", "/permissions", ["GET"]],
    ["PUT", "/tokens/abc", ["GET", "DELETE"]],
    ["PATCH", "/applications/01890000-0000-7000-8000-000000000000", ["GET", "PUT", "DELETE"]],
    ["PUT", "/applications/01890000-0000-7000-8000-000000000000/keys", ["POST", "GET"]],
  ])("are 405 with a list if they support other methods: %s %s", async (method, path, methods) => {
    const response = await backEnd(method, path, method === "GET" ? {} : { raw: "{" });
    expect(response).toMatchObject({ status: 405, body: { code: "method_not_allowed", status: 405 } });
    const allowed = response.headers.get("allow")?.split(", ") ?? [];
    expect(allowed).toEqual(expect.arrayContaining(methods));
    expect(allowed).not.toContain(method);
    for (const one of allowed) expect(response.body.detail).toContain(one);
  });

  it.each<readonly [string, string, number, string | undefined]>([
    ["TRACE", "/cloakroom.v1.TokenService/GetToken", 405, "POST"],
    ["PROPFIND", "/cloakroom.v1.TokenService/GetToken", 405, "POST"],
    ["PROPFIND", "/nothing", 404, undefined],
    ...["TRACE", "QUERY", "PROPFIND"].flatMap((method) => [
      [method, "/tokens", 405, "GET, POST"] as const,
      [method, "/tokens/?size=1", 405, "GET, POST"] as const,
      [method, "/applications/abc/keys", 405, "POST, GET"] as const,
    ]),
  ])("answer %s like any other method: %s", async (method, path, status, allow) => {
    // fetch refuses to send TRACE.
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      const sent = request(`${inject("serverUrl")}${path}`, { method }, resolve);
      sent.once("error", reject).end();
    });
    expect({ status: response.statusCode, allow: response.headers.allow }).toEqual({ status, allow });
    const code = status === 405 ? "method_not_allowed" : "not_found";
    expect(JSON.parse(await text(response))).toMatchObject({ code });
  });

  it("accept POST only if they are RPC methods", async () => {
    for (const method of ["GET", "PUT", "DELETE"]) {
      const response = await backEnd(method, "/cloakroom.v1.TokenService/GetToken");
      expect(response).toMatchObject({ status: 405, body: { code: "method_not_allowed" } });
      expect(response.headers.get("allow")).toBe("POST");
    }
  });

  it("accept the content types of RPC only if they are RPC methods", async () => {
    for (const type of [
      "text/plain",
      "application/xml",
      "application/grpc+thrift",
      "application/x-www-form-urlencoded",
    ]) {
      const response = await backEnd("POST", "/cloakroom.v1.TokenService/GetToken", {
        raw: "x",
        headers: { "content-type": type },
      });
      expect(response).toMatchObject({ status: 415, body: { code: "unsupported_media_type" } });
    }
  });

  it.each([
    ["GET", "/tenants/self"],
    ["GET", "/logs"],
    ["GET", "/permissions"],
    ["GET", "/applications"],
    ["GET", "/applications/key"],
  ])("may end in a slash, without a redirect: %s %s", async (method, path) => {
    const plain = await tenant.manage(method, path);
    const slash = await tenant.manage(method, `${path}/`);
    expect(plain.status).toBe(200);
    expect(slash.status).toBe(200);
    expect(Object.keys(slash.body)).toEqual(Object.keys(plain.body));
    const query = path === "/permissions" ? "application_type=public" : "page=1";
    expect(await tenant.manage(method, `${path}/?${query}`)).toMatchObject({ status: 200 });
  });

  it("may end in a slash if their operation has a body", async () => {
    const created = await backEnd("POST", "/tokens/", { body: { type: "token", data: "x" } });
    expect(created.status).toBe(201);
    expect(await backEnd("GET", `/tokens/${created.body.id}/`)).toMatchObject({ status: 200, body: { data: "x" } });
    expect(await backEnd("POST", "/tokenize/", { body: "x" })).toMatchObject({ status: 200 });
    const call = await backEnd("POST", "/cloakroom.v1.TokenService/GetToken/", { body: { id: created.body.id } });
    expect(call).toMatchObject({ status: 200, body: { id: created.body.id } });
  });

  it.each([
    ["broken percent-encoding", "/tokens/%E0%A4%A"],
    ["percent-encoding that is not UTF-8", "/tokens/%ff%fe"],
    ["an id far beyond the limit", `/tokens/${"x".repeat(5_000)}`],
  ])("with %s are 400, in the usual error format, and are not quoted", async (_, path) => {
    const { status, body, headers } = await backEnd("GET", path, { headers: { "BT-TRACE-ID": "path-trace" } });
    expect(status).toBe(400);
    expect(body).toMatchObject({ code: "malformed_body", status: 400, instance: "urn:cloakroom:trace:path-trace" });
    expect(headers.get("content-type")).toBe("application/json; charset=utf-8");
    expect(headers.get("bt-trace-id")).toBe("path-trace");
    expect(JSON.stringify(body)).not.toMatch(/E0|ff|xxx/);
  });

  it.each([
    ["a NUL", "/tokens/a%00b"],
    ["401 characters", `/tokens/${"x".repeat(401)}`],
    ["nothing", "/tokens//"],
  ])("with an id of %s name the id", async (_, path) => {
    const { status, body } = await backEnd("GET", path);
    expect({ status, fields: Object.keys(body.errors ?? {}) }).toEqual({ status: 400, fields: ["id"] });
  });

  it.each([
    ["GET", "/applications/{id}", "id"],
    ["PUT", "/applications/{id}", "id"],
    ["DELETE", "/applications/{id}", "id"],
    ["GET", "/applications/{id}/keys", "id"],
    ["POST", "/applications/{id}/keys", "id"],
    ["GET", "/applications/01890000-0000-7000-8000-000000000000/keys/{id}", "key_id"],
  ])("with an id that is not a UUID name it: %s %s", async (method, template, field) => {
    const wrong = [
      "x",
      "01890000-0000-7000-8000-00000000000",
      "01890000000070008000000000000000",
      "{01890000-0000-7000-8000-000000000000}",
      "%F0%9F%91%8B",
    ];
    for (const id of wrong) {
      const body = { name: "x", permissions: ["token:read"] };
      const response = await tenant.manage(method, template.replace("{id}", id), method === "PUT" ? { body } : {});
      expect({ id, status: response.status, fields: Object.keys(response.body.errors ?? {}) }).toEqual({
        id,
        status: 400,
        fields: [field],
      });
    }
  });

  it("answer HEAD like GET, without a body", async () => {
    const { body } = await backEnd("POST", "/tokens", { body: { type: "token", data: "x" } });
    for (const [client, path] of [
      [tenant.manage, "/tenants/self"],
      [backEnd, `/tokens/${body.id}`],
      [backEnd, "/tokens/not-there"],
      [backEnd, "/nope"],
    ] as const) {
      const get = await client("GET", path);
      const head = await client("HEAD", path);
      expect(head).toMatchObject({ status: get.status, body: "" });
      for (const name of ["content-type", "content-length"]) expect(head.headers.get(name)).toBe(get.headers.get(name));
    }
    expect(await backEnd("HEAD", "/tokens/x", { key: "unknown" })).toMatchObject({ status: 401, body: "" });
    expect(await backEnd("HEAD", "/tokenize")).toMatchObject({ status: 405, body: "" });
  });

  const withRules = SERVICES.flatMap(({ methods }) => methods).filter((method) => hasOption(method, http));
  it("exist for every method of the protos", () => {
    expect(withRules.length).toBeGreaterThan(60);
  });

  it.each(withRules.map((method): [string, DescMethod] => [`${method.parent.name}.${method.name}`, method]))(
    "%s is served over REST and RPC, or over neither",
    async (_, method) => {
      if (getOption(method, policy).auth === AuthMode.OPTIONAL) return;
      const rpc = await backEnd("POST", `/${method.parent.typeName}/${method.name}`, { key: "unknown", body: {} });
      expect([401, 501]).toContain(rpc.status);
      const rule = getOption(method, http);
      for (const binding of [rule, ...rule.additionalBindings]) {
        const [verb, template] = routeOf(binding);
        const path = template.replaceAll(/\{\w+\}/g, "01890000-0000-7000-8000-000000000000");
        const rest = await backEnd(verb, path, { key: "unknown" });
        if (rpc.status === 401) expect(rest.status).toBe(401);
        else expect([404, 405]).toContain(rest.status);
      }
    },
  );
});

function routeOf({ pattern }: HttpRule): readonly [string, string] {
  if (pattern.case === undefined || pattern.case === "custom") throw new Error("a rule names no method");
  return [pattern.case.toUpperCase(), pattern.value];
}
