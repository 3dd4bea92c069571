import { afterAll, describe, expect, test } from "vitest";
import { exporting, openSandbox } from "./support/open-sandbox.js";

/**
 * Code that tries to return more than the service reads. The runner serves all tenants, so the service must not
 * end it for that.
 */
const opened = openSandbox();
afterAll(() => opened[Symbol.asyncDispose]());

const SDK = "require('@basis-theory/basis-theory-reactor-formulas-sdk-js')";
const LONG = "const v = 'x'.repeat(3.8e6);";
const NINE = "Object.fromEntries([1, 2, 3, 4, 5, 6, 7, 8, 9].map((n) => ['h' + n, v]))";
const TEXTS = "Array.from({ length: 100 }, (_, n) => ['field' + n, Array(90).fill('x'.repeat(4000))])";
const CUSTOM = `new (${SDK}.CustomHttpResponseError)({ status: 200, headers: ${NINE}, body: 1 })`;

describe("a response that is too large", () => {
  test.each([
    ["the headers of a response", exporting(`() => { ${LONG} throw ${CUSTOM}; }`)],
    ["the headers of a response, at the top level", `${LONG} throw ${CUSTOM};`],
    [
      "the headers of a response, in a timer",
      exporting(`() => new Promise(() => setTimeout(() => { ${LONG} throw ${CUSTOM}; }, 1))`),
    ],
    [
      "the headers of a response, in a microtask",
      exporting(`() => new Promise(() => queueMicrotask(() => { ${LONG} throw ${CUSTOM}; }))`),
    ],
    [
      "headers and body together",
      exporting(
        `() => { throw new (${SDK}.CustomHttpResponseError)({ status: 200, headers: { a: 'x'.repeat(6e5) }, body: 'x'.repeat(6e5) }); }`,
      ),
    ],
    ["the texts of an error", exporting(`() => { throw new (${SDK}.BadRequestError)(Object.fromEntries(${TEXTS})); }`)],
    [
      "a body whose size the code has changed",
      exporting(
        `() => {
          Object.defineProperty(Object.getPrototypeOf(Uint8Array.prototype), 'length', { get: () => 0 });
          throw new (${SDK}.CustomHttpResponseError)({ status: 200, body: '\u20ac'.repeat(9e5) });
        }`,
      ),
    ],
  ])("%s", async (_name, code) => {
    expect(await opened.run(code)).toMatchObject({ kind: "failed", reason: "result_too_large", retryable: false });
    expect(opened.incidents).toEqual([]);
  });
});

describe("an impossible source location", () => {
  test.each(["1:99999999999", "0:0", "99999999999:1", "1:1"])(
    "%s, in the stack of what breaks out of its wrapper",
    async (place) => {
      const stack = `function.js:${place}`;
      const code = `}); throw Object.assign(new SyntaxError('no'), { stack: '${stack}' }); (function () {`;
      expect(await opened.run(code)).toMatchObject({
        kind: "failed",
        reason: "does_not_compile",
        problem: { message: "SyntaxError: no", line: 1 },
      });
      expect(opened.incidents).toEqual([]);
    },
  );
});
