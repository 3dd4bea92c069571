// Computes: 15 s
import { connect as connectHttp2 } from "node:http2";
import { setTimeout as pause } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { ServerCounters } from "../../support/counters.js";
import { HeldBodies } from "../../support/held-bodies.js";
import { connect as openConnection } from "../../support/payments.js";
import type { RestClient } from "../../support/rest.js";
import { type ServerProcess, startServerProcess } from "../../support/server.js";
import { firstTenant, newTenant, type TestTenant } from "../../support/tenant.js";
import { TestBrowser } from "../../support/test-browser.js";

const MB = 1024 * 1024;
const LARGEST = 5 * MB;
/** Memory that all of them together may add to the process. */
const MAX_GROWTH_MB = 150;
/** Before a request is sent again. */
const RETRY_MS = 100;

let server: ServerProcess;
let counters: ServerCounters;
let tenant: TestTenant;
let page: RestClient & { readonly key: string };
let backEnd: RestClient & { readonly key: string };
/** A client that is not involved. */
let other: RestClient;
let freeMemory: number;
let held: HeldBodies;

beforeAll(async () => {
  server = await startServerProcess({ EGRESS_ALLOW: "127.0.0.1", TRUSTED_PROXIES: "127.0.0.99" });
  counters = new ServerCounters(server);
  tenant = await firstTenant(server);
  page = await tenant.application({ type: "public", permissions: ["token:create"] });
  backEnd = await tenant.backEnd();
  other = await (await newTenant(server.url, { ...server.environment })).backEnd();
  await isServed(other);
  freeMemory = await free();
});
afterAll(() => server?.[Symbol.asyncDispose]());
afterEach(async () => {
  held?.[Symbol.dispose]();
  // All memory is released once they have left.
  await expect.poll(free).toBe(freeMemory);
});

const free = () => counters.metric("cloakroom_body_memory_free_bytes");
const waiting = () => counters.metric("cloakroom_bodies_waiting");

/** Small and large bodies of an uninvolved client are accepted. */
async function isServed(client: RestClient, largest = MB): Promise<void> {
  for (const size of [10, 10, 10, 60_000, largest - 100]) {
    const { status } = await client("POST", "/tokens", { body: { type: "token", data: "x".repeat(size) } });
    expect(status).toBe(201);
  }
}

