import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { MessageReader } from "../../../src/store/wire/message-reader.js";

interface Message {
  readonly type: number;
  readonly payload: Buffer;
}

function encoded({ type, payload }: Message): Buffer {
  const head = Buffer.alloc(5);
  head.writeUInt8(type, 0);
  head.writeUInt32BE(4 + payload.length, 1);
  return Buffer.concat([head, payload]);
}

/** Splits bytes at the given places, in any order. */
function cut(bytes: Buffer, places: readonly number[]): Buffer[] {
  const at = [0, ...places.map((place) => place % (bytes.length + 1)).toSorted((a, b) => a - b), bytes.length];
  return at.slice(1).map((end, index) => bytes.subarray(at[index], end));
}

function readAll(chunks: readonly Buffer[]): Message[] {
  const messages: Message[] = [];
  const reader = new MessageReader((type, bytes, start, end) => {
    messages.push({ type, payload: Buffer.from(bytes.subarray(start, end)) });
  });
  for (const chunk of chunks) {
    // The network's buffer is reused.
    const own = Buffer.from(chunk);
    reader.read(own);
    own.fill(0xff);
  }
  return messages;
}

const message = fc.record({
  type: fc.integer({ min: 1, max: 127 }),
  payload: fc.oneof(fc.uint8Array({ maxLength: 12 }), fc.uint8Array({ minLength: 1_000, maxLength: 3_000 })),
});

describe("messages from a database", () => {
  it("are the same however the network splits them", () => {
    fc.assert(
      fc.property(fc.array(message, { maxLength: 12 }), fc.array(fc.nat(), { maxLength: 40 }), (sent, places) => {
        const messages = sent.map(({ type, payload }) => ({ type, payload: Buffer.from(payload) }));
        const bytes = Buffer.concat(messages.map(encoded));
        expect(readAll(cut(bytes, places))).toEqual(messages);
      }),
      { numRuns: 300 },
    );
  });

  it("arrive byte by byte", () => {
    const messages = [
      { type: 68, payload: Buffer.from("row") },
      { type: 90, payload: Buffer.from("I") },
      { type: 50, payload: Buffer.alloc(0) },
    ];
    const bytes = Buffer.concat(messages.map(encoded));
    expect(readAll(Array.from(bytes, (byte) => Buffer.of(byte)))).toEqual(messages);
  });

  it("are assembled from many packets at 20 MB, each byte copied once", () => {
    const large = { type: 68, payload: Buffer.alloc(20_000_000, 7) };
    const bytes = encoded(large);
    const chunks = Array.from({ length: Math.ceil(bytes.length / 65_536) }, (_, index) =>
      bytes.subarray(index * 65_536, (index + 1) * 65_536),
    );
    const [read, ...others] = readAll(chunks);
    expect(others).toEqual([]);
    expect(read?.payload.equals(large.payload)).toBe(true);
  });

  it.each([
    ["shorter than its own head", 3],
    ["longer than PostgreSQL sends", 2 ** 30 + 1],
  ])("with a length %s are rejected", (_, length) => {
    const head = Buffer.alloc(5);
    head.writeUInt8(68, 0);
    head.writeUInt32BE(length, 1);
    expect(() => readAll([head])).toThrow("impossible length");
  });
});
