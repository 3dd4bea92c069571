import { describe, expect, it } from "vitest";
import { Fault, invalid, invalidFields, withFurtherFaults } from "../../src/base/fault.js";
import { FieldFaultList } from "../../src/base/field-fault-list.js";
import { MAX_FAULT_BYTES, MAX_FAULTS } from "../../src/base/field-faults.js";

const bytesOf = (fields: Fault["fields"]) => Buffer.byteLength(JSON.stringify(fields));

/** The fault that collecting ends with. */
function collected(
  count: number,
  fieldOf: (index: number) => string,
): { readonly fault: Fault; readonly added: number } {
  const faults = new FieldFaultList();
  let added = 0;
  try {
    for (; added < count; added += 1) faults.add(fieldOf(added), "must be a string");
    faults.throwIfAny();
  } catch (fault) {
    if (fault instanceof Fault) return { fault, added };
  }
  throw new Error("nothing was refused");
}

describe("the faults of one response", () => {
  it("are all listed while there are few, several for one field together, and each once", () => {
    const faults = new FieldFaultList();
    for (const field of ["a", "b", "a", "__proto__"]) faults.add(field, "must be a string");
    faults.add("a", "must be short");
    expect(Object.entries(faults.toFields())).toEqual([
      ["a", ["must be a string", "must be short"]],
      ["b", ["must be a string"]],
      ["__proto__", ["must be a string"]],
    ]);
  });

  it("are capped at a hundred, also if one is repeated", () => {
    expect(collected(1_000_000, () => "f").added).toBeLessThan(MAX_FAULTS);
  });

  it("stops further checks after 100 faults", () => {
    let checks = 0;
    const further = Array.from({ length: 100_000 }, (_, index) => () => {
      checks += 1;
      throw invalidFields({ [`list[${index}]`]: ["must be a path"] });
    });
    const fault = withFurtherFaults(invalidFields({ other: ["must be given"] }), further);
    expect(Object.keys(fault.fields ?? {})).toHaveLength(MAX_FAULTS);
    expect(checks).toBeLessThanOrEqual(MAX_FAULTS);
    const known = withFurtherFaults(invalidFields({ list: ["must have at most 20 entries"] }), further);
    expect(known.fields).toEqual({ list: ["must have at most 20 entries"] });
    expect(checks).toBeLessThan(3 * MAX_FAULTS);
  });

  it("are capped at a hundred, and collecting stops there", () => {
    const { fault, added } = collected(1_000_000, (index) => `f[${index}]`);
    expect(Object.keys(fault.fields ?? {})).toHaveLength(MAX_FAULTS);
    expect(added).toBeLessThan(MAX_FAULTS);
  });

  it("are capped at 8 KB, and collecting stops there", () => {
    const { fault, added } = collected(1_000_000, (index) => `${index}${"k".repeat(180)}`);
    expect(Object.keys(fault.fields ?? {}).length).toBeGreaterThan(30);
    expect(bytesOf(fault.fields)).toBeLessThan(MAX_FAULT_BYTES * 1.1);
    expect(added).toBeLessThan(MAX_FAULTS);
  });

  it("show the beginning of a field name of megabytes, in valid Unicode", () => {
    const { fault } = collected(1, () => `${"x".repeat(199)}😀${"x".repeat(5_000_000)}`);
    const [name = ""] = Object.keys(fault.fields ?? {});
    expect(name).toMatch(/^x{199}/);
    expect(name.isWellFormed()).toBe(true);
    expect(bytesOf(fault.fields)).toBeLessThan(500);
  });

  it("are capped wherever they were collected", () => {
    const all = Object.fromEntries(Array.from({ length: 100_000 }, (_, index) => [`f${index}`, ["must be one"]]));
    expect(Object.keys(invalidFields(all).fields ?? {})).toHaveLength(MAX_FAULTS);
  });
});

describe("the detail of a fault", () => {
  it.each<[Record<string, string[]>, string]>([
    [{ a: ["must be given"] }, "a must be given"],
    [{ a: ["must be given", "must be short"] }, "a must be given (1 of 2 problems)"],
    [{ "rules[0].x": ["is wrong"], b: ["is wrong"], c: ["is wrong"] }, "rules[0].x is wrong (1 of 3 problems)"],
    [{ a: [] }, "a is not valid"],
    [{}, "The request is not valid."],
  ])("names the first problem of %j", (fields, detail) => {
    expect(invalidFields(fields).message).toBe(detail);
  });

  it("has at most 2,000 characters", () => {
    expect(new Fault("unprocessable", "x".repeat(5_000_000)).message).toHaveLength(2_000);
  });

  it("is cut by bytes, in valid Unicode, because it is sent in a trailer of 8 KiB", () => {
    const { message } = invalidFields({ ["é".repeat(40)]: ["\u{1F40B}".repeat(100)] });
    expect(message).toBe(`${"é".repeat(32)}... ${"\u{1F40B}".repeat(48)}...`);
    expect(invalid(`${"x".repeat(63)}é`, "is wrong").message).toBe(`${"x".repeat(63)}... is wrong`);
    expect(invalid("x".repeat(100), "is wrong").message).toBe(`${"x".repeat(64)}... is wrong`);
  });
});

describe("further faults of a request", () => {
  const fieldsOf = (first: string, ...others: readonly string[]) => {
    const checks = others.map((field) => () => {
      throw invalidFields({ [field]: ["is wrong"] });
    });
    return Object.keys(withFurtherFaults(invalidFields({ [first]: ["is wrong"] }), checks).fields ?? {});
  };

  it.each<[string, string[], string[]]>([
    ["a", ["b", "c"], ["a", "b", "c"]],
    ["a", ["a"], ["a"]],
    ["a", ["a.b", "a[0]", "ab"], ["a", "ab"]],
    ["a.b", ["a", "a.c"], ["a.b", "a.c"]],
    ["a[0].b", ["a[0]", "a[1].b", "a"], ["a[0].b", "a[1].b"]],
  ])("beside %s are those of %j that are neither above nor below: %j", (first, others, fields) => {
    expect(fieldsOf(first, ...others)).toEqual(fields);
  });

  it("are not looked for after a fault of another kind, and checks that pass or break otherwise add nothing", () => {
    const denied = new Fault("permission_denied", "No.");
    expect(withFurtherFaults(denied, [() => expect.fail("was checked")])).toBe(denied);
    const first = invalidFields({ a: ["is wrong"] });
    expect(withFurtherFaults(first, [() => 5, () => JSON.parse("{")])).toBe(first);
  });
});
