// Waits: 25 s
import { once } from "node:events";
import { Agent, type IncomingMessage, request } from "node:http";
import { type ClientHttp2Session, connect } from "node:http2";
import { connect as connectSocket, type Socket } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { type ServerProcess, startServerProcess } from "../../support/server.js";
import { firstTenant, type TestTenant } from "../../support/tenant.js";
import { type Destination, httpResponse, startDestination } from "../proxy/support/destination.js";

let server: ServerProcess;
let tenant: TestTenant;
let key: string;
let destination: Destination;
/** Ends the destination's pending responses. */
let finish: () => void;

beforeEach(async () => {
  const finished = Promise.withResolvers<void>();
  finish = finished.resolve;
  destination = await startDestination((socket) => {
    void finished.promise.then(() => socket.write(httpResponse("200 OK", [], "in the end")));
  });
  server = await startServerProcess({ EGRESS_ALLOW: "127.0.0.1" });
  tenant = await firstTenant(server);
  ({ key } = await tenant.backEnd());
});
afterEach(async () => {
  finish();
  await server[Symbol.asyncDispose]();
  await destination[Symbol.asyncDispose]();
});

interface Seen {
  readonly status: number;
  readonly headers: IncomingMessage["headers"];
  readonly body: string;
  /** The connection has served a request before. */
  readonly isReused: boolean;
}

/** Sends one request. @throws the connection's error. */
function send(agent: Agent, path: string, headers: Record<string, string> = {}, method = "GET"): Promise<Seen> {
  const { hostname, port } = new URL(server.url);
  return new Promise((resolve, reject) => {
    const sent = request({ agent, hostname, port, path, method, headers: { "BT-API-KEY": key, ...headers } });
    sent.once("error", reject);
    sent.once("response", (response) => {
      let body = "";
      response.setEncoding("utf8").on("data", (text: string) => (body += text));
      response.once("error", reject);
      response.once("end", () =>
        resolve({ status: response.statusCode ?? 0, headers: response.headers, body, isReused: sent.reusedSocket }),
      );
    });
    sent.end();
  });
}

const keptAlive = () => new Agent({ keepAlive: true, maxSockets: 1 });
const codeOf = (error: unknown) => String(Object(error).code);

const untilStopping = () => vi.waitFor(() => expect(server.said()).toContain("Stopping"), { interval: 5 });

