import { once } from "node:events";
import type { ServerResponse } from "node:http";
import { text } from "node:stream/consumers";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { EgressError } from "../../src/egress/egress-error.js";
import { EgressPolicy } from "../../src/egress/egress-policy.js";
import { createGuardedAgents, type GuardedAgentOptions, type GuardedAgents } from "../../src/egress/guarded-agents.js";
import { type GuardedRequest, guardedRequest } from "../../src/egress/guarded-request.js";
import { resolveOver } from "../../src/egress/resolve-name.js";
import { type NameServer, records, startNameServer } from "./name-server.js";
import { closeServers, serveHttp, type TestServer } from "./servers.js";

let names: NameServer;
const made: GuardedAgents[] = [];

beforeAll(async () => {
  names = await startNameServer();
  for (const name of ["one.example", "two.example"]) names.respond(name, records("127.0.0.1"));
});

afterEach(async () => {
  for (const agents of made.splice(0)) agents.close();
  await closeServers();
});

afterAll(() => names.close());

function agentsWith(options: GuardedAgentOptions): GuardedAgents {
  const agents = createGuardedAgents(new EgressPolicy({ allow: "127.0.0.1" }), {
    resolve: resolveOver(names.resolver()),
    ...options,
  });
  made.push(agents);
  return agents;
}

async function call(agents: GuardedAgents, url: string, more: Partial<GuardedRequest> = {}): Promise<string> {
  try {
    const { body } = await guardedRequest(agents, { url, method: "GET", headers: [], pool: "tenant", ...more });
    return await text(body);
  } catch (error) {
    return error instanceof EgressError ? `${error.reason}, ${error.delivery}` : String(error);
  }
}

/** A server that holds every request until the test answers it. */
async function serveHeld(): Promise<{
  server: TestServer;
  held: ServerResponse[];
  arrived(count: number): Promise<void>;
}> {
  const held: ServerResponse[] = [];
  const server = await serveHttp((_, response) => held.push(response));
  const arrived = async (count: number) => {
    while (held.length < count) await new Promise((resolve) => setTimeout(resolve, 5));
  };
  return { server, held, arrived };
}

describe("connections to one destination", () => {
  it("are limited, and a slow destination does not hold up another", async () => {
    const slow = await serveHeld();
    const quick = await serveHttp((_, response) => response.end("quick"));
    const agents = agentsWith({ maxSockets: 2 });
    const waiting = Array.from({ length: 5 }, () => call(agents, `http://one.example:${slow.server.port}/`));
    await slow.arrived(2);
    expect(await call(agents, `http://two.example:${quick.port}/`)).toBe("quick");
    expect(slow.server.connections.length).toBe(2);
    expect(slow.held.length).toBe(2);
    for (let responseCount = 0; responseCount < 5; responseCount++) {
      await slow.arrived(responseCount + 1);
      slow.held[responseCount]?.end(`slow ${responseCount}`);
    }
    expect((await Promise.all(waiting)).sort()).toEqual(["slow 0", "slow 1", "slow 2", "slow 3", "slow 4"]);
    expect(slow.server.connections.length).toBe(2);
  });

  it("count from the first moment, also while they are being opened", async () => {
    const { server, held, arrived } = await serveHeld();
    const agents = agentsWith({ maxSockets: 1 });
    const calls = [1, 2, 3].map(() => call(agents, `http://one.example:${server.port}/`));
    for (let responseCount = 0; responseCount < 3; responseCount++) {
      await arrived(responseCount + 1);
      expect(server.connections.length).toBe(1);
      held[responseCount]?.end("done");
    }
    expect(await Promise.all(calls)).toEqual(["done", "done", "done"]);
  });

  it("are waited for no longer than the time for a response, and requests that waited were not sent", async () => {
    const { server, held, arrived } = await serveHeld();
    const agents = agentsWith({ maxSockets: 1 });
    const url = `http://one.example:${server.port}/`;
    const first = call(agents, url);
    await arrived(1);
    expect(await call(agents, url, { timeouts: { headersMs: 50 } })).toBe("headers_timeout, not_sent");
    const last = call(agents, url);
    held[0]?.end("first");
    expect(await first).toBe("first");
    await arrived(2);
    held[1]?.end("last");
    expect(await last).toBe("last");
    expect(held.length).toBe(2);
  });

  it("make room for those that wait if they fail", async () => {
    const { server, held, arrived } = await serveHeld();
    const agents = agentsWith({ maxSockets: 1 });
    const url = `http://one.example:${server.port}/`;
    const calls = [call(agents, url), call(agents, url)];
    await arrived(1);
    held[0]?.destroy();
    await arrived(2);
    held[1]?.end("second");
    expect(await Promise.all(calls)).toEqual(["connection_lost, unknown", "second"]);
  });
});

