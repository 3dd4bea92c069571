import { describe, expect, test } from "vitest";
import { refusal, result, sampleCard } from "../outcome.js";

describe("card_bin", () => {
  test.each([
    [sampleCard.number, "{{ data | card_bin }}", "36227206"],
    ["378282246310005", "{{ data | card_bin }}", "378282"],
    ["4242-4242-4242-4242", "{{ data | card_bin: '-' }}", "42424242"],
    ["3782-822463-10005", "{{ data | card_bin: '-' }}", "378282"],
  ])("reads %s by %s", (data, expression, expected) => {
    expect(result(expression, data)).toBe(expected);
  });
});

describe("card_exp", () => {
  test.each([
    ["MM", "10"],
    ["MMYY", "1028"],
    ["MM/YY", "10/28"],
    ["MM/YYYY", "10/2028"],
    ["MM_YYYY", "10_2028"],
    ["MM-YYYY", "10-2028"],
    ["YYYY", "2028"],
    ["YYYY-MM", "2028-10"],
    ["YYYY/MM", "2028/10"],
    ["YYMM", "2810"],
  ])("%s", (format, expected) => {
    expect(result(`{{ data | card_exp: '${format}' }}`, sampleCard)).toBe(expected);
  });

  test("pads the month", () => {
    expect(result("{{ data | card_exp: 'MM/YY' }}", { ...sampleCard, expiration_month: 3 })).toBe("03/28");
  });

  test("is null for a card without the requested part", () => {
    expect(result("{{ data | card_exp: 'MM/YY' }}", { number: "x", expiration_month: 3 })).toBeNull();
    expect(result("{{ data | card_exp: 'MM' }}", { number: "x", expiration_month: 3 })).toBe("03");
    expect(result("{{ data.missing | card_exp: 'MM' }}", sampleCard)).toBeNull();
  });

  test.each([
    ["{{ data | card_exp }}", "date_expression"],
    ["{{ data | card_exp: 'DD/MM' }}", "date_expression"],
    ["{{ data.number | card_exp: 'MM' }}", "card data"],
  ])("%s is rejected", (expression, reason) => {
    expect(refusal(expression, sampleCard)).toContain(reason);
  });
});
