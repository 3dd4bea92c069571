import { beforeAll, describe, expect, it } from "vitest";
import { LogService } from "../../../gen/cloakroom/v1/logs_pb.js";
import { TokenService } from "../../../gen/cloakroom/v1/tokens_pb.js";
import { failureOf, RPC_PROTOCOLS, rpcClient } from "../../support/rpc.js";
import { newTenant, type TestTenant } from "../../support/tenant.js";

describe("authentication", () => {
  let tenant: TestTenant;
  let strangerKey: string;
  beforeAll(async () => {
    tenant = await newTenant();
    strangerKey = (await newTenant()).managementKey;
  });
  const logRows = async () => (await tenant.manage("GET", "/logs?size=100")).body.data.length;

  it.each([
    ["no key", () => undefined],
    ["an empty key", () => ""],
    ["an invented key", () => "let-me-in"],
    ["a key that was cut off", () => tenant.managementKey.slice(0, -1)],
    ["a key of 10,000 characters", () => "k".repeat(10_000)],
  ])("with %s is rejected on every protocol alike, and leaves no row", async (_, keyOf) => {
    const key = keyOf();
    const before = await logRows();
    const rest = await tenant.manage("GET", "/logs", { key, headers: key === "" ? { "BT-API-KEY": "" } : {} });
    expect(rest).toMatchObject({ status: 401, body: { code: "unauthenticated", title: "Unauthorized", status: 401 } });
    expect(rest.headers.get("content-type")).toBe("application/json; charset=utf-8");
    for (const protocol of RPC_PROTOCOLS) {
      const failure = await failureOf(rpcClient(LogService, protocol, { key }).listLogs({}));
      expect(failure).toMatchObject({ code: "Unauthenticated", reason: "unauthenticated" });
      expect(failure.message).toBe(rest.body.detail);
    }
    expect(await logRows()).toBe(before);
  });

  it("uses the header alone: not a query parameter, a form field or another header", async () => {
    const key = tenant.managementKey;
    for (const request of [
      { path: `/logs?BT-API-KEY=${key}&bt-api-key=${key}&key=${key}`, headers: {} },
      { path: "/logs", headers: { Authorization: `Bearer ${key}` } },
      { path: "/logs", headers: { "X-API-KEY": key } },
    ]) {
      expect(await tenant.manage("GET", request.path, { key: undefined, headers: request.headers })).toMatchObject({
        status: 401,
      });
    }
  });

  it("takes the header in any case", async () => {
    for (const name of ["BT-API-KEY", "bt-api-key", "Bt-Api-Key"]) {
      const headers = { [name]: tenant.managementKey };
      expect(await tenant.manage("GET", "/logs", { key: undefined, headers })).toMatchObject({ status: 200 });
    }
  });

  it("comes before any other check", async () => {
    for (const [method, path, request] of [
      ["POST", "/tokens", { raw: "{" }],
      ["POST", "/tokens", { raw: "x", headers: { "content-type": "text/plain" } }],
      ["POST", "/tokens", { raw: `"${"x".repeat(6 * 1024 * 1024)}"` }],
      ["GET", "/applications/nope", {}],
      ["GET", "/logs?size=0", {}],
      ["POST", "/cloakroom.v1.TokenService/GetToken", { raw: "{" }],
    ] as const) {
      expect(await tenant.manage(method, path, { ...request, key: "unknown" })).toMatchObject({ status: 401 });
    }
    for (const [method, path, request] of [
      ["POST", "/tokens", { raw: "{" }],
      ["POST", "/cloakroom.v1.TokenService/GetToken", { raw: "{" }],
    ] as const) {
      // A management key may not touch tokens.
      expect(await tenant.manage(method, path, request)).toMatchObject({ status: 403 });
    }
  });

  it("with another tenant's key shows that tenant, never this one", async () => {
    const mine = await tenant.manage("GET", "/tenants/self");
    const theirs = await tenant.manage("GET", "/tenants/self", { key: strangerKey });
    expect(theirs.status).toBe(200);
    expect(theirs.body.id).not.toBe(mine.body.id);
    const logs = await tenant.manage("GET", "/logs?size=100", { key: strangerKey });
    expect(JSON.stringify(logs.body)).not.toContain(tenant.id);
  });

  it("fails with 403 without the permission on every protocol, and leaves a row each time", async () => {
    const before = await logRows();
    const rest = await tenant.manage("GET", "/tokens/abc");
    expect(rest).toMatchObject({ status: 403, body: { code: "permission_denied", title: "Forbidden" } });
    expect(rest.body.detail).toContain("token:read");
    for (const protocol of RPC_PROTOCOLS) {
      const call = rpcClient(TokenService, protocol, { key: tenant.managementKey }).getToken({ id: "abc" });
      expect(await failureOf(call)).toMatchObject({
        code: "PermissionDenied",
        reason: "permission_denied",
        message: rest.body.detail,
      });
    }
    expect(await logRows()).toBe(before + 1 + RPC_PROTOCOLS.length);
    const { body } = await tenant.manage("GET", "/logs?size=1");
    expect(body.data[0]).toMatchObject({ operation: "refuse", message: "Application refused: token:read" });
  });
});
