import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Json } from "../../src/base/json.js";
import { requireCompiling } from "../../src/functions/code.js";
import { mergeConfiguration, requireConfigurationSize } from "../../src/functions/configuration.js";
import { parseRuntime, runTimeoutMs } from "../../src/functions/runtime.js";
import { CODE_CHARACTERS } from "../../src/sandbox/limits.js";
import { SandboxUnavailable } from "../../src/sandbox/sandbox.js";
import { faultFields } from "../expressions/faults.js";

describe("the runtime of code", () => {
  it.each<[Json, object]>([
    [{}, {}],
    [
      { image: "node-bt", timeout: 10, warm_concurrency: 1, resources: "standard" },
      { image: "node-bt", timeout: 10, warm_concurrency: 1, resources: "standard" },
    ],
    [{ image: "", timeout: 0, warm_concurrency: 0, resources: null }, { warm_concurrency: 0 }],
    [{ dependencies: {}, resolutions: null, permissions: [], async: false }, {}],
    [{ timeout: 30, unknown: "x" }, { timeout: 30 }],
  ])("%j is read as %j", (given, runtime) => {
    expect(parseRuntime(given, "runtime")).toEqual(runtime);
  });

  it.each<[Json, string]>([
    ["node-bt", "runtime"],
    [[], "runtime"],
    [{ image: "node22" }, "runtime.image"],
    [{ resources: "large" }, "runtime.resources"],
    [{ async: true }, "runtime.async"],
    [{ dependencies: { lodash: "4" } }, "runtime.dependencies"],
    [{ resolutions: { lodash: "4" } }, "runtime.resolutions"],
    [{ permissions: ["token:read"] }, "runtime.permissions"],
    [{ timeout: 31 }, "runtime.timeout"],
    [{ timeout: 1.5 }, "runtime.timeout"],
    [{ timeout: -1 }, "runtime.timeout"],
    [{ timeout: "10" }, "runtime.timeout"],
    [{ warm_concurrency: 2 }, "runtime.warm_concurrency"],
    [{ warm_concurrency: true }, "runtime.warm_concurrency"],
  ])("%j is refused, naming %s", (given, field) => {
    expect(Object.keys(faultFields(() => parseRuntime(given, "runtime")) ?? {})).toEqual([field]);
  });

  it("limits a run in seconds; without a limit the default counts", () => {
    expect(runTimeoutMs(parseRuntime({ timeout: 7 }, "runtime"))).toBe(7_000);
    expect(runTimeoutMs(parseRuntime({}, "runtime"))).toBeUndefined();
    expect(runTimeoutMs(undefined)).toBeUndefined();
  });
});

describe("a patch of a configuration", () => {
  it.each<[Readonly<Record<string, string>>, Json, Readonly<Record<string, string>>]>([
    [{ a: "1" }, { b: "2" }, { a: "1", b: "2" }],
    [{ a: "1", b: "2" }, { a: null }, { b: "2" }],
    [{ a: "1" }, { a: "3" }, { a: "3" }],
    [{ a: "1" }, {}, { a: "1" }],
    [{ a: "1" }, null, {}],
    [{ a: "1" }, { b: null }, { a: "1" }],
  ])("changes %j by %j to %j", (current, patch, merged) => {
    expect(mergeConfiguration(current, patch)).toEqual(merged);
  });

  it.each<[Json, string, string]>([
    ["a", "configuration", "must be an object of strings"],
    [["a"], "configuration", "must be an object of strings"],
    [{ a: 1 }, "configuration.a", "must be a string"],
    [{ a: { b: "c" } }, "configuration.a", "must be a string"],
    [{ a: "x\0" }, "configuration.a", "must be a string without NUL characters"],
    [{ "a\0": "x" }, "configuration.a\0", "must be a string without NUL characters"],
  ])("%j is refused", (patch, field, text) => {
    expect(faultFields(() => mergeConfiguration({ kept: "1" }, patch))).toEqual({ [field]: [text] });
  });

  it("may bring it to 100 entries, and no further", () => {
    const entries = (count: number) =>
      Object.fromEntries(Array.from({ length: count }, (_, index) => [`e${index}`, "x"]));
    expect(Object.keys(mergeConfiguration(entries(99), { more: "x" }))).toHaveLength(100);
    expect(faultFields(() => mergeConfiguration(entries(100), { more: "x" }))).toEqual({
      configuration: ["must have at most 100 entries"],
    });
    expect(Object.keys(mergeConfiguration(entries(100), { more: "x", e0: null }))).toHaveLength(100);
  });

  it("never changes what it does not name", () => {
    const configuration = fc.dictionary(fc.string(), fc.string(), { maxKeys: 20 });
    fc.assert(
      fc.property(
        configuration,
        fc.dictionary(fc.string(), fc.option(fc.string()), { maxKeys: 5 }),
        (current, patch) => {
          fc.pre(!JSON.stringify([current, patch]).includes("\\u0000"));
          const merged = mergeConfiguration(current, patch);
          for (const [name, value] of Object.entries(current))
            if (!Object.hasOwn(patch, name)) expect(merged[name]).toBe(value);
          for (const [name, value] of Object.entries(patch))
            expect(Object.hasOwn(merged, name) ? merged[name] : null).toBe(value);
        },
      ),
    );
  });

  it("may have 100,000 characters in names and values, and no more", () => {
    expect(() => requireConfigurationSize({ a: "x".repeat(99_999) })).not.toThrow();
    expect(faultFields(() => requireConfigurationSize({ ab: "x".repeat(50_000), c: "y".repeat(49_998) }))).toEqual({
      configuration: ["must have at most 100000 characters in all"],
    });
  });
});

describe("code that is saved", () => {
  const compiles = () => Promise.resolve(undefined);

  it("may have as many characters as the sandbox takes", async () => {
    await expect(requireCompiling(compiles, "code", "x".repeat(CODE_CHARACTERS))).resolves.toBeUndefined();
    await expect(requireCompiling(compiles, "code", "x".repeat(CODE_CHARACTERS + 1))).rejects.toMatchObject({
      code: "validation_failed",
      fields: { code: [`must have at most ${CODE_CHARACTERS} characters`] },
    });
  });

  it("is unprocessable if it does not compile, with line and column", async () => {
    const problem = { message: "unexpected token ')'", line: 3, column: 14 };
    await expect(requireCompiling(async () => problem, "transform.code", "(")).rejects.toMatchObject({
      code: "unprocessable",
      fields: { "transform.code": ["does not compile: unexpected token ')' (line 3, column 14)"] },
    });
  });

  it.each([
    ["cannot be checked now", undefined, 1],
    ["is held back for 1.2 s", 1_200, 2],
  ])("is refused as unavailable if it %s", async (_, heldMs, retryAfter) => {
    const compile = () => Promise.reject(new SandboxUnavailable("x", heldMs));
    await expect(requireCompiling(compile, "code", "")).rejects.toMatchObject({ code: "unavailable", retryAfter });
  });

  it("is a defect if the check itself fails", async () => {
    const defect = new TypeError("x");
    await expect(requireCompiling(() => Promise.reject(defect), "code", "")).rejects.toBe(defect);
  });
});
