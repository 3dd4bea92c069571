import { constants } from "node:http2";
import { encodeEnvelope } from "@connectrpc/connect/protocol";
import { describe, expect, it, vi } from "vitest";
import { Cloakroom } from "../../../clients/typescript/src/node.js";
import { Retries } from "../../../clients/typescript/src/retries.js";
import { errorOf } from "./support/error-of.js";
import { http1, http2 } from "./support/gates.js";

/** An error as the server sends it over Connect. */
function refusal(reason: string, code: string): string {
  const info = { type: "google.rpc.ErrorInfo", value: "", debug: { reason, domain: "cloakroom", metadata: {} } };
  return JSON.stringify({ code, message: "no", details: [info] });
}

/** A server that rejects the first calls and records their idempotency keys. */
async function refusing(times: number, reason: string, code: string, headers: Record<string, string> = {}) {
  const keys: (string | undefined)[] = [];
  const gate = await http1((request, response) => {
    keys.push(request.headers["bt-idempotency-key"]?.toString());
    const isRefused = keys.length <= times;
    response.writeHead(isRefused ? 400 : 200, { "content-type": "application/json", ...(isRefused ? headers : {}) });
    response.end(isRefused ? refusal(reason, code) : "{}");
  });
  const client = new Cloakroom({ baseUrl: `http://${gate.host}`, apiKey: "key", transport: "connect" });
  return { gate, client, keys };
}

describe("a failed call", () => {
  it.each([
    ["unavailable", "unavailable"],
    ["rate_limited", "resource_exhausted"],
    ["idempotency_in_flight", "aborted"],
    ["internal", "internal"],
  ])("is sent again after %s, with the same key", async (reason, code) => {
    const { gate, client, keys } = await refusing(2, reason, code);
    await using _ = gate;
    const { attempts } = await client.tokens.create({ type: "token", data: 1 }).withResponse();
    expect(attempts).toBe(3);
    expect(keys[0]).toMatch(/^[\w-]{36}$/);
    expect(new Set(keys).size).toBe(1);
  });

  it.each([
    ["conflict", "aborted"],
    ["wrong_state", "failed_precondition"],
    ["destination_unreachable", "unavailable"],
    ["body_too_large", "resource_exhausted"],
    ["validation_failed", "invalid_argument"],
    ["a_code_of_later", "unavailable"],
  ])("is not sent again after %s", async (reason, code) => {
    const { gate, client, keys } = await refusing(1, reason, code);
    await using _ = gate;
    const error = await errorOf(client.tokens.create({ type: "token", data: 1 }));
    expect(error).toMatchObject({ reason, attempts: 1, code: reason === "a_code_of_later" ? "unknown" : reason });
    expect(keys).toHaveLength(1);
  });

  it("is not sent again if it could take effect twice", async () => {
    const { gate, client, keys } = await refusing(1, "unavailable", "unavailable");
    await using _ = gate;
    expect(await errorOf(client.reactors.react("x"))).toMatchObject({ code: "unavailable", attempts: 1 });
    expect(keys).toEqual([undefined]);
  });

  it("waits as long as the server asks, unless that is too long", async () => {
    const soon = await refusing(1, "rate_limited", "resource_exhausted", { "retry-after": "1" });
    await using _ = soon.gate;
    const timers = vi.spyOn(globalThis, "setTimeout");
    await soon.client.tokens.get("x");
    const waits = timers.mock.calls.map(([, ms]) => ms);
    timers.mockRestore();
    expect(waits).toContain(1_000);
    const late = await refusing(1, "rate_limited", "resource_exhausted", { "retry-after": "61" });
    await using __ = late.gate;
    expect(await errorOf(late.client.tokens.get("x", { timeout: 0 }))).toMatchObject({ retryAfter: 61, attempts: 1 });
  });

  it("counts a delete as done if a second attempt finds nothing", async () => {
    let calls = 0;
    await using gate = await http1((_, response) => {
      calls += 1;
      response.writeHead(400, { "content-type": "application/json" });
      response.end(calls % 2 === 1 ? refusal("unavailable", "unavailable") : refusal("not_found", "not_found"));
    });
    await using client = new Cloakroom({ baseUrl: `http://${gate.host}`, apiKey: "key", transport: "connect" });
    await client.tokens.delete("x");
    expect(calls).toBe(2);
    calls = 1;
    expect(await errorOf(client.tokens.delete("x"))).toMatchObject({ code: "not_found", attempts: 1 });
  });
});

