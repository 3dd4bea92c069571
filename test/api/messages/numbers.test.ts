import { describe, expect, it } from "vitest";
import { checkExactNumbers } from "../../../src/api/messages/numbers.js";

function parseExactJson(text: string): unknown {
  checkExactNumbers(text);
  return JSON.parse(text);
}

describe("numbers in JSON bodies", () => {
  it.each([
    ["0", 0],
    ["-0", -0],
    ["1e3", 1000],
    ["1.50", 1.5],
    ["9007199254740991", 9007199254740991],
    ["0.1", 0.1],
    ["1E-7", 1e-7],
    ["12345678901234567000", 12345678901234567000],
    ["1.7976931348623157e308", 1.7976931348623157e308],
    ["0.000000000000000000e5", 0],
    ["123456789012345680000", 123456789012345680000],
  ])("keeps %s", (text, value) => {
    expect(parseExactJson(text)).toBe(value);
  });

  it.each([
    ['{"data":4111111111111111111}', "data"],
    ['{"data":1e400}', "data"],
    ['{"a":{"b":[1,2,9007199254740993]}}', "a.b[2]"],
    ['{"a":[{"n":0.1000000000000000055}]}', "a[0].n"],
    ["9007199254740993", "value"],
    ["[[12345678901234567890]]", "[0][0]"],
    ['{"": 1e-400}', "value"],
    ['{"constructor":1e400}', "constructor"],
  ])("rejects %s and names the field", (text, place) => {
    expect(() => parseExactJson(text)).toThrowError(
      expect.objectContaining({
        code: "validation_failed",
        fields: { [place]: [expect.stringContaining("send it as a string")] },
      }),
    );
  });

  it("rejects a number in a member called __proto__ too", () => {
    expect(() => parseExactJson('{"__proto__":4111111111111111111}')).toThrowError(
      expect.objectContaining({
        fields: JSON.parse(
          '{"__proto__":["holds a number with more digits than JSON numbers keep; send it as a string"]}',
        ),
      }),
    );
  });

  it("accepts a long number inside a string", () => {
    const text = '{"number":"4242424242424242","note":"x: 4111111111111111111, 1e999"}';
    expect(parseExactJson(text)).toEqual(JSON.parse(text));
  });

  it("names a field by the first 200 characters of its name, however it is escaped", () => {
    const names = [
      "k".repeat(500),
      "\\u00e4".repeat(300),
      "\\\\".repeat(300),
      '\\"'.repeat(300),
      `${"\\n".repeat(199)}\\ud83d\\ude00`,
    ];
    for (const name of names) {
      const place = String(JSON.parse(`"${name}"`))
        .slice(0, 200)
        .toWellFormed();
      expect(() => parseExactJson(`{"${name}":1e999}`)).toThrowError(
        expect.objectContaining({ fields: { [place]: [expect.stringContaining("send it as a string")] } }),
      );
    }
  });

  it("are found behind strings of any length and with any escapes", () => {
    for (const string of [
      "",
      "x",
      "x".repeat(63),
      "x".repeat(64),
      "x".repeat(65),
      "x".repeat(5_000),
      "\\\\".repeat(40),
      '\\"'.repeat(700),
    ]) {
      for (const end of ["", "\\\\", '\\"', "x".repeat(100)]) {
        expect(() => parseExactJson(`["${string}${end}",1e999]`)).toThrowError(
          expect.objectContaining({ fields: { "[1]": [expect.stringContaining("send it as a string")] } }),
        );
      }
    }
  });
});
