import { describe, expect, test } from "vitest";
import { bank, usBankAccountNumber, usBankRoutingNumber } from "../../../src/tokens/types/bank.js";
import { employerIdNumber, socialSecurityNumber } from "../../../src/tokens/types/identity.js";
import { token } from "../../../src/tokens/types/token.js";
import { faultFields } from "../../expressions/faults.js";

/** Routing numbers of the Federal Reserve's published directory. */
const routings = ["021000021", "011401533", "110000000", "091000022", "121042882"];
const wrongRoutings = [
  "021000022",
  "120000021",
  "02100002",
  "0210000210",
  "021-000021",
  "000000000",
  "",
  21000021,
  null,
];
const accounts = ["123", "1234567890", "00000000000000000"];
const wrongAccounts = ["123456789012345678", "12 34", "12-34", "12a", "", 1234567890, null];

describe("bank", () => {
  test.each(routings)("accepts the routing number %s", (routing_number) => {
    const data = { routing_number, account_number: "1234567890" };
    expect(bank.normalize(data)).toEqual(data);
    expect(usBankRoutingNumber.normalize(routing_number)).toBe(routing_number);
  });

  test.each(wrongRoutings)("rejects the routing number %j", (routing_number) => {
    const expectation = ["must be a nine-digit routing number, as a string, with a valid checksum"];
    expect(faultFields(() => bank.normalize({ routing_number, account_number: "123" }))).toEqual({
      "data.routing_number": expectation,
    });
    expect(faultFields(() => usBankRoutingNumber.normalize(routing_number))).toEqual({ data: expectation });
  });

  test.each(accounts)("accepts the account number %s", (account_number) => {
    const data = { routing_number: "021000021", account_number };
    expect(bank.normalize(data)).toEqual(data);
    expect(usBankAccountNumber.normalize(account_number)).toBe(account_number);
  });

  test.each(wrongAccounts)("rejects the account number %j", (account_number) => {
    expect(faultFields(() => bank.normalize({ routing_number: "021000021", account_number }))).toEqual({
      "data.account_number": ["must be an account number: a string of 1 to 17 digits"],
    });
    expect(faultFields(() => usBankAccountNumber.normalize(account_number))).toEqual({
      data: ["must be an account number: a string of 3 to 17 digits"],
    });
  });

  test.each(["1", "12"])("accepts the account number %s, which the older type does not", (account_number) => {
    const data = { routing_number: "021000021", account_number };
    expect(bank.normalize(data)).toEqual(data);
    expect(faultFields(() => usBankAccountNumber.normalize(account_number))).toHaveProperty(["data"]);
  });

  test("rejects unknown fields and data of another shape", () => {
    const data = { routing_number: "021000021", account_number: "123", owner: "Jane" };
    expect(faultFields(() => bank.normalize(data))).toEqual({ "data.owner": ["is not a field of a bank account"] });
    expect(faultFields(() => bank.normalize("021000021"))).toHaveProperty(["data"]);
    expect(Object.keys(faultFields(() => bank.normalize({})) ?? {})).toEqual([
      "data.routing_number",
      "data.account_number",
    ]);
  });
});

describe.each([socialSecurityNumber, employerIdNumber])("$name", (type) => {
  test.each(["123456789", "123-45-6789", "12-3456789"])("accepts %s and keeps its spelling", (text) => {
    expect(type.normalize(text)).toBe(text);
  });

  test.each([
    "12345678",
    "1234567890",
    "123 45 6789",
    "123--456789",
    "-123456789",
    "123456789-",
    "12345678a",
    "",
    123456789,
    null,
  ])("rejects %j", (wrong) => {
    expect(faultFields(() => type.normalize(wrong))).toEqual({
      data: ["must be a string of nine digits, with or without hyphens between them"],
    });
  });
});

describe("token", () => {
  test.each([["text"], [0], [false], [null], [[1, { a: [] }]], [{ number: "x", anything: { goes: true } }]])(
    "takes %j",
    (data) => {
      expect(token.normalize(data)).toEqual(data);
    },
  );
});
