import { Readable } from "node:stream";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { LineTooLong, readLines } from "../../src/base/line-splitter.js";

const collect = async (pieces: readonly (string | Buffer)[], most = 10): Promise<string[]> => {
  const lines: string[] = [];
  for await (const line of readLines(Readable.from(pieces), most)) lines.push(line);
  return lines;
};

describe("lines of a stream", () => {
  it("are the same however the stream is chunked; the last needs no line end", async () => {
    const text = Buffer.from("one\ntwó\r\n\nlast");
    await fc.assert(
      fc.asyncProperty(fc.array(fc.nat({ max: text.length })), async (cuts) => {
        const places = [0, ...cuts.sort((a, b) => a - b), text.length];
        const pieces = places.slice(1).map((end, at) => text.subarray(places[at], end));
        expect(await collect(pieces)).toEqual(["one", "twó", "", "last"]);
      }),
    );
    expect(await collect([])).toEqual([]);
  });

  it("rejects a line above the maximum length, terminated or not", async () => {
    expect(await collect(["x".repeat(10), "\n", "y".repeat(10)])).toEqual(["x".repeat(10), "y".repeat(10)]);
    await expect(collect([`${"x".repeat(11)}\n`])).rejects.toThrow(LineTooLong);
    await expect(collect(["x\n", "y".repeat(6), "y".repeat(6)])).rejects.toThrow(LineTooLong);
  });
});
