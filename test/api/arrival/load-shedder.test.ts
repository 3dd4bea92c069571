import { once } from "node:events";
import { createServer, type Server } from "node:http";
import { connect } from "node:net";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createLoadShedder } from "../../../src/api/arrival/load-shedder.js";
import { CallerTurns } from "../../../src/base/caller-turns.js";
import { unavailable } from "../../../src/base/fault.js";

const OVERLOADED = "key_of_an_overloading_tenant";

let server: Server;
let url: string;
let rejected = 0;
let hasSlot = true;
beforeEach(async () => {
  rejected = 0;
  hasSlot = true;
  const gate = createLoadShedder(
    {
      overloadFault: (apiKey) =>
        apiKey === OVERLOADED ? unavailable("more requests arrive than the server can handle") : undefined,
    },
    { hasSlot: () => hasSlot },
    () => "a-trace",
    () => {
      rejected += 1;
    },
  );
  server = createServer((request, response) => {
    const caller = new CallerTurns(() => ({ kind: "network", name: "192.0.2.1" }));
    if (!gate(request, response, caller)) response.end("served");
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  url = `http://127.0.0.1:${Object(server.address()).port}`;
});
afterEach(() => {
  server.closeAllConnections();
  server.close();
});

const send = (path: string, key?: string, body?: string) =>
  fetch(`${url}${path}`, {
    headers: key === undefined ? {} : { "BT-API-KEY": key },
    ...(body === undefined ? {} : { method: "POST", body }),
  });

describe("requests of a tenant that sends more than the server can handle", () => {
  it.each([
    ["a read", "/tokens/1", undefined],
    ["a create", "/tokens", "{}"],
    ["a large body that is never read", "/tokens", "x".repeat(3_000_000)],
  ])("are rejected with Retry-After, in the usual error format: %s", async (_, path, body) => {
    const response = await send(path, OVERLOADED, body);
    expect([response.status, response.headers.get("retry-after")]).toEqual([503, "1"]);
    expect(await response.json()).toMatchObject({
      status: 503,
      code: "unavailable",
      detail: expect.any(String),
      instance: "urn:cloakroom:trace:a-trace",
    });
    expect(rejected).toBe(1);
    expect(await (await send("/tokens", "key_of_another")).text()).toBe("served");
  });

  it.each(["/proxy", "/%70roxy/a?b"])("are rejected in the proxy's error format at %s", async (path) => {
    const response = await send(path, OVERLOADED, "{}");
    expect([response.status, response.headers.get("retry-after")]).toEqual([503, "1"]);
    expect(await response.json()).toEqual({
      proxy_error: expect.objectContaining({ code: "unavailable", instance: "urn:cloakroom:trace:a-trace" }),
    });
  });

  it("are answered and disconnected if they keep sending a body", async () => {
    const socket = connect(Number(new URL(url).port), "127.0.0.1").setEncoding("utf8");
    let response = "";
    socket.on("data", (text: string) => (response += text)).on("error", () => {});
    socket.write(`POST /tokens HTTP/1.1\r\nhost: x\r\nbt-api-key: ${OVERLOADED}\r\ntransfer-encoding: chunked\r\n\r\n`);
    const drip = setInterval(() => socket.write("1\r\nx\r\n"), 50);
    // What is sent after the server has closed is answered by a reset, which is an error that counts for nothing.
    await new Promise((resolve) => socket.once("close", resolve));
    clearInterval(drip);
    expect(response).toMatch(/^HTTP\/1.1 503 /);
  });

  it.each([
    ["of another tenant", "/tokens", "key_of_another"],
    ["without a key", "/tokens", undefined],
    ["over an RPC protocol, which has its own error format", "/cloakroom.v1.TokenService/GetToken", OVERLOADED],
  ])("do not affect other tenants: %s", async (_, path, key) => {
    expect(await (await send(path, key)).text()).toBe("served");
    expect(rejected).toBe(0);
  });
});
