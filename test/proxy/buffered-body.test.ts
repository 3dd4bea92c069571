import { Readable } from "node:stream";
import { describe, expect, it } from "vitest";
import { EMPTY_CONTEXT } from "../../src/audit/audit-context.js";
import { newTenantId } from "../../src/base/ids.js";
import { EgressError } from "../../src/egress/egress-error.js";
import { MemoryBudget } from "../../src/memory/memory-budget.js";
import type { RequestMemory } from "../../src/memory/request-memory.js";
import { readCallerBody, readResponseBody } from "../../src/proxy/buffered-body.js";
import type { ProxyCall } from "../../src/proxy/call.js";
import { keyProof } from "../support/memory.js";
import { UNLIMITED_MEMORY } from "../support/unlimited-memory.js";

/** A body with these chunks, which then stays open or ends. */
function bodyOf(pieces: readonly (Buffer | string)[], { ends = true } = {}): Readable {
  const body = new Readable({ read() {} });
  for (const piece of pieces) body.push(piece);
  if (ends) body.push(null);
  return body.on("error", () => {});
}

const callOf = (body: Readable | Buffer, memory: RequestMemory): ProxyCall => ({
  ...{ method: "POST", path: "", query: "", headers: [], body, memory },
  ...{ audit: { context: EMPTY_CONTEXT, badReason: undefined } },
  ...{ apiKey: undefined, target: undefined, signal: new AbortController().signal },
});

const READERS: readonly (readonly [
  string,
  (body: Readable | Buffer, maxBytes: number, memory?: RequestMemory) => Promise<Buffer>,
])[] = [
  ["a caller's", (body, maxBytes, memory = UNLIMITED_MEMORY) => readCallerBody(callOf(body, memory), maxBytes)],
  [
    "a destination's",
    (body, maxBytes, memory = UNLIMITED_MEMORY) => readResponseBody({ headers: [], body }, maxBytes, memory),
  ],
];

const MALFORMED = { code: "malformed_body", message: "The body ended before it was complete." };

describe.each(READERS)("%s body that is read completely", (_, read) => {
  it.each<[string, () => Readable | Buffer, string]>([
    ["of pieces", () => bodyOf([Buffer.from("one, "), "zwölf"]), "one, zwölf"],
    ["without any", () => bodyOf([]), ""],
    ["that is whole already", () => Buffer.from("whole"), "whole"],
  ])("%s is complete", async (_, body, text) => {
    expect((await read(body(), 100)).toString()).toBe(text);
  });

  it("may have the maximum size, and not one byte more", async () => {
    expect(await read(bodyOf(["12345"]), 5)).toHaveLength(5);
    for (const body of [bodyOf(["123", "456"]), Buffer.from("123456")]) {
      await expect(read(body, 5)).rejects.toMatchObject({ code: "body_too_large" });
    }
  });

  it("is aborted if it is too large, also if it does not end", async () => {
    const body = bodyOf(["123456"], { ends: false });
    await expect(read(body, 5)).rejects.toMatchObject({ code: "body_too_large" });
    expect(body.destroyed).toBe(true);
  });

  it("reserves memory as it grows, unless it is in memory already", async () => {
    const reserved: number[] = [];
    const reserveNow = (bytes: number) => {
      reserved.push(bytes);
      return UNLIMITED_MEMORY.reserveNow(bytes);
    };
    const memory = { ...UNLIMITED_MEMORY, reserveNow, reserve: async (bytes: number) => reserveNow(bytes) };
    await read(Buffer.from("whole"), 200_000, memory);
    expect(reserved).toEqual([]);
    const piece = "x".repeat(60_000);
    await read(bodyOf([piece, piece]), 200_000, memory);
    expect(reserved.reduce((sum, bytes) => sum + bytes)).toBeGreaterThanOrEqual(120_000);
    expect(reserved.at(-1)).toBe(200_000);
  });

  it("is aborted if there is no memory for it", async () => {
    const budget = new MemoryBudget(1_000_000);
    const memory = budget.open(() => "");
    memory.prove(keyProof(newTenantId()));
    expect(budget.large.tryReserve([], budget.large.left)).toBe(true);
    const body = bodyOf(["x".repeat(100_000)], { ends: false });
    const reading = expect(read(body, 200_000, memory)).rejects.toMatchObject({ code: expect.any(String) });
    await new Promise((resolve) => setImmediate(resolve));
    memory.close();
    if (!body.destroyed) body.destroy();
    await reading;
  });
});

describe("a body that breaks off", () => {
  it.each<[string, Error | undefined, object]>([
    ["without a word", undefined, MALFORMED],
    ["with an error", new Error("reset"), MALFORMED],
    ["of a destination", new EgressError("connection_lost", "unknown"), { code: "destination_unreachable" }],
    ["of a destination that is silent", new EgressError("body_timeout", "unknown"), { code: "destination_timeout" }],
  ])("%s fails, while it is read and before", async (_, error, fault) => {
    const read = (body: Readable) => readResponseBody({ headers: [], body }, 100, UNLIMITED_MEMORY);
    const now = bodyOf(["some"], { ends: false });
    const reading = read(now);
    setImmediate(() => now.destroy(error));
    await expect(reading).rejects.toMatchObject(fault);
    const before = bodyOf(["some"], { ends: false }).destroy(error);
    await expect(read(before)).rejects.toMatchObject(fault);
    await new Promise((resolve) => setImmediate(resolve));
    await expect(read(before)).rejects.toMatchObject(fault);
  });

  it("fails also if it is the caller's", async () => {
    const now = bodyOf(["some"], { ends: false });
    const reading = readCallerBody(callOf(now, UNLIMITED_MEMORY), 100);
    setImmediate(() => now.destroy());
    await expect(reading).rejects.toMatchObject(MALFORMED);
    await expect(readCallerBody(callOf(now, UNLIMITED_MEMORY), 100)).rejects.toMatchObject(MALFORMED);
  });
});