describe("a server that is asked to stop", () => {
  it("closes the connections of busy clients with a response: none of them is reset", async () => {
    const isOver = new AbortController();
    const outcomes: { readonly agent: number; readonly seen: Seen | string }[] = [];
    const client = async (agent: number) => {
      const connection = keptAlive();
      while (!isOver.signal.aborted) {
        const seen = await send(connection, "/tokens").catch(codeOf);
        outcomes.push({ agent, seen });
        if (seen === "ECONNREFUSED") return;
        await pause(Math.random() * 20);
      }
    };
    const clients = Array.from({ length: 12 }, (_, agent) => client(agent));
    // More than ten each: connections in steady use, which a pause of their client does not close.
    await vi.waitFor(() => expect(outcomes.length).toBeGreaterThan(240));
    const stopped = server.stop();
    await untilStopping();
    expect(await stopped).toBe(0);
    isOver.abort();
    await Promise.all(clients);
    const failures = outcomes.flatMap(({ seen }) => (typeof seen === "string" ? [seen] : []));
    expect(new Set(failures)).toEqual(new Set(["ECONNREFUSED"]));
    for (const agent of clients.keys()) {
      const responses = outcomes.flatMap((outcome) =>
        outcome.agent === agent && typeof outcome.seen !== "string" ? [outcome.seen] : [],
      );
      expect(responses.at(-1)?.headers.connection).toBe("close");
      for (const { status, headers } of responses) {
        expect([200, 503]).toContain(status);
        if (status === 503) expect([headers["retry-after"], headers.connection]).toEqual(["1", "close"]);
      }
    }
  });

  it("accepts no new work on any API, finishes what it has begun, and reports not ready at once", async () => {
    const agents = [keptAlive(), keptAlive(), keptAlive(), keptAlive()] as const;
    // More than ten each: connections in steady use, which stay open longer.
    for (let n = 0; n < 12; n += 1) await Promise.all(agents.map((agent) => send(agent, "/healthz")));
    const begun = send(keptAlive(), "/proxy/begun", { "BT-PROXY-URL": destination.url });
    await vi.waitFor(() => expect(destination.requests).toHaveLength(1));
    const stopped = server.stop();
    // The port closes first: until then requests are still served.
    await vi.waitFor(async () => expect((await fetch(`${server.adminUrl}/readyz`)).status).toBe(503), { interval: 5 });
    const [rest, proxied, rpc, ready] = await Promise.all([
      send(agents[0], "/tokens"),
      send(agents[1], "/proxy/new", { "BT-PROXY-URL": destination.url }),
      send(agents[2], "/cloakroom.v1.TokenService/GetToken", { "Content-Type": "application/json" }, "POST"),
      send(agents[3], "/readyz"),
    ]);
    for (const { status, headers, isReused } of [rest, proxied, rpc]) {
      expect({ status, isReused, retry: headers["retry-after"], connection: headers.connection }).toEqual({
        ...{ status: 503, isReused: true, retry: "1", connection: "close" },
      });
    }
    expect(JSON.parse(rest.body)).toMatchObject({ status: 503, code: "unavailable" });
    expect(JSON.parse(proxied.body).proxy_error).toMatchObject({ status: 503, code: "unavailable" });
    expect(JSON.parse(rpc.body)).toMatchObject({ code: "unavailable" });
    expect([ready.status, JSON.parse(ready.body).checks.serving]).toEqual([503, "is stopping"]);
    expect(destination.requests).toHaveLength(1);
    finish();
    expect(await begun).toMatchObject({ status: 200, body: "in the end", headers: { connection: "close" } });
    expect(await stopped).toBe(0);
  });

  it("sends GOAWAY to HTTP/2 clients, answers requests on their way, and finishes open streams", async () => {
    const session: ClientHttp2Session = connect(server.url);
    const ask = async (path: string, headers: Record<string, string>) => {
      const stream = session.request({ ":path": path, "bt-api-key": key, ...headers });
      let body = "";
      stream.setEncoding("utf8").on("data", (text: string) => (body += text));
      const [response] = await once(stream, "response");
      await once(stream, "end");
      return { status: response[":status"], body };
    };
    const begun = ask("/proxy/begun", { "bt-proxy-url": destination.url });
    await vi.waitFor(() => expect(destination.requests).toHaveLength(1));
    const away = once(session, "goaway");
    const stopped = server.stop();
    const [code, lastStream] = await away;
    expect([code, lastStream]).toEqual([0, 2 ** 31 - 1]);
    finish();
    expect(await begun).toEqual({ status: 200, body: "in the end" });
    await once(session, "close");
    expect(await stopped).toBe(0);
  });

  it("ends a call that does not finish in its 25 s, names it, and exits by itself", async () => {
    const begun = send(keptAlive(), "/proxy/begun", { "BT-PROXY-URL": destination.url });
    const dripping = await drip();
    await vi.waitFor(() => expect(destination.requests.length).toBeGreaterThan(0));
    expect(await server.stop()).toBe(0);
    dripping.destroy();
    // The destination times out at about the same moment.
    await begun.catch(codeOf);
    const lines = server.said().split("\n");
    expect(lines.filter((line) => line.includes("stopping: requests are in flight"))[0]).toContain("POST /tokens");
    expect(lines.find((line) => line.includes("stopping: requests were cut off"))).toContain("POST /tokens");
  });

  it("waits for nothing if no request is in flight: idle and silent connections are closed", async () => {
    const { hostname, port } = new URL(server.url);
    const silent = connectSocket(Number(port), hostname).on("error", () => {});
    await once(silent, "connect");
    const agent = keptAlive();
    await send(agent, "/healthz");
    const closed = once(silent, "close");
    expect(await server.stop()).toBe(0);
    await closed;
    expect(server.said()).not.toContain("stopping: requests");
  });
});

/** A request whose body arrives a byte at a time and never ends. */
async function drip(): Promise<Socket> {
  const { hostname, port } = new URL(server.url);
  const socket = connectSocket(Number(port), hostname).on("error", () => {});
  await once(socket, "connect");
  const head = `POST /tokens HTTP/1.1\r\nHost: x\r\nBT-API-KEY: ${key}\r\nContent-Type: application/json\r\n`;
  socket.write(`${head}Content-Length: 4000000\r\n\r\n{`);
  // Bodies must grow by 32 KB in 5 s, and arrive within 60 s.
  const timer = setInterval(() => socket.write(" ".repeat(8_192)), 500);
  socket.once("close", () => clearInterval(timer));
  return socket;
}
