import { expect, test } from "vitest";
import { refusal, result } from "../outcome.js";

test.each([
  ["{{ data | pad_left: 6, '0' }}", "001234"],
  ["{{ data | pad_left: 6, 'X' }}", "XX1234"],
  ["{{ data | pad_left: 4, '0' }}", "1234"],
  ["{{ data | pad_left: 2, '0' }}", "1234"],
  ["{{ data | pad_right: 6, '0' }}", "123400"],
  ["{{ data | pad_right: 6, 'X' }}", "1234XX"],
  ["{{ data | pad_right: 4, '0' }}", "1234"],
  ["{{ data | pad_right: 2, '0' }}", "1234"],
  ["{{ 3 | pad_left: 2, '0' }}", "03"],
  ["{{ 3 | pad_left: 2, 0 }}", "03"],
  ["{{ data.missing | pad_left: 6, '0' }}", null],
  ["{{ data.missing | pad_right: 6, '0' }}", null],
])("%s", (expression, expected) => {
  expect(result(expression, "1234")).toBe(expected);
});

test.each([
  ["{{ data | pad_left }}", "pad_left needs a whole number as length"],
  ["{{ data | pad_left: 6 }}", "pad_left needs one character as pad_char"],
  ["{{ data | pad_right: 6, 'ab' }}", "pad_right needs one character as pad_char"],
])("%s is rejected", (expression, reason) => {
  expect(refusal(expression, "1234")).toContain(reason);
});
