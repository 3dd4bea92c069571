import { once } from "node:events";
import { create, toBinary, toJsonString } from "@bufbuild/protobuf";
import { encodeEnvelope } from "@connectrpc/connect/protocol";
import { afterEach, describe, expect, inject, it, vi } from "vitest";
import { Cloakroom, type Interceptor } from "../../../clients/typescript/src/node.js";
import { FollowLogsResponseSchema } from "../../../gen/cloakroom/v1/logs_pb.js";
import { newTenant } from "../../support/tenant.js";
import { errorOf } from "./support/error-of.js";
import { type Gate, http1, http2, silent } from "./support/gates.js";

/** The states in which a call can end: the server never continues from that step. */
const STEPS: readonly (readonly [string, "grpc" | "connect", () => Promise<Gate>])[] = [
  ["while it connects", "grpc", silent],
  ["while it waits for the response", "grpc", () => http2(() => {})],
  [
    "within the response",
    "grpc",
    () =>
      http2((stream) => {
        stream.respond({ ":status": 200, "content-type": "application/grpc+proto" });
        stream.write(Buffer.from([0, 0, 0, 0, 9, 1]));
      }),
  ],
  ["while it waits for the response", "connect", () => http1(() => {})],
  [
    "within the response",
    "connect",
    () =>
      http1((_, response) => {
        response.setHeader("content-type", "application/json").write("{");
      }),
  ],
];

describe.each(STEPS)("a call %s over %s", (_, transport, start) => {
  it("ends on its signal, and on its timeout", async () => {
    await using gate = await start();
    await using client = new Cloakroom({ baseUrl: `http://${gate.host}`, apiKey: "key", transport });
    const controller = new AbortController();
    const call = errorOf(client.tokens.get("x", { signal: controller.signal }));
    setTimeout(() => controller.abort(), 100);
    expect(await call).toMatchObject({ code: "canceled", attempts: 1 });
    expect(await errorOf(client.tokens.get("x", { timeout: 100 }))).toMatchObject({ code: "timeout", attempts: 1 });
  });
});

describe("a call", () => {
  it("is not sent if its signal was already aborted", async () => {
    await using client = new Cloakroom({ baseUrl: inject("serverUrl"), apiKey: "key" });
    const error = await errorOf(client.tokens.get("x", { signal: AbortSignal.abort() }));
    expect(error.code).toBe("canceled");
  });

  it("ends in the queue, before later calls", async () => {
    const streams = new Set<() => void>();
    await using gate = await http2((stream) => {
      streams.add(() => stream.destroy());
    });
    await using client = new Cloakroom({ baseUrl: `http://${gate.host}`, apiKey: "key", maxRetries: 0 });
    const first = Array.from({ length: 100 }, () => errorOf(client.tokens.get("x")));
    const controller = new AbortController();
    const queued = errorOf(client.tokens.get("x", { signal: controller.signal }));
    const late = errorOf(client.tokens.get("x", { timeout: 300 }));
    await expect.poll(() => streams.size).toBe(100);
    controller.abort();
    expect(await queued).toMatchObject({ code: "canceled" });
    expect(await late).toMatchObject({ code: "timeout" });
    expect(streams.size).toBe(100);
    for (const end of streams) end();
    for (const error of await Promise.all(first)) expect(error.code).toBe("connection_failed");
  });

  it("ends while it waits for its key", async () => {
    const apiKey = () => new Promise<string>(() => {});
    await using client = new Cloakroom({ baseUrl: inject("serverUrl"), apiKey });
    expect(await errorOf(client.tokens.get("x", { timeout: 50 }))).toMatchObject({ code: "timeout", attempts: 0 });
  });

  it("ends between two attempts", async () => {
    await using gate = await http1((_, response) => {
      response.writeHead(503, { "content-type": "text/html", "retry-after": "5" }).end();
    });
    await using client = new Cloakroom({ baseUrl: `http://${gate.host}`, apiKey: "key", transport: "connect" });
    const controller = new AbortController();
    setTimeout(() => controller.abort(), 200);
    const error = await errorOf(client.tokens.get("x", { signal: controller.signal }));
    expect(error).toMatchObject({ code: "canceled", attempts: 1 });
    // The wait would last longer than the call: it fails at once, with the server's error.
    expect(await errorOf(client.tokens.get("x", { timeout: 2_000 }))).toMatchObject({
      code: "unavailable",
      attempts: 1,
    });
  });

  it("leaves no listener on a long-lived signal", async () => {
    await using client = new Cloakroom({ baseUrl: inject("serverUrl"), apiKey: "key" });
    const { signal } = new AbortController();
    const listeners = new Set<unknown>();
    const { addEventListener, removeEventListener } = signal;
    signal.addEventListener = (type: string, listener: unknown) => {
      listeners.add(listener);
      Reflect.apply(addEventListener, signal, [type, listener]);
    };
    signal.removeEventListener = (type: string, listener: unknown) => {
      listeners.delete(listener);
      Reflect.apply(removeEventListener, signal, [type, listener]);
    };
    for (let n = 0; n < 20; n += 1) await errorOf(client.tokens.get("x", { signal }));
    expect(listeners.size).toBe(0);
  });

  it("sends its timeout to the server", async () => {
    const seen: unknown[] = [];
    await using other = await http1((request, response) => {
      seen.push(request.headers["connect-timeout-ms"]);
      response.setHeader("content-type", "application/json").end("{}");
    });
    await using client = new Cloakroom({ baseUrl: `http://${other.host}`, apiKey: "key", transport: "connect" });
    await client.tokens.get("x", { timeout: 5_000 });
    expect(Number(seen[0])).toBeGreaterThan(4_000);
    expect(Number(seen[0])).toBeLessThanOrEqual(5_000);
  });
});

