import { describe, expect, test } from "vitest";
import { card, cardNumber } from "../../../src/tokens/types/card.js";
import { faultFields } from "../../expressions/faults.js";

const number = "4242424242424242";

/** Published test numbers of the networks. */
const numbers = [
  "4242424242424242",
  "4111111111111111",
  "4222222222222",
  "5555555555554444",
  "2223003122003222",
  "378282246310005",
  "6011111111111117",
  "3056930009020004",
  "36227206271667",
  "3566002020360505",
  "6200000000000005",
  "6205500000000000004",
];

const wrongNumbers = [
  "4242424242424241",
  "4242 4242 4242 4242",
  "4242-4242-4242-4242",
  "424242424242",
  "42424242424242424242",
  " 4242424242424242",
  "4242424242424242\n",
  "４２４２４２４２４２４２４２４２",
  "",
  4242424242424242,
  null,
  ["4242424242424242"],
];

test.each(numbers)("%s is a card number", (good) => {
  expect(card.normalize({ number: good })).toEqual({ number: good });
  expect(cardNumber.normalize(good)).toBe(good);
});

test.each(wrongNumbers)("%j is not", (wrong) => {
  const expectation = [expect.stringContaining("must be a card number: a string of 13 to 19 digits")];
  expect(faultFields(() => card.normalize({ number: wrong }))).toEqual({ "data.number": expectation });
  expect(faultFields(() => cardNumber.normalize(wrong))).toEqual({ data: expectation });
});

describe("card data", () => {
  test.each([
    [{ number, expiration_month: 12, expiration_year: 2025, cvc: "123" }],
    [{ number, expiration_month: 1, expiration_year: 1999, cvc: "0123" }],
    [{ number, cvc: "000" }],
    [{ number, expiration_year: 2030 }],
  ])("%j is stored unchanged", (data) => {
    expect(card.normalize(data)).toEqual(data);
  });

  test("fields are stored in one order", () => {
    const data = { cvc: "123", expiration_year: 2030, number, expiration_month: 1 };
    expect(JSON.stringify(card.normalize(data))).toBe(
      `{"number":"${number}","expiration_month":1,"expiration_year":2030,"cvc":"123"}`,
    );
  });

  test("null means absent in optional fields", () => {
    expect(card.normalize({ number, cvc: null, expiration_month: null })).toEqual({ number });
  });

  test.each([
    [123, "123"],
    [1234, "1234"],
  ])("a cvc given as the number %j is stored as a string", (cvc, stored) => {
    expect(card.normalize({ number, cvc })).toEqual({ number, cvc: stored });
  });

  test.each([12, 12345, 1.5, -123, "12", "12345", "12a", " 123", true, {}])("%j is not a cvc", (cvc) => {
    expect(faultFields(() => card.normalize({ number, cvc }))).toEqual({
      "data.cvc": ["must be a string of three or four digits"],
    });
  });

  test.each([
    ["12", 12],
    ["01", 1],
    ["1", 1],
  ])("the month %j is accepted as a number", (expiration_month, stored) => {
    expect(card.normalize({ number, expiration_month })).toEqual({ number, expiration_month: stored });
    expect(card.normalize({ number, expiration_year: "2025" })).toEqual({ number, expiration_year: 2025 });
  });

  test.each([0, 13, 1.5, -1, "13", "0", "001", "1.5", " 1", "1 ", "+1", "", true])(
    "%j is no expiration_month",
    (expiration_month) => {
      expect(faultFields(() => card.normalize({ number, expiration_month }))).toHaveProperty(["data.expiration_month"]);
    },
  );

  test.each([25, 999, 10000, 2025.5, "25", "02025", "20250", "2e3", false])(
    "%j is no expiration_year",
    (expiration_year) => {
      expect(faultFields(() => card.normalize({ number, expiration_year }))).toHaveProperty(["data.expiration_year"]);
    },
  );

  test("unknown fields are rejected by name", () => {
    const data = { number, holder: "Jane Doe", expirationMonth: 12, ["x".repeat(500)]: 1 };
    expect(faultFields(() => card.normalize(data))).toEqual({
      "data.holder": ["is not a field of a card"],
      "data.expirationMonth": ["is not a field of a card"],
      [`data.${"x".repeat(100)}`]: ["is not a field of a card"],
    });
    expect(faultFields(() => card.normalize(JSON.parse(`{"number":"${number}","__proto__":{}}`)))).toHaveProperty([
      "data.__proto__",
    ]);
  });

  test("all faults are listed at once, without any value", () => {
    const faults = faultFields(() =>
      card.normalize({ number: "4242424242424241", expiration_month: 77, cvc: "98765" }),
    );
    expect(Object.keys(faults ?? {})).toEqual(["data.number", "data.expiration_month", "data.cvc"]);
    expect(JSON.stringify(faults)).not.toMatch(/4242|77|987/);
  });

  test.each([null, "4242424242424242", 5, [], [{ number }]])("%j is not a card", (data) => {
    expect(faultFields(() => card.normalize(data))).toEqual({ data: ["must be an object with the fields of a card"] });
  });

  test("a missing number is named", () => {
    expect(faultFields(() => card.normalize({ cvc: "123" }))).toHaveProperty(["data.number"]);
  });
});
