import { once } from "node:events";
import { request as sendHttp1 } from "node:http";
import { connect, constants } from "node:http2";
import { beforeAll, describe, expect, inject, it, vi } from "vitest";
import { ReactorService } from "../../gen/cloakroom/v1/reactors_pb.js";
import { logLineOf } from "../support/log-line.js";
import { failureOf, RPC_PROTOCOLS, rpcClient } from "../support/rpc.js";
import { newTenant, type TestTenant } from "../support/tenant.js";
import { makeProxy } from "./proxy/support/proxies.js";

/** Longer than any of its callers waits here. */
const SLOW =
  "module.exports = async () => { await new Promise((done) => setTimeout(done, 20_000)); return { raw: 1 }; };";

let tenant: TestTenant;
let key: string;
let id: string;
beforeAll(async () => {
  tenant = await newTenant();
  ({ key } = await tenant.application({ type: "private", permissions: ["token:use"] }));
  const { body } = await tenant.manage("POST", "/reactors", { body: { name: "Slow", code: SLOW } });
  id = body.id;
});

const lineOf = async (trace: string) => JSON.parse(await logLineOf(new Headers({ "bt-trace-id": trace })));

describe("work is broken off, and is no failure of the server's", () => {
  it.each(RPC_PROTOCOLS)("when the deadline of its call over %s has passed", async (protocol) => {
    const trace = `late-${protocol.replace(" ", "-")}`;
    const timeout = protocol.startsWith("Connect") ? { "connect-timeout-ms": "500" } : { "grpc-timeout": "500m" };
    const reactors = rpcClient(ReactorService, protocol, { key, headers: { ...timeout, "bt-trace-id": trace } });
    const failure = await failureOf(reactors.react({ id }));
    expect(failure).toMatchObject({ code: "DeadlineExceeded", message: "the operation timed out" });
    expect(await lineOf(trace)).toMatchObject({ level: 30, status: 408, code: "deadline_exceeded", msg: "given up" });
  });

  const rpc = "/cloakroom.v1.ReactorService/React";
  it.each<readonly [string, 1 | 2, () => string, () => string]>([
    ["REST, HTTP/1.1", 1, () => `/reactors/${id}/react`, () => "{}"],
    ["REST, HTTP/2", 2, () => `/reactors/${id}/react`, () => "{}"],
    ["RPC, HTTP/1.1", 1, () => rpc, () => JSON.stringify({ id })],
    ["RPC, HTTP/2", 2, () => rpc, () => JSON.stringify({ id })],
  ])("when its caller over %s leaves", async (name, version, path, body) => {
    const trace = `gone-${name.replaceAll(/\W+/g, "-")}`;
    const headers = { "bt-api-key": key, "bt-trace-id": trace, "content-type": "application/json" };
    const before = await runs();
    const leave = version === 1 ? overHttp1(path(), headers, body()) : await overHttp2(path(), headers, body());
    await vi.waitFor(async () => expect(await runs()).toBeGreaterThan(before), { timeout: 10_000 });
    leave();
    expect(await lineOf(trace)).toMatchObject({ level: 30, status: 499, code: "canceled", msg: "given up" });
  });

  it("when the caller of a proxy leaves while its request is transformed", async () => {
    const definition = { destination_url: "https://destination.example.com", request_transform: { code: SLOW } };
    const proxy = await makeProxy(tenant, definition);
    const session = connect(inject("serverUrl"));
    await once(session, "connect");
    const headers = { "bt-api-key": key, "bt-proxy-key": proxy.key, "bt-trace-id": "gone-through-proxy" };
    const stream = session.request({ ":method": "GET", ":path": "/proxy", ...headers });
    stream.on("error", () => {}).on("close", () => session.close());
    // By its answer the request has come in.
    await new Promise((resolve) => session.ping(resolve));
    stream.close(constants.NGHTTP2_CANCEL);
    expect(await lineOf("gone-through-proxy")).toMatchObject({ level: 30, status: 499, code: "canceled" });
  });

  async function runs(): Promise<number> {
    const { body } = await tenant.manage("GET", `/logs?entity_type=reactor&entity_id=${id}`);
    return body.data.filter(({ operation }: { operation: string }) => operation === "invoke").length;
  }

  function overHttp1(path: string, headers: Record<string, string>, body: string): () => void {
    const request = sendHttp1(new URL(path, inject("serverUrl")), { method: "POST", headers, agent: false });
    request.on("error", () => {}).end(body);
    return () => request.destroy();
  }

  async function overHttp2(path: string, headers: Record<string, string>, body: string): Promise<() => void> {
    const session = connect(inject("serverUrl"));
    await once(session, "connect");
    const stream = session.request({ ":method": "POST", ":path": path, ...headers });
    stream.on("error", () => {}).on("close", () => session.close());
    stream.end(body);
    return () => stream.close(constants.NGHTTP2_CANCEL);
  }
});