const ROW = create(FollowLogsResponseSchema, {
  data: [{ id: "one", createdAt: { seconds: 1n } }],
  cursor: "behind one",
});

/** Servers that send one message of a stream, and never end it. */
const STREAMS = [
  [
    "grpc",
    () =>
      http2((stream) => {
        stream.respond({ ":status": 200, "content-type": "application/grpc+proto" });
        stream.write(encodeEnvelope(0, toBinary(FollowLogsResponseSchema, ROW)));
      }),
  ],
  [
    "connect",
    () =>
      http1((_, response) => {
        response.setHeader("content-type", "application/connect+json");
        response.write(encodeEnvelope(0, Buffer.from(toJsonString(FollowLogsResponseSchema, ROW))));
      }),
  ],
] as const;

describe.each(STREAMS)("a stream over %s", (transport, start) => {
  it("is not opened if its signal was already aborted", async () => {
    await using gate = await start();
    await using client = new Cloakroom({ baseUrl: `http://${gate.host}`, apiKey: "key", transport });
    // Over an open connection nothing else would end it.
    await client.logs.follow()[Symbol.asyncIterator]().next();
    const rows = client.logs.follow({}, { signal: AbortSignal.abort() });
    expect(await errorOf(rows[Symbol.asyncIterator]().next())).toMatchObject({ code: "canceled" });
  });
});

afterEach(() => {
  vi.useRealTimers();
});

it("does not connect again after its close, for calls that waited in its queue", async () => {
  const [streams, sessions] = [new Set<unknown>(), new Set<unknown>()];
  await using gate = await http2((stream) => {
    streams.add(stream);
    sessions.add(stream.session);
  });
  await using client = new Cloakroom({ baseUrl: `http://${gate.host}`, apiKey: "key", maxRetries: 0, timeout: 0 });
  const calls = Array.from({ length: 101 }, () => errorOf(client.tokens.get("x")));
  await expect.poll(() => streams.size).toBe(100);
  vi.useFakeTimers({ toFake: ["setTimeout"] });
  const closing = client.close();
  vi.advanceTimersByTime(5_000);
  await closing;
  for (const error of await Promise.all(calls)) expect(error.code).toBe("connection_failed");
  expect(sessions.size).toBe(1);
});

describe.each(STREAMS)("a client that closes over %s", (transport, start) => {
  it("ends its streams, and does not wait for their readers", async () => {
    await using gate = await start();
    await using client = new Cloakroom({ baseUrl: `http://${gate.host}`, apiKey: "key", transport });
    const holding = client.logs.follow()[Symbol.asyncIterator]();
    expect(await holding.next()).toMatchObject({ value: { id: "one" } });
    const waiting = client.logs.follow()[Symbol.asyncIterator]();
    await waiting.next();
    const next = errorOf(waiting.next());
    // A wait for the streams would have no end.
    vi.useFakeTimers({ toFake: ["setTimeout"] });
    await client.close();
    const closed = { code: "connection_failed", message: "The client is closed." };
    expect(await next).toMatchObject(closed);
    expect(await errorOf(holding.next())).toMatchObject(closed);
    expect(await errorOf(client.tokens.get("x", { timeout: 0 }))).toMatchObject(closed);
  });
});

/** Servers whose responses the test sends. */
const HELD = [
  [
    "grpc",
    (hold: (respond: () => void) => void) =>
      http2((stream) => hold(() => stream.respond({ ":status": 404 }, { endStream: true }))),
  ],
  [
    "connect",
    (hold: (respond: () => void) => void) => http1((_, response) => hold(() => response.writeHead(404).end())),
  ],
] as const;

describe.each(HELD)("a client that closes while a call is under way over %s", (transport, start) => {
  /** A client whose call waits for its response. No time limit ends a wait unless the test lets time pass. */
  async function clientWithCall() {
    const responses: (() => void)[] = [];
    const gate = await start((respond) => responses.push(respond));
    const client = new Cloakroom({ baseUrl: `http://${gate.host}`, apiKey: "key", transport, maxRetries: 0 });
    const call = errorOf(client.tokens.get("x"));
    await expect.poll(() => responses.length).toBe(1);
    vi.useFakeTimers({ toFake: ["setTimeout"] });
    const respond = () => responses[0]?.();
    return { client, call, respond, [Symbol.asyncDispose]: () => gate[Symbol.asyncDispose]() };
  }

  it("waits for the call, also when it is closed twice", async () => {
    await using begun = await clientWithCall();
    const { client, call, respond } = begun;
    let closed = 0;
    const closing = [client.close(), client.close()].map((end) => end.then(() => (closed += 1)));
    expect(await errorOf(client.tokens.get("x"))).toMatchObject({ message: "The client is closed." });
    expect(closed).toBe(0);
    respond();
    await Promise.all(closing);
    expect(await call).toMatchObject({ code: "bad_answer", status: 404 });
  });

  it("waits for five seconds at most", async () => {
    await using begun = await clientWithCall();
    const { client, call } = begun;
    const closing = client.close();
    vi.advanceTimersByTime(5_000);
    await closing;
    await client.close();
    // The call has ended, although it never gets a response.
    expect(await call).toMatchObject({ code: "connection_failed", attempts: 1 });
  });
});

