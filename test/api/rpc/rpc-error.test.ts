import { setTrailerStatus } from "@connectrpc/connect/protocol-grpc";
import fc from "fast-check";
import { expect, it } from "vitest";
import { BadRequestSchema } from "../../../gen/google/rpc/error_details_pb.js";
import { connectErrorOfFunction, toConnectError } from "../../../src/api/rpc/rpc-error.js";
import { invalidFields } from "../../../src/base/fault.js";
import { FunctionFailed } from "../../../src/functions/function-failed.js";

const trace = "t".repeat(128);
const texts = fc.array(fc.string({ unit: "binary", maxLength: 6_000, size: "max" }), { maxLength: 5 });
const fields = fc.dictionary(fc.string({ unit: "binary", maxLength: 200 }), texts, {
  maxKeys: 50,
  noNullPrototype: true,
});

/** The size as clients count it: names, values and 32 bytes for each header (RFC 9113, 6.5.2). */
function sizeOf(trailers: Headers): number {
  let size = 0;
  for (const [name, value] of trailers) size += name.length + value.length + 32;
  return size;
}

it("every error fits into the 8 KiB of trailers that gRPC clients accept", () => {
  fc.assert(
    fc.property(fields, (wrong) => {
      const failed = new FunctionFailed(500, "Reactor Runtime Error", wrong);
      for (const error of [
        toConnectError(invalidFields(wrong), trace),
        connectErrorOfFunction(failed, "reactor_error", trace),
      ]) {
        expect(sizeOf(setTrailerStatus(new Headers(), error))).toBeLessThan(8 * 1024);
      }
    }),
    { numRuns: 50 },
  );
});

it("the detail leaves room for more problems, although it repeats the first one", () => {
  const wrong = { ["\u{ffff}".repeat(3_000)]: ["\u{ffff}".repeat(3_000)], b: ["x".repeat(6_000)] };
  expect(sizeOf(setTrailerStatus(new Headers(), toConnectError(invalidFields(wrong), trace)))).toBeLessThan(8 * 1024);
});

it("a message that fits is sent whole; a longer one is cut between characters", () => {
  const told = (wrong: Record<string, string[]>) =>
    toConnectError(invalidFields(wrong))
      .findDetails(BadRequestSchema)
      .flatMap(({ fieldViolations }) => fieldViolations.map(({ field, description }) => [field, description]));
  expect(told({ a: ["must be one", "must be two"], "b.c": ["must not be"] })).toEqual([
    ...[
      ["a", "must be one"],
      ["a", "must be two"],
      ["b.c", "must not be"],
    ],
  ]);
  const [first, second, third] = told({ a: ["é".repeat(1_000)], b: ["é".repeat(2_000)], c: ["left out"] });
  expect(first?.[1]).toBe("é".repeat(1_000));
  expect(second?.[1]).toMatch(/^é{1000,}$/);
  expect(third).toBeUndefined();
});
