import { once } from "node:events";
import { connect as connectHttp2 } from "node:http2";
import { connect, type Socket } from "node:net";
import fc from "fast-check";
import { afterEach, describe, expect, it } from "vitest";
import { CONNECTION_LIMITS } from "../../../src/api/connection/connection-limits.js";
import { IdleConnections, type TrackedConnection } from "../../../src/api/connection/idle-connections.js";
import { createMultiProtocolServer } from "../../../src/api/connection/multi-protocol-server.js";

const LIMITS = { ofAddress: 4, settledMs: 0, unproven: 16, proven: 16 };

describe("idle connections", () => {
  const opening = fc.record({
    network: fc.integer({ min: 1, max: 30 }),
    host: fc.integer({ min: 1, max: 3 }),
    act: fc.constantFrom("open", "request", "response", "check", "prove", "end"),
  });

  it("are bounded, and a network with one keeps it while others have more", () => {
    fc.assert(
      fc.property(fc.array(opening, { maxLength: 200 }), (steps) => {
        const idle = new IdleConnections(LIMITS);
        const closed = new Set<TrackedConnection>();
        const open: TrackedConnection[] = [];
        const openFrom = (address: string, network: string) => {
          const made: TrackedConnection = idle.open({ address, network }, () => closed.add(made));
          open.push(made);
          return made;
        };
        const own = openFrom("own.1", "own");
        for (const { network, host, act } of steps) {
          // Fewer networks than places: some network has two before all are in use.
          const name = network % 15;
          const last = open.findLast(({ peer }) => peer.address === `${name}.${host}`);
          if (act === "open" || !last) openFrom(`${name}.${host}`, `${name}`);
          else if (act === "request") last.begin({ writableEnded: false });
          else if (act === "response") last.begin({ writableEnded: true });
          else if (act === "check") idle.findUnread();
          else if (act === "prove") last.prove();
          else last.end();
          expect(idle.count).toBeLessThanOrEqual(LIMITS.unproven + LIMITS.proven);
        }
        expect(closed.has(own)).toBe(false);
        for (const made of closed) expect(made.isIdle).toBe(false);
      }),
      { numRuns: 300 },
    );
  });

  it("are bounded for an address, which loses its oldest one without a request", () => {
    const idle = new IdleConnections(LIMITS);
    const closed: number[] = [];
    const made = Array.from({ length: 4 }, (_, index) =>
      idle.open({ address: "a", network: "n" }, () => closed.push(index)),
    );
    made[0]?.begin({ writableEnded: false });
    made[1]?.prove();
    for (let index = 4; index < 8; index += 1) idle.open({ address: "a", network: "n" }, () => closed.push(index));
    expect(closed).toEqual([2, 3]);
  });
});

it("keeps connections that an address has just opened, until they have waited", () => {
  let now = 0;
  const idle = new IdleConnections({ ...LIMITS, settledMs: 1_000 }, () => now);
  const closed: number[] = [];
  const open = (index: number) => idle.open({ address: "a", network: "n" }, () => closed.push(index));
  for (let index = 0; index < 8; index += 1) open(index);
  expect(closed).toEqual([]);
  now = 1_000;
  open(8);
  expect(closed).toEqual([0, 1, 2, 3, 4]);
});

it("counts a connection whose responses are all written as idle, also if its client reads none of them", () => {
  const idle = new IdleConnections(LIMITS);
  const closed: [index: number, hasUnread: boolean][] = [];
  const made = Array.from({ length: 6 }, (_, index) => {
    const connection = idle.open({ address: "a", network: "n" }, (hasUnread) => closed.push([index, hasUnread]));
    const exchange = { writableEnded: false };
    connection.begin(exchange);
    return { connection, exchange };
  });
  idle.findUnread();
  expect([idle.count, closed]).toEqual([0, []]);
  for (const { exchange } of made) exchange.writableEnded = true;
  made[0]?.connection.begin({ writableEnded: false });
  idle.findUnread();
  expect([idle.count, closed]).toEqual([4, [[1, true]]]);
});

describe("a port", () => {
  const sockets: Socket[] = [];
  afterEach(() => {
    for (const socket of sockets.splice(0)) socket.destroy();
  });

  it("keeps 4 of an address and 16 in all, for HTTP/1.1 and HTTP/2, and serves a newcomer", async () => {
    const limits = { ...CONNECTION_LIMITS, idle: LIMITS };
    const port = createMultiProtocolServer((_request, response) => response.end("served"), limits, undefined);
    port.server.listen(0, "127.0.0.1");
    await once(port.server, "listening");
    const number = Number(Object(port.server.address()).port);
    let open = 0;
    port.server.on("connection", (socket: Socket) => {
      open += 1;
      socket.once("close", () => {
        open -= 1;
      });
    });
    for (let index = 0; index < 60; index += 1) {
      const socket = connect({ host: "127.0.0.1", port: number, localAddress: `127.3.${index % 6}.1` });
      sockets.push(socket.on("error", () => {}));
      await once(socket, "connect");
    }
    await expect.poll(() => open).toBe(16);
    const session = connectHttp2(`http://127.0.0.1:${number}`);
    const stream = session.request({ ":path": "/" }).setEncoding("utf8");
    expect(await stream.toArray()).toEqual(["served"]);
    const response = await fetch(`http://127.0.0.1:${number}/`, { headers: { connection: "close" } });
    expect(await response.text()).toBe("served");
    session.destroy();
    port.destroy();
    const ended = once(port.server, "close");
    port.server.close();
    await ended;
  });

  it("closes connections over HTTP/2 whose clients read no response", async () => {
    const limits = { ...CONNECTION_LIMITS, idle: LIMITS };
    const port = createMultiProtocolServer((_request, response) => response.end("served"), limits, undefined);
    port.server.listen(0, "127.0.0.1");
    await once(port.server, "listening");
    const number = Number(Object(port.server.address()).port);
    let open = 0;
    const sessions = Array.from({ length: 8 }, () => {
      const session = connectHttp2(`http://127.0.0.1:${number}`, { settings: { initialWindowSize: 0 } });
      open += 1;
      session
        .on("error", () => {})
        .once("close", () => {
          open -= 1;
        });
      session.request({ ":path": "/" }).on("error", () => {});
      return session;
    });
    await expect.poll(() => open).toBe(LIMITS.ofAddress);
    for (const session of sessions) session.destroy();
    port.destroy();
    const ended = once(port.server, "close");
    port.server.close();
    await ended;
  });
});