it("a 404 after a rate-limited first attempt of a delete is an error, not a success", async () => {
  let calls = 0;
  await using gate = await http1((_, response) => {
    calls += 1;
    response.writeHead(400, { "content-type": "application/json" });
    response.end(calls === 1 ? refusal("rate_limited", "resource_exhausted") : refusal("not_found", "not_found"));
  });
  await using client = new Cloakroom({ baseUrl: `http://${gate.host}`, apiKey: "key", transport: "connect" });
  expect(await errorOf(client.tokens.delete("x"))).toMatchObject({ code: "not_found", attempts: 2 });
});

it("repeats any call for which the server accepted no stream", async () => {
  let calls = 0;
  await using gate = await http2((stream) => {
    calls += 1;
    if (calls === 1) return stream.close(constants.NGHTTP2_REFUSED_STREAM);
    stream.respond(
      { ":status": 200, "content-type": "application/grpc+proto", "grpc-status": "5" },
      { endStream: true },
    );
  });
  await using client = new Cloakroom({ baseUrl: `http://${gate.host}`, apiKey: "key" });
  expect(await errorOf(client.reactors.react("x"))).toMatchObject({ code: "not_found", attempts: 2 });
});

it("does not treat a response with a lost status as a success", async () => {
  await using gate = await http2((stream) => {
    stream.respond({ ":status": 200, "content-type": "application/grpc+proto" });
    stream.end(encodeEnvelope(0, Buffer.alloc(0)));
  });
  await using client = new Cloakroom({ baseUrl: `http://${gate.host}`, apiKey: "key", maxRetries: 0 });
  expect(await errorOf(client.tokens.get("x"))).toMatchObject({ code: "connection_failed" });
});

it("reports a message that cannot be read, without its bytes", async () => {
  await using gate = await http2((stream) => {
    stream.respond({ ":status": 200, "content-type": "application/grpc+proto" }, { waitForTrailers: true });
    stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0" }));
    stream.end(encodeEnvelope(0, Buffer.from([0xff, 0xff])));
  });
  await using client = new Cloakroom({ baseUrl: `http://${gate.host}`, apiKey: "key" });
  const error = await errorOf(client.tokens.get("x"));
  expect(error).toMatchObject({ code: "bad_answer", attempts: 1 });
  expect(error.cause).toBeUndefined();
});

describe("the retry budget", () => {
  const down = { code: "unavailable", message: "" } as const;

  it("stops retries while the server fails, but not those of lost connections", () => {
    const retries = new Retries();
    const waits = Array.from({ length: 12 }, () => retries.waitAfter(down, "read", 1));
    expect(waits.filter((wait) => wait !== "spent")).toHaveLength(10);
    expect(retries.waitAfter({ code: "connection_failed", message: "" }, "read", 1)).toBeDefined();
    for (let n = 0; n < 11; n += 1) retries.succeeded();
    expect(retries.waitAfter(down, "read", 1)).toBeDefined();
    expect(retries.waitAfter(down, "read", 1)).toBe("spent");
  });

  it("is not spent by rate limits that say when to come back: 300 calls at once all get their turn", () => {
    const retries = new Retries();
    const limited = { code: "rate_limited", message: "", retryAfter: 10 } as const;
    const waits = Array.from({ length: 300 }, () => retries.waitAfter(limited, "keyed", 1));
    expect(new Set(waits)).toEqual(new Set([10_000]));
    expect(retries.waitAfter(down, "read", 1)).toBeTypeOf("number");
  });

  it("is named by the error of a call that found it spent", async () => {
    await using gate = await http1((_, response) => {
      response.writeHead(400, { "content-type": "application/json" });
      response.end(refusal("unavailable", "unavailable"));
    });
    await using client = new Cloakroom({ baseUrl: `http://${gate.host}`, apiKey: "key", transport: "connect" });
    const errors = await Promise.all(
      Array.from({ length: 11 }, () => errorOf(client.tokens.get("x", { maxRetries: 1 }))),
    );
    expect(errors.map(({ attempts, retryBudgetSpent }) => `${attempts} ${retryBudgetSpent}`).toSorted()).toEqual([
      "1 true",
      ...Array.from({ length: 10 }, () => "2 false"),
    ]);
  });

  it("waits at random, longer with each attempt, up to eight seconds", () => {
    const longest = (attempt: number) =>
      Math.max(...Array.from({ length: 200 }, () => Number(new Retries().waitAfter(down, "read", attempt))));
    expect(longest(1)).toBeLessThanOrEqual(500);
    expect(longest(3)).toBeGreaterThan(500);
    expect(longest(3)).toBeLessThanOrEqual(2_000);
    expect(longest(20)).toBeLessThanOrEqual(8_000);
  });
});
