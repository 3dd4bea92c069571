import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { fromBase58, fromBase62, toBase58, toBase62 } from "../../src/base/base-n.js";

const BYTES = fc.uint8Array({ minLength: 1, maxLength: 40 });

describe("bytes in base 58 and 62", () => {
  it("are read back, whatever they are", () => {
    fc.assert(
      fc.property(BYTES, (bytes) => {
        const size = bytes.length;
        expect(fromBase62(toBase62(bytes, 2 * size), size)).toEqual(Buffer.from(bytes));
        const marked = Uint8Array.of(1, ...bytes);
        expect(fromBase58(toBase58(marked), size + 1)).toEqual(Buffer.from(marked));
      }),
      { numRuns: 2_000 },
    );
  });

  it("are the number's digits", () => {
    expect(toBase58(Uint8Array.of(57))).toBe("z");
    expect(toBase58(Uint8Array.of(58))).toBe("21");
    // 58 ** 5 and 58 ** 6 - 1: one division gives five digits.
    expect(toBase58(Buffer.from("271f35a0", "hex"))).toBe("211111");
    expect(toBase58(Buffer.from("08dd12263f", "hex"))).toBe("zzzzzz");
    expect(toBase62(Uint8Array.of(0, 0), 3)).toBe("000");
    expect(toBase62(new Uint8Array(0), 2)).toBe("00");
  });
});