describe("bodies whose last byte never arrives", () => {
  it("are not read at unknown paths, which get 404 and reserve no memory", async () => {
    held = new HeldBodies(server.url);
    const before = counters.residentMemory();
    await held.send(150, { path: "/orchestration/webhooks/nope", length: MB });
    await isServed(other);
    expect(await free()).toBe(freeMemory);
    await held.untilResponded(404, 150);
    expect(counters.residentMemory() - before).toBeLessThan(MAX_GROWTH_MB);
  });

  it("do not affect other callers, even on a thousand connections without a key", async () => {
    held = new HeldBodies(server.url);
    const before = counters.residentMemory();
    const paths = ["/orchestration/webhooks/nope", "/tokens", "/proxy", "/3ds/challenges/nope"];
    await held.send(1_000, (index) => ({ path: paths[index % paths.length] ?? "", length: MB, sent: 70_000 }));
    await isServed(other);
    expect(await free()).toBe(freeMemory);
    expect(counters.residentMemory() - before).toBeLessThan(MAX_GROWTH_MB);
  });

  it("are not read at unknown paths of pages either", async () => {
    const paths = ["/simulator/approvals/nope", "/3ds/challenges/nope", "/invitations/nope", "/no/such/path"];
    const headers = { "content-type": "application/x-www-form-urlencoded" };
    // Of an address that has not just sent a thousand: those may still count as its overload.
    const from = "127.0.0.3";
    const send = async () => {
      held?.[Symbol.dispose]();
      held = new HeldBodies(server.url);
      await held.send(paths.length, (index) => ({ path: paths[index] ?? "", headers, length: 1_000, from }));
    };
    await send();
    const notFound = async () => {
      // A server that is busy with the thousand may refuse these too: then they come again.
      if (held.countOf(503) > 0) await send();
      return held.countOf(404);
    };
    await expect.poll(notFound).toBe(paths.length);
    expect(await free()).toBe(freeMemory);
  });

  it("get a small share of memory at a webhook's path: others are served, including its own tenant", async () => {
    const id = await openConnection(tenant);
    const { body: connection } = await tenant.manage("GET", `/orchestration/connections/${id}`);
    const { pathname } = new URL(connection.webhook_url);
    held = new HeldBodies(server.url);
    await held.send(150, { path: pathname, length: MB });
    await isServed(other);
    await isServed(backEnd);
    // A real one is small.
    const event = await fetch(`${server.url}${pathname}`, { method: "POST", body: JSON.stringify({ id: "1" }) });
    expect(event.status).toBe(401);
    expect(await free()).toBeGreaterThan(freeMemory / 2);
  });

  it("get a share with a page's key: others are served, including other keys of the tenant", async () => {
    held = new HeldBodies(server.url);
    await held.send(60, { path: "/tokens", headers: { "bt-api-key": page.key }, length: LARGEST });
    await isServed(other, LARGEST);
    await isServed(backEnd, LARGEST);
    expect(await free()).toBeGreaterThan(freeMemory / 2);
  });

  it("get the same share from many addresses and with many sessions", async () => {
    const sessions = await Promise.all(Array.from({ length: 20 }, () => page("POST", "/sessions")));
    const keys = sessions.map(({ body }) => String(body.session_key));
    await Promise.all(
      sessions.map(({ body: { nonce } }) =>
        backEnd("POST", "/sessions/authorize", { body: { nonce, permissions: ["token:create"] } }),
      ),
    );
    held = new HeldBodies(server.url);
    await held.send(60, (index) => ({
      ...{ path: "/tokens", length: LARGEST, from: `127.0.1.${index + 1}` },
      headers: { "bt-api-key": keys[index % keys.length] ?? "" },
    }));
    await isServed(other);
    await isServed(backEnd);
  });

  it("get the share of one address, whatever their keys; a trusted proxy says which address that is", async () => {
    const applications = await Promise.all(Array.from({ length: 4 }, () => tenant.backEnd()));
    const headersOf = (index: number) => ({ "bt-api-key": applications[index % 4]?.key ?? "" });
    held = new HeldBodies(server.url);
    await held.send(60, (index) => ({
      path: "/tokens",
      length: LARGEST,
      headers: headersOf(index),
      from: "127.0.0.8",
    }));
    await isServed(other);
    const forwarded = { "x-forwarded-for": "203.0.113.7" };
    await held.send(60, (index) => ({
      ...{ path: "/tokens", length: LARGEST, from: "127.0.0.99" },
      headers: { ...headersOf(index), ...forwarded },
    }));
    await isServed(other);
  });

  it("end after some seconds without progress, and make room for one that waits", async () => {
    const slow = await counters.metric("cloakroom_bodies_refused_total", 'reason="too_slow"');
    held = new HeldBodies(server.url);
    await held.send(2, { path: "/tokens", headers: { "bt-api-key": page.key }, length: LARGEST });
    const body = { type: "token", data: "x".repeat(LARGEST - 100) };
    const late = page("POST", "/tokens", { body });
    await expect.poll(waiting).toBe(1);
    expect((await late).status).toBe(201);
    await held.untilResponded(400, 2);
    for (const response of held.responses) expect(response).toContain("The body did not arrive in time.");
    expect((await counters.metric("cloakroom_bodies_refused_total", 'reason="too_slow"')) - slow).toBe(2);
  });
});

