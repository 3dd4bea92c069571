import { describe, expect, it } from "vitest";
import { newUuid } from "../../src/base/ids.js";
import type { Json } from "../../src/base/json.js";
import { checkIcon } from "../../src/reactors/formula.js";
import {
  checkArguments,
  checkContract,
  type FormulaContract,
  typedConfiguration,
  type ValueType,
} from "../../src/reactors/formula-contract.js";
import { chooseCode } from "../../src/reactors/reactor.js";
import { faultFields } from "../expressions/faults.js";

const entry = (name: string, type: ValueType) => ({ name, type, description: undefined });
const parameter = (name: string, type: ValueType, optional = false) => ({ ...entry(name, type), optional });
const contract = (more: Partial<FormulaContract>): FormulaContract => ({
  configuration: [],
  requestParameters: [],
  ...more,
});

/** `ok`, or the fields that are refused. */
const refusedBy = (check: () => unknown) => {
  try {
    check();
    return "ok";
  } catch {
    return faultFields(check);
  }
};

describe("a configuration entry of a formula", () => {
  it.each<[ValueType, string, Json | undefined]>([
    ["string", "", ""],
    ["string", "12", "12"],
    ["boolean", "true", true],
    ["boolean", "false", false],
    ["boolean", "TRUE", undefined],
    ["boolean", "1", undefined],
    ["boolean", "", undefined],
    ["number", "12", 12],
    ["number", "-0.5", -0.5],
    ["number", "1e3", 1_000],
    ["number", " 7 ", 7],
    ["number", "", undefined],
    ["number", " ", undefined],
    ["number", "twelve", undefined],
    ["number", "1e400", undefined],
    ["number", "NaN", undefined],
    ["number", "Infinity", undefined],
  ])("reads as %s from %j: %j", (type, text, value) => {
    const read = () => typedConfiguration(contract({ configuration: [entry("E", type)] }), { E: text });
    if (value === undefined) expect(faultFields(read)).toEqual({ "configuration.E": [`must be given as a ${type}`] });
    else expect(read()).toEqual({ E: value });
  });

  it("is missing unless the reactor itself has it, whatever its name", () => {
    const formula = contract({ configuration: [entry("constructor", "string"), entry("__proto__", "number")] });
    expect(Object.keys(faultFields(() => typedConfiguration(formula, {})) ?? {})).toEqual([
      "configuration.constructor",
      "configuration.__proto__",
    ]);
    const given = JSON.parse('{"constructor":"a","__proto__":"1","other":"2"}');
    expect(JSON.stringify(typedConfiguration(formula, given))).toBe('{"constructor":"a","__proto__":1,"other":"2"}');
  });

  it("leaves entries that the formula does not declare as texts", () => {
    expect(typedConfiguration(contract({}), { limit: "5" })).toEqual({ limit: "5" });
  });
});

describe("an argument of a formula", () => {
  it.each<[string, FormulaContract["requestParameters"][number], Json, "ok" | string]>([
    ["of its type", parameter("a", "number"), { a: 1 }, "ok"],
    ["of another type", parameter("a", "number"), { a: "1" }, "args.a"],
    ["that is missing", parameter("a", "string"), {}, "args.a"],
    ["that is null", parameter("a", "string"), { a: null }, "args.a"],
    ["that is optional and missing", parameter("a", "string", true), {}, "ok"],
    ["that is optional and null", parameter("a", "boolean", true), { a: null }, "ok"],
    ["that is optional, of another type", parameter("a", "boolean", true), { a: 0 }, "args.a"],
    ["within an object", parameter("card.number", "string"), { card: { number: "4242" } }, "ok"],
    ["within an object that is missing", parameter("card.number", "string"), {}, "args.card.number"],
    ["within a list", parameter("cards.0", "string"), { cards: ["4242"] }, "args.cards.0"],
    ["that every object inherits", parameter("constructor", "string", false), {}, "args.constructor"],
    ["beside others that are not declared", parameter("a", "string"), { a: "", b: [] }, "ok"],
    ["of arguments that are no object", parameter("a", "string"), ["a"], "args.a"],
  ])("%s", (_, declared, args, expected) => {
    const outcome = refusedBy(() => checkArguments(contract({ requestParameters: [declared] }), args));
    expect(outcome).toEqual(expected === "ok" ? "ok" : { [expected]: [`must be a ${declared.type}`] });
  });

  it("is named together with all others that are wrong", () => {
    const formula = contract({
      requestParameters: [parameter("a", "string"), parameter("b.c", "number"), parameter("d", "boolean")],
    });
    expect(Object.keys(faultFields(() => checkArguments(formula, { a: 1, d: true })) ?? {})).toEqual([
      "args.a",
      "args.b.c",
    ]);
  });
});

describe("a formula", () => {
  it("declares each name once, in configuration and in parameters", () => {
    const twice = [entry("a", "string"), entry("b", "string"), entry("a", "number")];
    expect(refusedBy(() => checkContract(contract({ configuration: twice })))).toEqual({
      "configuration[2].name": ["must be unique"],
    });
    const parameters = [parameter("x", "string"), parameter("x", "string")];
    expect(refusedBy(() => checkContract(contract({ requestParameters: parameters })))).toEqual({
      "request_parameters[1].name": ["must be unique"],
    });
    const shared = contract({ configuration: [entry("a", "string")], requestParameters: [parameter("a", "string")] });
    expect(refusedBy(() => checkContract(shared))).toBe("ok");
  });

  it.each<[string | undefined, boolean]>([
    [undefined, true],
    ["data:image/png;base64,iVBORw0KGgo=", true],
    ["data:image/jpg;base64, /9j/4A==", true],
    ["data:image/jpeg;base64,/9j/4AAQ", true],
    ["data:image/svg+xml;base64,PHN2Zz4=", false],
    ["data:image/png,abc", false],
    ["data:image/png;base64,", false],
    ["data:image/png;base64,a===", false],
    ["data:image/png;base64,ab\n", false],
    ["https://example.com/icon.png", false],
  ])("may have the icon %j: %s", (icon, isAccepted) => {
    const outcome = refusedBy(() => checkIcon(icon));
    expect(outcome).toEqual(
      isAccepted ? "ok" : { icon: ["must be a data URL of a png or jpeg image: data:image/png;base64,..."] },
    );
  });
});

describe("a reactor", () => {
  const formulaId = newUuid();

  it.each([
    ["code alone", "code", undefined, { kind: "code", code: "code" }],
    ["a formula alone", undefined, formulaId, { kind: "formula", formulaId }],
    ["a formula beside empty code", "", formulaId, { kind: "formula", formulaId }],
    ["neither", undefined, undefined, undefined],
    ["empty code", "", undefined, undefined],
  ] as const)("has %s", (_, code, formula, chosen) => {
    expect(chooseCode(code, formula)).toEqual(chosen);
  });

  it("has not both code and formula", () => {
    expect(faultFields(() => chooseCode("code", formulaId))).toEqual({
      formula: ["must not be given together with code"],
    });
  });
});