describe("a connection", () => {
  it("is reused by its own pool and by no other", async () => {
    const server = await serveHttp((_, response) => response.end("hello"));
    const agents = agentsWith({});
    const url = `http://one.example:${server.port}/`;
    for (const pool of ["a", "a", "b", "b", "a"]) expect(await call(agents, url, { pool })).toBe("hello");
    expect(server.connections.length).toBe(2);
  });

  it("is reused only for the same name", async () => {
    const server = await serveHttp((_, response) => response.end("hello"));
    const agents = agentsWith({});
    for (const name of ["one", "two", "one", "two"]) await call(agents, `http://${name}.example:${server.port}/`);
    expect(server.connections.length).toBe(2);
  });

  it("is released after a small response that is never read", async () => {
    const server = await serveHttp((_, response) => response.end("hello"));
    const agents = agentsWith({ maxSockets: 1 });
    const request = { url: `http://one.example:${server.port}/`, method: "GET", headers: [], pool: "tenant" };
    for (let count = 0; count < 3; count++) {
      expect((await guardedRequest(agents, request)).status).toBe(200);
    }
    expect(server.connections.length).toBe(1);
  });

  it("is closed when it was idle for a while, but not during a slow response", async () => {
    const server = await serveHttp((_, response) => setTimeout(() => response.end("late"), 200));
    const agents = agentsWith({ idleSocketMs: 50 });
    expect(await call(agents, `http://one.example:${server.port}/`)).toBe("late");
    const [socket] = server.connections;
    if (socket === undefined) expect.unreachable();
    if (!socket.destroyed) await once(socket, "close");
    expect(await call(agents, `http://one.example:${server.port}/`)).toBe("late");
    expect(server.connections.length).toBe(2);
  });

  it("is kept for the next one after a burst, and only eight of them for longer", async () => {
    const { server, held, arrived } = await serveHeld();
    const agents = agentsWith({ maxSockets: 12 });
    const burst = async (count: number) => {
      const calls = Array.from({ length: 12 }, () => call(agents, `http://one.example:${server.port}/`));
      await arrived(count);
      for (const response of held.splice(0)) response.end("done");
      expect(await Promise.all(calls)).toEqual(Array.from({ length: 12 }, () => "done"));
    };
    for (let count = 0; count < 3; count++) await burst(12);
    expect(server.connections.length).toBe(12);
    await expect.poll(() => server.connections.filter(({ destroyed }) => destroyed).length).toBe(4);
    await burst(12);
    expect(server.connections.length).toBe(16);
    expect(server.connections.filter(({ destroyed }) => destroyed).length).toBe(4);
  });

  it("outlasts a slow response in a burst", async () => {
    const { server, held, arrived } = await serveHeld();
    const agents = agentsWith({ maxSockets: 12, idleSocketMs: 400 });
    const url = `http://one.example:${server.port}/`;
    for (const waits of [0, 700]) {
      const calls = Array.from({ length: 12 }, () => call(agents, url));
      await arrived(12);
      await new Promise((resolve) => setTimeout(resolve, waits));
      for (const response of held.splice(0)) response.end("done");
      expect(await Promise.all(calls)).toEqual(Array.from({ length: 12 }, () => "done"));
    }
    expect(server.connections.length).toBe(12);
  });

  it("is closed with the agents", async () => {
    const server = await serveHttp((_, response) => response.end("hello"));
    const agents = agentsWith({});
    await call(agents, `http://one.example:${server.port}/`);
    const [socket] = server.connections;
    if (socket === undefined) expect.unreachable();
    const closed = once(socket, "close");
    agents.close();
    await closed;
    expect(socket.destroyed).toBe(true);
  });
});

describe("agents made without options", () => {
  it("resolve names themselves", async () => {
    const server = await serveHttp((_, response) => response.end("hello"), "localhost");
    const agents = createGuardedAgents(new EgressPolicy({ allow: "localhost" }));
    made.push(agents);
    expect(await call(agents, `http://localhost:${server.port}/`)).toBe("hello");
  });
});
