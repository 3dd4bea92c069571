import { once } from "node:events";
import { request as sendHttp1 } from "node:http";
import { connect, constants } from "node:http2";
import { beforeAll, describe, expect, inject, it, vi } from "vitest";
import { ProxyService } from "../../../gen/cloakroom/v1/proxies_pb.js";
import { ReactorService } from "../../../gen/cloakroom/v1/reactors_pb.js";
import { logLineOf } from "../../support/log-line.js";
import { failureOf, RPC_PROTOCOLS, rpcClient } from "../../support/rpc.js";
import { newTenant, type TestTenant } from "../../support/tenant.js";
import { startDestination } from "../proxy/support/destination.js";
import { code, makeProxy } from "../proxy/support/proxies.js";

/** Longer than any caller in this file waits. */
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

describe("work is cancelled, and does not count as a server error,", () => {
  it.each(RPC_PROTOCOLS)("when the deadline of its call over %s has passed", async (protocol) => {
    const trace = `late-${protocol.replace(" ", "-")}`;
    const timeout = protocol.startsWith("Connect") ? { "connect-timeout-ms": "500" } : { "grpc-timeout": "500m" };
    const reactors = rpcClient(ReactorService, protocol, { key, headers: { ...timeout, "bt-trace-id": trace } });
    const failure = await failureOf(reactors.react({ id }));
    expect(failure).toMatchObject({ code: "DeadlineExceeded", message: "the operation timed out" });
    expect(await lineOf(trace)).toMatchObject({ level: 30, status: 408, code: "deadline_exceeded", msg: "cancelled" });
  });

  const rpc = "/cloakroom.v1.ReactorService/React";
  it.each<readonly [string, 1 | 2, () => string, () => string]>([
    ["REST, HTTP/1.1", 1, () => `/reactors/${id}/react`, () => "{}"],
    ["REST, HTTP/2", 2, () => `/reactors/${id}/react`, () => "{}"],
    ["RPC, HTTP/1.1", 1, () => rpc, () => JSON.stringify({ id })],
    ["RPC, HTTP/2", 2, () => rpc, () => JSON.stringify({ id })],
  ])("when its caller over %s disconnects", async (name, version, path, body) => {
    const trace = `gone-${name.replaceAll(/\W+/g, "-")}`;
    const headers = { "bt-api-key": key, "bt-trace-id": trace, "content-type": "application/json" };
    const before = await runs();
    const leave = version === 1 ? overHttp1(path(), headers, body()) : await overHttp2(path(), headers, body());
    await vi.waitFor(async () => expect(await runs()).toBeGreaterThan(before));
    leave();
    expect(await lineOf(trace)).toMatchObject({ level: 30, status: 499, code: "canceled", msg: "cancelled" });
  });

  it("when the caller of a proxy disconnects while its request is transformed", async () => {
    const definition = { destination_url: "https://destination.example.com", request_transform: { code: SLOW } };
    const proxy = await makeProxy(tenant, definition);
    const session = connect(inject("serverUrl"));
    await once(session, "connect");
    const headers = { "bt-api-key": key, "bt-proxy-key": proxy.key, "bt-trace-id": "gone-through-proxy" };
    const stream = session.request({ ":method": "GET", ":path": "/proxy", ...headers });
    stream.on("error", () => {}).on("close", () => session.close());
    // The request has arrived once this response has.
    await new Promise((resolve) => session.ping(resolve));
    stream.close(constants.NGHTTP2_CANCEL);
    expect(await lineOf("gone-through-proxy")).toMatchObject({ level: 30, status: 499, code: "canceled" });
  });

  const invoke = "/cloakroom.v1.ProxyService/InvokeProxy";
  const halfResponse = "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nbegun";
  it.each<readonly [string, string, 1 | 2, string]>([
    ["awaited, HTTP/1.1", "", 1, "/proxy"],
    ["awaited, HTTP/2", "", 2, "/proxy"],
    ["awaited, RPC over HTTP/1.1", "", 1, invoke],
    ["awaited, RPC over HTTP/2", "", 2, invoke],
    ["read for a transform, HTTP/1.1", halfResponse, 1, "/proxy"],
    ["read for a transform, HTTP/2", halfResponse, 2, "/proxy"],
    ["read, RPC over HTTP/2", halfResponse, 2, invoke],
  ])("when the caller of a proxy disconnects while its destination is %s", async (name, said, version, path) => {
    await using destination = await startDestination((socket) => void (said && socket.write(said)));
    const transforms = path === invoke ? {} : { response_transform: code("return req;") };
    const proxy = await makeProxy(tenant, { destination_url: destination.url, ...transforms });
    const trace = `left-destination-${name.replaceAll(/\W+/g, "-")}`;
    const headers = { "bt-api-key": key, "bt-trace-id": trace, "content-type": "application/json" };
    const call = path === invoke ? { proxyKey: proxy.key, method: "GET" } : {};
    const sent = { ...headers, ...(path === invoke ? {} : { "bt-proxy-key": proxy.key }) };
    const body = JSON.stringify(call);
    const leave = version === 1 ? overHttp1(path, sent, body) : await overHttp2(path, sent, body);
    await vi.waitFor(() => expect(destination.requests).toHaveLength(1));
    leave();
    expect(await lineOf(trace)).toMatchObject({ level: 30, status: 499, code: "canceled", msg: "cancelled" });
  });

  it("when the deadline of a call passes before its destination has responded", async () => {
    await using destination = await startDestination(() => {});
    const headers = { "grpc-timeout": "500m", "bt-trace-id": "late-destination" };
    const call = rpcClient(ProxyService, "gRPC", { key, headers }).invokeProxy({
      ...{ target: { case: "proxyUrl", value: destination.url }, method: "GET" },
    });
    expect(await failureOf(call)).toMatchObject({ code: "DeadlineExceeded" });
    expect(await lineOf("late-destination")).toMatchObject({
      status: 408,
      code: "deadline_exceeded",
      msg: "cancelled",
    });
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
