import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { nameMatcher } from "../../src/access/name-search.js";
import { readSettings } from "../../src/access/tenant-settings.js";
import { newTenantId, newUuid } from "../../src/base/ids.js";
import { SealBroken } from "../../src/crypto/sealed.js";
import { openProfile, requireSealedRole, sealProfile } from "../../src/tenancy/profile.js";
import { requireGivenRole } from "../../src/tenancy/role.js";
import { DEFAULT_SETTINGS, mergeSettings, showSettings } from "../../src/tenancy/settings.js";
import { faultFields } from "../expressions/faults.js";
import { newTenantKeys } from "../support/tenant-keys.js";

describe("the settings of a tenant", () => {
  const names = Object.keys(DEFAULT_SETTINGS);

  it.each(names)("%s is off, is switched by itself, and is read as it is stored", (name) => {
    expect(showSettings(DEFAULT_SETTINGS)[name]).toBe("false");
    const on = mergeSettings(DEFAULT_SETTINGS, { [name]: "true" });
    expect(showSettings(on)).toEqual({ ...showSettings(DEFAULT_SETTINGS), [name]: "true" });
    expect(readSettings({ ...on })).toEqual(on);
    expect(mergeSettings(on, {})).toEqual(on);
    expect(mergeSettings(on, { [name]: "false" })).toEqual(DEFAULT_SETTINGS);
  });

  it("are off where an older release stored nothing, or anything but true", () => {
    for (const stored of [{}, { fingerprint_tokens: "true" }, { fingerprint_tokens: 1 }, { unknown: true }]) {
      expect(readSettings(stored)).toEqual(DEFAULT_SETTINGS);
    }
  });

  it.each([
    ["fingerprint_tokens", "TRUE", 'must be "true" or "false"'],
    ["fingerprint_tokens", "", 'must be "true" or "false"'],
    ["fingerprint_token", "true", `is not known; known are ${names.join(", ")}`],
    ["__proto__", "true", `is not known; known are ${names.join(", ")}`],
    ["constructor", "true", `is not known; known are ${names.join(", ")}`],
    ["token_deduplication_behavior", "create_new", 'must be "read_existing"'],
  ])("cannot have %s %j", (name, text, problem) => {
    const sent = Object.fromEntries([[name, text]]);
    expect(Object.entries(faultFields(() => mergeSettings(DEFAULT_SETTINGS, sent)) ?? {})).toEqual([
      [`settings.${name}`, [problem]],
    ]);
  });

  it("may be sent with the one value that matches this vault's behavior", () => {
    expect(mergeSettings(DEFAULT_SETTINGS, { token_deduplication_behavior: "read_existing" })).toEqual(
      DEFAULT_SETTINGS,
    );
  });
});

describe("a search by name", () => {
  it.each<[string, string, boolean]>([
    ["shop", "My Shop in Bern", true],
    ["SHOP", "my shop", true],
    ["", "anything", true],
    ["shop*", "Shop in Bern", true],
    ["shop*", "My Shop", false],
    ["*shop", "My Shop", true],
    ["*shop", "Shop in Bern", false],
    ["s*p", "sp", true],
    ["ab*ba", "aba", false],
    ["ab*ba", "abba", true],
    ["*", "", true],
    ["**", "x", true],
    ["a*b*c", "a-b-c", true],
    ["a*b*c", "a-c-b", false],
    ["a.c", "abc", false],
    ["%", "100%", true],
  ])("%j finds %j: %s", (pattern, name, isFound) => {
    expect(nameMatcher(pattern)(name)).toBe(isFound);
  });

  it("is the same as a regular expression in which * is any text", () => {
    const text = fc.string({ unit: fc.constantFrom("a", "b", "*"), maxLength: 8 });
    const name = fc.string({ unit: fc.constantFrom("a", "b"), maxLength: 10 });
    fc.assert(
      fc.property(text, name, (pattern, candidate) => {
        const inner = pattern.replaceAll("*", ".*");
        const expected = new RegExp(pattern.includes("*") ? `^${inner}$` : inner).test(candidate);
        expect(nameMatcher(pattern)(candidate)).toBe(expected);
      }),
      { numRuns: 2_000 },
    );
  });

  it("takes no longer with many asterisks", () => {
    expect(nameMatcher(`${"*a".repeat(2_000)}*b`)("a".repeat(4_000))).toBe(false);
  });
});

describe("a member's profile", () => {
  const keys = newTenantKeys();
  const place = { id: newUuid(), user_id: newUuid(), created_by: null };
  const profile = { email: "ada@example.com", firstName: "Ada" };
  const sealed = sealProfile(keys, place, profile, { role: "ADMIN" });

  it("opens in its own row, without the role that is sealed beside it", () => {
    const row = { ...place, profile: sealed };
    expect(openProfile(keys, row)).toEqual(profile);
    for (const change of [{ id: newUuid() }, { user_id: newUuid() }, { created_by: newUuid() }]) {
      expect(() => openProfile(keys, { ...row, ...change })).toThrow(SealBroken);
    }
    expect(() => openProfile({ ...keys, tenantId: newTenantId() }, row)).toThrow(SealBroken);
  });

  it("does not fit a role that was changed in the database", () => {
    expect(() => requireSealedRole(keys, { ...place, profile: sealed, role: "ADMIN" })).not.toThrow();
    for (const role of ["OWNER", "AUDITOR", "admin", ""]) {
      expect(() => requireSealedRole(keys, { ...place, profile: sealed, role })).toThrow(SealBroken);
    }
  });
});

describe("a role that is given", () => {
  it.each(["ADMIN", "AUDITOR", "DEVELOPER"])("may be %s", (role) => {
    expect(requireGivenRole(role)).toBe(role);
  });

  it.each(["OWNER", "", "admin", "ROOT", "__proto__"])("cannot be %j", (role) => {
    const [problem] = faultFields(() => requireGivenRole(role))?.role ?? [];
    expect(problem).toMatch(/^must be one of ADMIN, AUDITOR, DEVELOPER/);
    expect(problem?.includes("a tenant has one owner")).toBe(role === "OWNER");
  });
});
