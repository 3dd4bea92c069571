import { Readable } from "node:stream";
import { describe, expect, it } from "vitest";
import { EgressError } from "../../src/egress/egress-error.js";
import { readWhole } from "../../src/proxy/buffered-body.js";
import { unavailable } from "../../src/store/database-error.js";

/** A body that gives these pieces and then stays open, or ends. */
function bodyOf(pieces: readonly (Buffer | string)[], { ends = true } = {}): Readable {
  const body = new Readable({ read() {} });
  for (const piece of pieces) body.push(piece);
  if (ends) body.push(null);
  return body.on("error", () => {});
}

const roomy = () => {};

const MALFORMED = { code: "malformed_body", message: "The body ended before it was complete." };

describe("a body read to its end", () => {
  it.each<[string, Readable | Buffer, string]>([
    ["of pieces", bodyOf([Buffer.from("one, "), "zwölf"]), "one, zwölf"],
    ["without any", bodyOf([]), ""],
    ["that is whole already", Buffer.from("whole"), "whole"],
  ])("%s is all of it", async (_, body, text) => {
    expect((await readWhole(body, 100, roomy)).toString()).toBe(text);
  });

  it("may be as large as is allowed, and then no byte larger", async () => {
    expect(await readWhole(bodyOf(["12345"]), 5, roomy)).toHaveLength(5);
    for (const body of [bodyOf(["123", "456"]), Buffer.from("123456")]) {
      await expect(readWhole(body, 5, roomy)).rejects.toMatchObject({ code: "body_too_large" });
    }
  });

  it("is given up where it is too large, also when it does not end", async () => {
    const body = bodyOf(["123456"], { ends: false });
    await expect(readWhole(body, 5, roomy)).rejects.toMatchObject({ code: "body_too_large" });
    expect(body.destroyed).toBe(true);
  });

  it("has room for each of its pieces, unless it is in memory already", async () => {
    const held: number[] = [];
    const hold = (bytes: number) => void held.push(bytes);
    await readWhole(bodyOf(["123", "zwölf"]), 100, hold);
    await readWhole(Buffer.from("whole"), 100, hold);
    expect(held).toEqual([3, 6]);
  });

  it("is given up where there is no room for it", async () => {
    const body = bodyOf(["123456"], { ends: false });
    const full = unavailable("full");
    const reading = readWhole(body, 100, () => {
      throw full;
    });
    await expect(reading).rejects.toBe(full);
    expect(body.destroyed).toBe(true);
  });

  it.each<[string, Error | undefined, object]>([
    ["without a word", undefined, MALFORMED],
    ["with an error", new Error("reset"), MALFORMED],
    ["of a destination", new EgressError("connection_lost", "unknown"), { code: "destination_unreachable" }],
    ["of a destination that is silent", new EgressError("body_timeout", "unknown"), { code: "destination_timeout" }],
  ])("that breaks off %s is no body, while it is read and before", async (_, error, fault) => {
    const now = bodyOf(["some"], { ends: false });
    const reading = readWhole(now, 100, roomy);
    setImmediate(() => now.destroy(error));
    await expect(reading).rejects.toMatchObject(fault);
    const before = bodyOf(["some"], { ends: false }).destroy(error);
    await expect(readWhole(before, 100, roomy)).rejects.toMatchObject(fault);
    await new Promise((resolve) => setImmediate(resolve));
    await expect(readWhole(before, 100, roomy)).rejects.toMatchObject(fault);
  });
});