/** Servers that are not available, and say for how long. */
const FAILING = [
  [
    "grpc",
    (onAttempt: () => void, seconds: () => string) =>
      http2((stream) => {
        onAttempt();
        stream.respond({ ":status": 503, "retry-after": seconds() }, { endStream: true });
      }),
  ],
  [
    "connect",
    (onAttempt: () => void, seconds: () => string) =>
      http1((_, response) => {
        onAttempt();
        response.writeHead(503, { "retry-after": seconds() }).end();
      }),
  ],
] as const;

describe.each(FAILING)("a client that closes during the pause before a retry over %s", (transport, start) => {
  it("waits for the retries of the call, and refuses further calls", async () => {
    let attempts = 0;
    await using gate = await start(
      () => (attempts += 1),
      () => "1",
    );
    const client = new Cloakroom({ baseUrl: `http://${gate.host}`, apiKey: "key", transport, maxRetries: 2 });
    const call = errorOf(client.tokens.get("x"));
    await expect.poll(() => attempts).toBe(1);
    const closing = client.close();
    expect(await errorOf(client.tokens.get("x"))).toMatchObject({ message: "The client is closed.", attempts: 0 });
    expect(attempts).toBe(1);
    await closing;
    expect(attempts).toBe(3);
    expect(await call).toMatchObject({ code: "unavailable", status: 503, attempts: 3 });
  });

  it("ends the pause after five seconds, with the failure of the last attempt", async () => {
    let attempts = 0;
    await using gate = await start(
      () => (attempts += 1),
      () => "60",
    );
    let repeats = 0;
    const logger = { info: () => (repeats += 1) };
    await using client = new Cloakroom({
      ...{ baseUrl: `http://${gate.host}`, apiKey: "key", transport, timeout: 0, logger },
    });
    const call = errorOf(client.tokens.get("x"));
    // Its pause has begun.
    await expect.poll(() => repeats).toBe(1);
    vi.useFakeTimers({ toFake: ["setTimeout"] });
    const closing = client.close();
    const second = client.close();
    vi.advanceTimersByTime(5_000);
    await Promise.all([closing, second]);
    expect(await call).toMatchObject({ code: "unavailable", status: 503, attempts: 1 });
    expect(attempts).toBe(1);
  });
});

describe.each(["grpc", "connect"] as const)("a client that closes right after its calls over %s", (transport) => {
  it("waits for calls that are not sent yet", async () => {
    const tenant = await newTenant();
    const { key } = await tenant.backEnd();
    const apiKey = async () => {
      await new Promise((resolve) => setTimeout(resolve, 50));
      return key;
    };
    let responseCount = 0;
    const count: Interceptor = async (_, next) => {
      const response = await next();
      responseCount += 1;
      return response;
    };
    const client = new Cloakroom({ baseUrl: tenant.url, apiKey, transport, interceptors: [count] });
    const created = client.tokens.create({ type: "token", data: "x" });
    const listed = client.tokens.list();
    await client.close();
    expect(responseCount).toBe(2);
    expect((await created).type).toBe("token");
    expect(await listed).toMatchObject({ data: expect.any(Array) });
    const closed = { code: "connection_failed", message: "The client is closed.", attempts: 0 };
    expect(await errorOf(client.tokens.create({ type: "token", data: "x" }, { idempotencyKey: "own" }))).toMatchObject({
      ...closed,
      idempotencyKey: "own",
    });
    expect(await errorOf(client.tokens.list())).toMatchObject(closed);
    await client.close();
  });
});

it("does not keep a program running once its calls have ended", async () => {
  const { spawn } = await import("node:child_process");
  const code = `
    import { Cloakroom } from ${JSON.stringify(new URL("../../../clients/typescript/dist/node.js", import.meta.url).href)};
    const client = new Cloakroom({ baseUrl: ${JSON.stringify(inject("serverUrl"))}, apiKey: "key" });
    await client.tokens.get("x").catch((error) => console.log(error.code));`;
  const child = spawn(process.execPath, ["--input-type=module", "-e", code], { stdio: ["ignore", "pipe", "inherit"] });
  let said = "";
  child.stdout.on("data", (chunk: Buffer) => {
    said += chunk;
  });
  const [status] = await once(child, "close");
  expect({ status, said }).toEqual({ status: 0, said: "unauthenticated\n" });
});
