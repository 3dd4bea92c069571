import { connect, type SecureClientSessionOptions } from "node:http2";
import { request as httpsRequest } from "node:https";
import { connect as tlsConnect } from "node:tls";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { TokenService } from "../../../gen/cloakroom/v1/tokens_pb.js";
import { toJson, toValue } from "../../../src/services/value.js";
import { createAuthority } from "../../egress/certificates.js";
import { cloakroom } from "../../support/command.js";
import { failureOf, RPC_PROTOCOLS, rpcClient } from "../../support/rpc.js";
import { type ServerHere, startServerHere } from "../../support/server-here.js";

interface Reply {
  readonly status: number;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into bodies of every shape
  readonly body: any;
}

describe("under TLS", () => {
  let server: ServerHere;
  let ca: string;
  let managementKey: string;
  let key: string;
  beforeAll(async () => {
    const authority = await createAuthority();
    const identity = await authority.issue(["localhost"], ["127.0.0.1"]);
    ca = authority.pem;
    server = await startServerHere(
      { TLS_CERT_FILE: "{directory}/server.pem", TLS_KEY_FILE: "{directory}/server.key" },
      { files: { "server.pem": identity.cert, "server.key": identity.key } },
    );
    const made = await cloakroom(
      server.environment,
      "tenants",
      "create",
      "--name",
      "TLS",
      "--owner-email",
      "o@example.com",
      "--json",
    );
    managementKey = JSON.parse(made.stdout).key;
    const rules = [{ priority: 1, container: "/", transform: "reveal", permissions: ["token:create", "token:read"] }];
    const application = await overHttp1("POST", "/applications", managementKey, {
      name: "App",
      type: "private",
      rules,
    });
    key = application.body.key;
  });
  afterAll(() => server[Symbol.asyncDispose]());

  function overHttp1(method: string, path: string, apiKey: string, body?: unknown): Promise<Reply> {
    return new Promise((resolve, reject) => {
      const headers = { "BT-API-KEY": apiKey, ...(body === undefined ? {} : { "Content-Type": "application/json" }) };
      const sent = httpsRequest(`${server.url}${path}`, { method, headers, ca, agent: false }, (response) => {
        let text = "";
        response.on("data", (chunk) => (text += chunk));
        response.on("end", () => resolve({ status: response.statusCode ?? 0, body: JSON.parse(text) }));
      });
      sent.on("error", reject);
      sent.end(body === undefined ? undefined : JSON.stringify(body));
    });
  }

  function overHttp2(
    method: string,
    path: string,
    body?: unknown,
    options: SecureClientSessionOptions = {},
  ): Promise<Reply> {
    const session = connect(server.url, { ca, ...options });
    return new Promise<Reply>((resolve, reject) => {
      session.on("error", reject);
      const stream = session.request({
        ":method": method,
        ":path": path,
        "bt-api-key": key,
        "content-type": "application/json",
      });
      let status = 0;
      let text = "";
      stream.on("response", (headers) => (status = headers[":status"] ?? 0));
      stream.on("data", (chunk) => (text += chunk));
      stream.on("end", () => resolve({ status, body: JSON.parse(text) }));
      stream.on("error", reject);
      stream.end(body === undefined ? undefined : JSON.stringify(body));
    }).finally(() => session.close());
  }

  it("the announced address says so", () => {
    expect(server.url).toMatch(/^https:\/\/127\.0\.0\.1:\d+$/);
  });

  it("REST is spoken over HTTP/1.1 and HTTP/2, as each client prefers", async () => {
    const first = await overHttp1("POST", "/tokens", key, { type: "token", data: "h1" });
    expect(first).toMatchObject({ status: 201, body: { type: "token" } });
    expect(await overHttp2("GET", `/tokens/${first.body.id}`)).toMatchObject({ status: 200, body: { data: "h1" } });
    const second = await overHttp2("POST", "/tokens", { type: "token", data: "h2" });
    expect(await overHttp1("GET", `/tokens/${second.body.id}`, key)).toMatchObject({
      status: 200,
      body: { data: "h2" },
    });
    expect(await overHttp2("GET", "/nope")).toMatchObject({ status: 404, body: { code: "not_found" } });
  });

  it.each(RPC_PROTOCOLS)("%s is spoken", async (protocol) => {
    const tokens = rpcClient(TokenService, protocol, { key, url: server.url, tls: { ca } });
    const { id } = await tokens.createToken({ type: "token", data: toValue(protocol) });
    const { data } = await tokens.getToken({ id });
    expect(data && toJson(data, "data")).toBe(protocol);
    expect(await failureOf(tokens.getToken({ id: "not-there" }))).toMatchObject({
      code: "NotFound",
      reason: "not_found",
    });
  });

  it.each([
    ["h2", ["h2", "http/1.1"], "h2"],
    ["http/1.1", ["http/1.1"], "http/1.1"],
    ["nothing", undefined, false],
  ])("a client that offers %s gets a matching protocol", async (_, ALPNProtocols, spoken) => {
    const { hostname, port } = new URL(server.url);
    const chosen = await new Promise((resolve, reject) => {
      const socket = tlsConnect({
        host: hostname,
        port: Number(port),
        ca,
        ...(ALPNProtocols ? { ALPNProtocols } : {}),
      });
      socket.on("secureConnect", () => {
        resolve(socket.alpnProtocol);
        socket.destroy();
      });
      socket.on("error", reject);
    });
    expect(chosen).toBe(spoken);
  });

  it("versions before 1.2 are rejected", async () => {
    const { hostname, port } = new URL(server.url);
    const failure = await new Promise((resolve) => {
      const socket = tlsConnect({ host: hostname, port: Number(port), ca, minVersion: "TLSv1", maxVersion: "TLSv1.1" });
      socket.on("secureConnect", () => resolve("connected"));
      socket.on("error", (error: NodeJS.ErrnoException) => resolve(error.code));
    });
    expect(failure).not.toBe("connected");
  });

  it("clear text gets no response, and the next client is served", async () => {
    const clear = fetch(server.url.replace("https:", "http:")).then(
      () => "answered",
      () => "refused",
    );
    expect(await clear).toBe("refused");
    expect(await overHttp1("GET", "/healthz", key)).toMatchObject({ status: 200 });
  });
});
