import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  type Frame,
  FrameKind,
  FrameReader,
  frameHead,
  NO_REQUEST,
  ProtocolError,
  partsHead,
  readParts,
} from "../../../src/sandbox/wire/frame.js";

const requestId = fc.uint8Array({ minLength: 16, maxLength: 16 }).map((bytes) => Buffer.from(bytes).toString("hex"));
const frame = fc.record({
  kind: fc.constantFrom(...Object.values(FrameKind)),
  requestId,
  number: fc.nat(),
  payload: fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes)),
});

const written = ({ kind, requestId: id, number, payload }: Frame) =>
  Buffer.concat([frameHead(kind, id, number, payload.length), payload]);

describe("frames", () => {
  test("are read as they were written, however the stream is chunked", () => {
    fc.assert(
      fc.property(fc.array(frame, { maxLength: 8 }), fc.array(fc.integer({ min: 1, max: 60 })), (frames, cuts) => {
        const bytes = Buffer.concat(frames.map(written));
        const reader = new FrameReader(1_000);
        const read: Frame[] = [];
        let start = 0;
        for (const size of [...cuts, bytes.length]) {
          for (const one of reader.read(bytes.subarray(start, start + size)))
            read.push({ ...one, payload: Buffer.from(one.payload) });
          start = Math.min(start + size, bytes.length);
        }
        expect(read).toEqual(frames);
      }),
    );
  });

  test("arrive in many chunks if they are large", () => {
    const payload = Buffer.alloc(5_000_000, "x");
    const bytes = written({ kind: FrameKind.run, requestId: NO_REQUEST, number: 0, payload });
    const reader = new FrameReader(6_000_000);
    const read: Frame[] = [];
    for (let start = 0; start < bytes.length; start += 65_536)
      read.push(...reader.read(bytes.subarray(start, start + 65_536)));
    expect(read.map((one) => one.payload.equals(payload))).toEqual([true]);
  });

  test.each([
    ["longer than allowed", frameHead(FrameKind.result, NO_REQUEST, 0, 1_000_000)],
    ["shorter than their head", Buffer.from([0, 0, 0, 3, 1, 2, 3])],
    ["of no known kind", Buffer.concat([Buffer.from([0, 0, 0, 21, 99]), Buffer.alloc(20)])],
  ])("end the stream if they are %s", (_name, bytes) => {
    expect(() => [...new FrameReader(1_000).read(bytes)]).toThrow(ProtocolError);
  });

  test("any bytes either give frames or end the stream", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => {
        try {
          for (const { requestId: id, payload } of new FrameReader(500).read(Buffer.from(bytes))) {
            expect(id).toMatch(/^[\da-f]{32}$/);
            expect(payload.length).toBeLessThanOrEqual(500);
          }
        } catch (error) {
          expect(error).toBeInstanceOf(ProtocolError);
        }
      }),
    );
  });
});

describe("payloads of two parts", () => {
  test("are separated as they were joined", () => {
    fc.assert(
      fc.property(fc.uint8Array(), fc.uint8Array(), (first, second) => {
        const parts = readParts(Buffer.concat([partsHead(first.length), first, second]));
        expect([...parts.first]).toEqual([...first]);
        expect([...parts.second]).toEqual([...second]);
      }),
    );
  });

  test.each([
    ["nothing", Buffer.alloc(0)],
    ["a length only in part", Buffer.from([0, 0, 1])],
    ["a first part that is longer than all", Buffer.from([0, 0, 0, 9, 1])],
  ])("%s is rejected", (_name, payload) => {
    expect(() => readParts(payload)).toThrow(ProtocolError);
  });
});