describe("a caller without a valid key", () => {
  const PROTOCOLS = ["application/proto", "application/json", "application/grpc", "application/grpc-web+proto"];
  const METHOD = "/cloakroom.v1.TokenService/CreateToken";

  const CALLS = [["/tokens", "application/json"], ...PROTOCOLS.map((type) => [METHOD, type])] as const;

  it("is rejected before its body is read, over HTTP/1.1", async () => {
    const wrong = `${page.key.slice(0, -1)}${page.key.endsWith("0") ? "1" : "0"}`;
    const keys = ["", wrong, page.key.replace("pub", "pvt")];
    const requests = CALLS.flatMap(([path = "", type = ""]) =>
      keys.map((key) => ({ path, length: LARGEST, headers: { "content-type": type, "bt-api-key": key } })),
    );
    held = new HeldBodies(server.url);
    await held.send(requests.length, (index) => requests[index] ?? { path: "/", length: 1 });
    const responded = () => held.responses.filter((response) => response.includes("\r\n\r\n")).length;
    await expect.poll(responded).toBe(requests.length);
    // gRPC requires HTTP/2, and the error says so.
    for (const response of held.responses) expect(response).toMatch(/^HTTP\/1.1 (?:401|200|505|415|400)/);
    expect(await free()).toBe(freeMemory);
  });

  it("is rejected before its body is read, over HTTP/2", async () => {
    const session = connectHttp2(server.url);
    const said = CALLS.map(([path, type]) => {
      const received: string[] = [];
      const stream = session.request({ ":method": "POST", ":path": path, "content-type": type, te: "trailers" });
      stream.on("response", (headers) => received.push(JSON.stringify(headers)));
      stream.on("trailers", (headers) => received.push(JSON.stringify(headers)));
      stream.on("data", (chunk: Buffer) => received.push(chunk.toString("latin1"))).on("error", () => {});
      stream.write(Buffer.alloc(60_000));
      return received;
    });
    for (const received of said) {
      await expect.poll(() => received.join()).toMatch(/unauthenticated|"grpc-status":"16"|grpc-status: 16/);
    }
    expect(await free()).toBe(freeMemory);
    session.destroy();
  });

  it("may send little where no key is needed, and never waits", async () => {
    const call = (size: number, key?: string) =>
      fetch(`${server.url}/cloakroom.v1.ProxyService/InvokeProxy`, {
        method: "POST",
        headers: { "content-type": "application/json", ...(key ? { "bt-api-key": key } : {}) },
        body: JSON.stringify({ method: "POST", proxyKey: "none", body: { data: "A".repeat(size) } }),
      });
    const refused = await call(100_000);
    expect(refused.status).toBe(429);
    expect(await refused.text()).toContain("not be larger than 65536 bytes without a key in BT-API-KEY");
    expect((await call(1_000)).status).toBe(404);
    expect((await call(100_000, backEnd.key)).status).toBe(404);
  });
});

describe("HTTP/2 streams that the client never reads", () => {
  it("take 64 KB of memory each, also while they wait for their turn", async () => {
    const before = counters.residentMemory();
    const sessions = Array.from({ length: 4 }, () => connectHttp2(server.url));
    const body = Buffer.alloc(LARGEST - 1, " ");
    for (const session of sessions) {
      session.on("error", () => {});
      for (let index = 0; index < 128; index += 1) {
        const path = index % 2 === 0 ? "/tokens" : "/orchestration/webhooks/nope";
        const stream = session.request({
          ...{ ":method": "POST", ":path": path, "content-type": "application/json" },
          ...{ "bt-api-key": page.key, "content-length": String(LARGEST) },
        });
        stream.on("error", () => {}).resume();
        stream.write(body);
      }
    }
    await expect.poll(waiting).toBeGreaterThan(50);
    await isServed(other);
    expect(counters.residentMemory() - before).toBeLessThan(MAX_GROWTH_MB);
    for (const session of sessions) session.destroy();
  });
});

it("no hostile body was counted as an internal error", async () => {
  expect(await counters.metric("cloakroom_operations_total", 'code="internal"')).toBe(0);
});

/** Asks for the ways to sign in. Asks again if the server has too much to do, but not if it has no memory for a body. */
async function signInStatus(): Promise<number> {
  const ask = () => new TestBrowser(server.url).call("SignInService/GetSignInMethods");
  let response = await ask();
  while (response.status === 503 && !JSON.stringify(response.body).includes("memory for request bodies")) {
    await pause(RETRY_MS);
    response = await ask();
  }
  return response.status;
}

describe("500 connections that withhold small bodies without a key", () => {
  const ask = "/cloakroom.v1.SignInService/AskForSignInLink";
  const page = { "sec-fetch-site": "same-origin", "x-cloakroom-console": "1" };
  it.each([
    ["of sign-ins, from one address", ask, 1],
    ["of sign-ins, from ten addresses in networks of their own", ask, 10],
    ["of sign-ins, from hundreds of networks", ask, 250],
    ["elsewhere", "/grpc.health.v1.Health/Check", 10],
  ])("leave sign-ins to others: %s", async (_, path, networks) => {
    held = new HeldBodies(server.url);
    await held.send(500, (index) => ({
      ...{ path, headers: page, length: 16_000, sent: 10 },
      from: `127.7.${1 + (index % networks)}.1`,
    }));
    for (let time = 0; time < 16; time += 1) expect(await signInStatus()).toBe(200);
  });
});
