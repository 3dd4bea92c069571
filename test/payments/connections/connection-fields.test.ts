import { describe, expect, it } from "vitest";
import { Sensitive } from "../../../src/crypto/sensitive.js";
import { type GivenField, readFields, sameFields } from "../../../src/payments/connections/connection-fields.js";
import type { Formula } from "../../../src/payments/contract/formula.js";
import { required, secretField, textField } from "../../../src/payments/contract/formula-parts.js";
import { faultFields } from "../../expressions/faults.js";

const FORMULA: Formula = {
  ...{ id: "stripe-card", displayName: "Service", method: "card", countries: [], currencies: [], features: new Set() },
  fields: [
    { ...required(secretField("secret_key", "Secret key")), aliases: ["private_key"] },
    { ...secretField("webhook_secret", "Webhook secret"), aliases: ["signing_key"] },
    { ...textField("mode", "Mode"), choices: ["test", "live"] },
    { ...textField("limit", "Limit"), format: "number" },
    { ...textField("retries", "Retries"), format: "boolean" },
    textField("account", "Account"),
  ],
};
const KEY: GivenField = { key: "secret_key", value: "sk_1" };
const field = (key: string, value?: string): GivenField => ({ key, value });
const shown = (fields: ReturnType<typeof readFields>) =>
  Object.fromEntries([...fields].map(([key, value]) => [key, value.reveal()]));
const read = (given: readonly GivenField[], kept?: Readonly<Record<string, string>>) =>
  shown(
    readFields(
      FORMULA,
      given,
      kept && new Map(Object.entries(kept).map(([key, value]) => [key, new Sensitive(value)])),
    ),
  );

describe("the fields of a new connection", () => {
  it.each<[string, readonly GivenField[], Readonly<Record<string, string>>]>([
    ["its required ones", [KEY], { secret_key: "sk_1" }],
    ["one under its other name", [field("private_key", "sk_1")], { secret_key: "sk_1" }],
    ["one of the choices", [KEY, field("mode", "live")], { secret_key: "sk_1", mode: "live" }],
    [
      "a number and a switch",
      [KEY, field("limit", "007"), field("retries", "false")],
      { secret_key: "sk_1", limit: "007", retries: "false" },
    ],
    ["printable ASCII", [KEY, field("account", "a b~!")], { secret_key: "sk_1", account: "a b~!" }],
  ])("may be %s", (_, given, fields) => {
    expect(read(given)).toEqual(fields);
  });

  it.each<[string, readonly GivenField[], string, RegExp]>([
    [
      "an unknown key",
      [KEY, field("api_key", "x")],
      "fields[1].key",
      /^must be one of secret_key, webhook_secret, mode/,
    ],
    ["a key given twice", [KEY, KEY], "fields[1].key", /^must be given once$/],
    ["a key given by both of its names", [KEY, field("private_key", "sk_2")], "fields[1].key", /^must be given once$/],
    ["a key without a value", [field("secret_key")], "fields[0].value", /^must be a string that is not empty$/],
    ["an empty value", [KEY, field("account", "")], "fields[1].value", /^must be a string that is not empty$/],
    ["another choice", [KEY, field("mode", "TEST")], "fields[1].value", /^must be one of test, live$/],
    ["a number with a point", [KEY, field("limit", "1.5")], "fields[1].value", /^must be a whole number$/],
    ["a number of ten digits", [KEY, field("limit", "1234567890")], "fields[1].value", /^must be a whole number$/],
    ["a switch that is yes", [KEY, field("retries", "yes")], "fields[1].value", /^must be true or false$/],
    ["a line break", [field("secret_key", "sk\r\nX: y")], "fields[0].value", /^must be printable ASCII without/],
    [
      "a letter that no header has",
      [field("secret_key", "schlüssel")],
      "fields[0].value",
      /^must be printable ASCII without/,
    ],
    ["blanks around it", [field("secret_key", " sk_1")], "fields[0].value", /^must be printable ASCII without/],
    ["a required field that is missing", [field("mode", "test")], "fields", /^must have a value for secret_key$/],
  ])("may not have %s", (_, given, place, words) => {
    expect(faultFields(() => read(given))).toEqual({ [place]: [expect.stringMatching(words)] });
  });

  it("are refused all at once, and the missing ones only if nothing else is wrong", () => {
    const places = Object.keys(faultFields(() => read([field("nope", "x"), field("limit", "x")])) ?? {});
    expect(places).toEqual(["fields[0].key", "fields[1].value"]);
  });
});

describe("the fields of a connection that is replaced", () => {
  const KEPT = { secret_key: "sk_old", webhook_secret: "wh_old", account: "acct_old" };

  it.each<[string, readonly GivenField[], Readonly<Record<string, string>>]>([
    ["keep the secrets that are left out, and no other field", [], { secret_key: "sk_old", webhook_secret: "wh_old" }],
    ["take a new secret", [KEY], { secret_key: "sk_1", webhook_secret: "wh_old" }],
    [
      "take a new secret under its other name",
      [field("signing_key", "wh_1")],
      { secret_key: "sk_old", webhook_secret: "wh_1" },
    ],
    ["lose a secret for an empty value", [field("webhook_secret", "")], { secret_key: "sk_old" }],
    ["lose a secret for an empty value under its other name", [field("signing_key", "")], { secret_key: "sk_old" }],
    [
      "lose another field for an empty value",
      [field("account", "")],
      { secret_key: "sk_old", webhook_secret: "wh_old" },
    ],
  ])("%s", (_, given, fields) => {
    expect(read(given, KEPT)).toEqual(fields);
  });

  it.each(["secret_key", "private_key"])("cannot lose a required secret: %s", (key) => {
    expect(faultFields(() => read([field(key, "")], KEPT))).toEqual({ fields: ["must have a value for secret_key"] });
  });

  it("cannot remove a field and set it too", () => {
    expect(faultFields(() => read([field("account", ""), field("account", "x")], KEPT))).toEqual({
      "fields[1].key": ["must be given once"],
    });
  });

  it("are the same in any order, with the same values", () => {
    const fieldsOf = (entries: Readonly<Record<string, string>>) =>
      new Map(Object.entries(entries).map(([key, value]) => [key, new Sensitive(value)]));
    expect(sameFields(fieldsOf({ a: "1", b: "2" }), fieldsOf({ b: "2", a: "1" }))).toBe(true);
    expect(sameFields(fieldsOf({ a: "1" }), fieldsOf({ a: "2" }))).toBe(false);
    expect(sameFields(fieldsOf({ a: "1" }), fieldsOf({ a: "1", b: "2" }))).toBe(false);
    expect(sameFields(fieldsOf({ a: "1", b: "2" }), fieldsOf({ a: "1", c: "2" }))).toBe(false);
  });
});
