// Computes: 15 s
import { get, type IncomingMessage } from "node:http";
import { createConnection } from "node:net";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { restClient } from "../../support/rest.js";
import { type ServerProcess, startServerProcess } from "../../support/server.js";
import { firstTenant, type TestTenant } from "../../support/tenant.js";
import { beginAtIssuer, unreachableIssuer } from "../support/begin-sign-in.js";
import { childrenOf, logLines, metric, processId, processIds, servedBy } from "../support/processes.js";
import { TokenLoad } from "../support/token-load.js";
import { expectNothingLost, underLoad } from "../support/under-load.js";

describe("a server of two processes", () => {
  let server: ServerProcess;
  let tenant: TestTenant;
  let backEnd: Awaited<ReturnType<TestTenant["backEnd"]>>;
  beforeAll(async () => {
    server = await startServerProcess({
      PROCESSES: "2",
      RATE_LIMITS: "global=100000000,token_read=100000000,token_write=100000000,token_search=20",
      TRUSTED_PROXIES: "127.0.0.0/8",
      ...unreachableIssuer(),
    });
    tenant = await firstTenant(server);
    backEnd = await tenant.backEnd();
  });
  afterAll(() => server?.[Symbol.asyncDispose]());

  const scrape = async () => (await fetch(`${server.adminUrl}/metrics`)).text();
  const load = new TokenLoad();
  const times = <T>(count: number, run: (index: number) => Promise<T>) =>
    Promise.all(Array.from({ length: count }, (_, index) => run(index)));

  it("prints the messages of a start once, and creates one first tenant", async () => {
    const said = server.said();
    expect(said.match(/Serving REST/g)).toHaveLength(1);
    expect(said.match(/Health at/g)).toHaveLength(1);
    expect(said.match(/No mail server is set/g)).toHaveLength(1);
    expect(said.match(/Welcome to Cloakroom/g)).toHaveLength(1);
    await vi.waitFor(() => expect([...processIds(server.said()).keys()].sort()).toEqual([1, 2]));
  });

  it("serves with both, logs which one served, and each sees what the other stored", async () => {
    const made = await times(30, (n) => backEnd("POST", "/tokens", { body: { type: "token", data: `value ${n}` } }));
    expect(new Set(made.map(({ status }) => status))).toEqual(new Set([201]));
    const read = await times(30, (n) => backEnd("GET", `/tokens/${made[n]?.body.id}`));
    expect(read.map(({ body }) => body.data)).toEqual(made.map((_, n) => `value ${n}`));
    await vi.waitFor(() => expect(servedBy(server.said(), "CreateToken")).toEqual(new Set([1, 2])));
  });

  it("counts the sign-ins of a network that both begin together", async () => {
    const statuses = await times(80, () => beginAtIssuer(server.url, "203.0.113.7", tenant.id));
    expect(statuses.sort()).toEqual([...Array(20).fill(429), ...Array(60).fill(503)]);
    const begun = () => logLines(server.said()).filter(({ rpc }) => rpc === "BeginOpenIdSignIn");
    await vi.waitFor(() => expect(new Set(begun().map((line) => line.process))).toEqual(new Set([1, 2])));
  });

  it("rejects a revoked key on both at once", async () => {
    const other = await tenant.application({ type: "private", permissions: ["token:create"] });
    const body = { type: "token", data: "x" };
    expect((await times(12, () => other("POST", "/tokens", { body }))).map(({ status }) => status)).toEqual(
      Array.from({ length: 12 }, () => 201),
    );
    expect((await tenant.manage("DELETE", `/applications/${other.id}`)).status).toBe(204);
    const after = await times(12, () => other("POST", "/tokens", { body }));
    expect(new Set(after.map(({ status }) => status))).toEqual(new Set([401]));
  });

  it("counts the requests of a client across all processes", async () => {
    const client = restClient(server.url);
    const search = () => client("POST", "/tokens/search", { headers: { "X-Forwarded-For": "203.0.113.9" } });
    const statuses = (await times(50, search)).map(({ status }) => status);
    expect(statuses.filter((status) => status !== 429)).toHaveLength(20);
    const blocked = await search();
    expect(blocked.headers.get("ratelimit-limit")).toBe("20");
    expect(blocked.headers.get("ratelimit-remaining")).toBe("0");
    const other = await client("POST", "/tokens/search", { headers: { "X-Forwarded-For": "203.0.113.10" } });
    expect(other.status).toBe(401);
    expect(metric(await scrape(), "cloakroom_rate_limited_total", 'scope="token_search"')).toBe(31);
  });

  it("serves combined health and metrics on its admin port", async () => {
    const ready = await fetch(`${server.adminUrl}/readyz`);
    expect(ready.status).toBe(200);
    expect(await ready.json()).toMatchObject({ checks: { serving: "ok", database: "ok", keys: "ok" } });
    const before = metric(await scrape(), "cloakroom_operations_total", 'rpc_method="ListTokens",code="ok"');
    await times(24, () => backEnd("GET", "/tokens"));
    await vi.waitFor(() => expect(servedBy(server.said(), "ListTokens")).toEqual(new Set([1, 2])));
    const page = await scrape();
    expect(metric(page, "cloakroom_operations_total", 'rpc_method="ListTokens",code="ok"') - before).toBe(24);
    expect(metric(page, "cloakroom_processes")).toBe(2);
    expect(metric(page, "db_client_connection_max", '"shared"')).toBe(16);
  });

  it("runs tenants' code in one runner, which both share and which is replaced when it dies", async () => {
    const code = "module.exports = async (req) => ({ raw: { twice: 2 * req.args.n } });";
    const { body: reactor } = await tenant.manage("POST", "/reactors", { body: { name: "Twice", code } });
    const reactAll = async () => {
      const responses = await times(30, (n) =>
        backEnd("POST", `/reactors/${reactor.id}/react`, { body: { args: { n } } }),
      );
      expect(responses.map(({ body }) => body.raw?.twice)).toEqual(responses.map((_, n) => 2 * n));
    };
    await reactAll();
    await vi.waitFor(() => expect(servedBy(server.said(), "React")).toEqual(new Set([1, 2])));
    const pids = [server.process.pid, ...processIds(server.said()).values()];
    const runners = pids.flatMap((pid) => childrenOf(pid, "runner.js"));
    expect(runners).toHaveLength(1);
    for (const runner of runners) process.kill(runner, "SIGKILL");
    await vi.waitFor(async () => expect(metric(await scrape(), "cloakroom_sandbox_runners_ended_total")).toBe(1));
    await vi.waitFor(reactAll);
  });

  it("loses nothing acknowledged when one is killed, keeps serving, and starts another in its place", async () => {
    const operations = async () =>
      metric(await scrape(), "cloakroom_operations_total", 'rpc_method="CreateToken",code="ok"');
    const killed = processId(server.said(), 1);
    const counted = await operations();
    await underLoad(load, server, backEnd.key, 100, async () => {
      process.kill(killed, "SIGKILL");
      load.slowDown();
      const before = load.acknowledged.length;
      await expect.poll(() => load.acknowledged.length - before).toBeGreaterThan(50);
      await expect.poll(() => processIds(server.said()).get(1)).not.toBe(killed);
    });
    expect(load.unacknowledged.length, "requests that were under way").toBeGreaterThan(0);
    expect([...load.refusals.keys()]).toEqual([0]);
    await expectNothingLost(load, server.url, backEnd.key);
    const ended = logLines(server.said()).find(({ msg }) => msg === "a process has ended");
    expect(ended).toMatchObject({ process: 0, worker: 1, pid: killed, reason: "ended by SIGKILL" });
    await vi.waitFor(async () => expect(metric(await scrape(), "cloakroom_processes")).toBe(2));
    expect(metric(await scrape(), "cloakroom_processes_ended_total")).toBe(1);
    expect(await operations(), "a sum that fell would look like a restart of the server").toBeGreaterThanOrEqual(
      counted,
    );
  });

  it("leaves no connection hanging that a process was given and had not accepted when it was killed", async () => {
    const stopped = processId(server.said(), 1);
    process.kill(stopped, "SIGSTOP");
    const { hostname, port } = new URL(server.url);
    const responses = Array.from({ length: 4 }, async () => {
      const socket = createConnection(Number(port), hostname).setEncoding("utf8");
      let received = "";
      socket.on("data", (chunk) => {
        received += chunk;
      });
      socket.on("error", () => {});
      socket.write("GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
      await new Promise((resolve) => socket.on("close", resolve));
      return received.slice(9, 12);
    });
    let answered = 0;
    for (const response of responses) {
      void response.then(() => {
        answered += 1;
      });
    }
    await vi.waitFor(() => expect(answered).toBe(3));
    process.kill(stopped, "SIGKILL");
    expect((await Promise.all(responses)).toSorted()).toEqual(["", "200", "200", "200"]);
    await expect.poll(() => processIds(server.said()).get(1)).not.toBe(stopped);
  });

  it("replaces a process that SIGTERM ends after its requests have finished", async () => {
    const ended = processId(server.said(), 2);
    // Without pauses no connection is ever quiet: one may be closed just when its client sends over it.
    const load = new TokenLoad("steady", 4);
    // An origin of its own: fetch keeps idle connections of the other, and may use one just when the process closes it.
    const busy = { url: server.url.replace("127.0.0.1", "localhost") };
    expect(busy.url).not.toBe(server.url);
    await underLoad(load, busy, backEnd.key, 50, async () => {
      process.kill(ended, "SIGTERM");
      await expect.poll(() => processIds(server.said()).get(2)).not.toBe(ended);
    });
    // New requests over its open connections are refused and can be sent again.
    expect([...load.refusals.keys()].filter((status) => status !== 503)).toEqual([]);
    await expectNothingLost(load, server.url, backEnd.key);
  });

  it("answers every new connection while processes end one after the other", async () => {
    let isOver = false;
    const responses = new Map<number | string, number>();
    // An agent would keep connections: the primary passes each of these to one of the processes.
    const ask = () =>
      new Promise<number | string>((resolve) => {
        const answered = (response: IncomingMessage) => {
          response.resume().on("end", () => resolve(response.statusCode ?? 0));
        };
        get(`${server.url}/healthz`, { agent: false }, answered).on("error", ({ message }) => resolve(message));
      });
    const client = async () => {
      while (!isOver) {
        const response = await ask();
        responses.set(response, (responses.get(response) ?? 0) + 1);
      }
    };
    const clients = Array.from({ length: 16 }, client);
    for (const number of [1, 2, 1]) {
      const ended = processId(server.said(), number);
      process.kill(ended, "SIGTERM");
      await expect.poll(() => processIds(server.said()).get(number)).not.toBe(ended);
    }
    isOver = true;
    await Promise.all(clients);
    expect([...responses.keys()].filter((response) => response !== 503)).toEqual([200]);
    expect(responses.get(200)).toBeGreaterThan(100);
  });
});
