import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  type AccessRuleDraft,
  parseRights,
  readRule,
  requireRulesSize,
  ruleCharacters,
  writeRule,
} from "../../src/access/access-rule.js";
import { APPLICATION_TYPES, mayHold, PERMISSIONS, TOKEN_PERMISSIONS } from "../../src/access/permissions.js";
import type { Json, JsonObject } from "../../src/base/json.js";
import { faultFields } from "../expressions/faults.js";
import { arbitrary, rightsOf } from "./rights.js";

const draft: AccessRuleDraft = {
  description: undefined,
  priority: 1,
  container: "/a/",
  conditions: [],
  transform: "mask",
  permissions: ["token:read"],
  requiresReason: false,
};
const condition = { attribute: "id", operator: "equals", value: "x" } as const;

describe("the permissions that a holder may have", () => {
  it.each(PERMISSIONS)("$permission is for $types", ({ permission, types }) => {
    for (const type of APPLICATION_TYPES) {
      const isAllowed = types.some((allowed) => allowed === type);
      expect(mayHold(type, permission), type).toBe(isAllowed);
      const parse = () => parseRights(type, [permission], []);
      if (isAllowed) expect(parse()).toEqual({ permissions: [permission], rules: [] });
      else expect(faultFields(parse)).toEqual({ "permissions[0]": [expect.stringContaining(`a ${type} application`)] });
    }
  });

  it.each(PERMISSIONS)("a session may have $permission only if it is about tokens", ({ permission }) => {
    const parse = () => parseRights("session", [permission], []);
    if (TOKEN_PERMISSIONS.some((one) => one === permission)) expect(parse().permissions).toEqual([permission]);
    else
      expect(faultFields(parse)).toEqual({ "permissions[0]": [expect.stringContaining("must be a token permission")] });
  });

  it.each(["", "token", "token:fly", "TOKEN:READ", "token:read ", "__proto__", "constructor"])(
    "%j is not a permission of anything",
    (name) => {
      for (const holder of [...APPLICATION_TYPES, "session"] as const) {
        const expected = ["must be a permission that GET /permissions lists"];
        expect(
          faultFields(() => parseRights(holder, [name], [])),
          holder,
        ).toEqual({ "permissions[0]": expected });
      }
    },
  );

  it("are stored once, however often they are named", () => {
    const rules = [{ ...draft, permissions: ["token:read", "token:read", "token:use"] }];
    const rights = parseRights("private", ["token:read", "token:delete", "token:read"], rules);
    expect(rights.permissions).toEqual(["token:read", "token:delete"]);
    expect(rights.rules[0]?.permissions).toEqual(["token:read", "token:use"]);
  });
});

describe("the rules of a holder", () => {
  it("are ordered by priority, whatever the order in the request", () => {
    const priorities = [30, 1, 200, 7];
    const { rules } = parseRights(
      "private",
      [],
      priorities.map((priority) => ({ ...draft, priority })),
    );
    expect(rules.map(({ priority }) => priority)).toEqual([1, 7, 30, 200]);
  });

  it.each<[string, "private" | "public" | "session", Partial<AccessRuleDraft>, Record<string, string>]>([
    ["no container", "private", { container: undefined }, { container: "must be a container path such as /pci/" }],
    ["a malformed container", "private", { container: "a" }, { container: "must be a container path such as /pci/" }],
    ["no transform", "private", { transform: undefined }, { transform: "must be one of: redact, mask, reveal" }],
    [
      "a transform in capitals",
      "private",
      { transform: "MASK" },
      { transform: "must be one of: redact, mask, reveal" },
    ],
    [
      "another permission",
      "private",
      { permissions: ["log:read"] },
      { "permissions[0]": "must be a token permission" },
    ],
    [
      "a permission of other types",
      "public",
      { permissions: ["token:create", "token:read"] },
      { "permissions[1]": "must be a permission that a public application may hold" },
    ],
    [
      "conditions outside of a session",
      "private",
      { conditions: [condition] },
      { conditions: "must not be given outside of sessions; give a container" },
    ],
    [
      "conditions and a container",
      "session",
      { conditions: [condition] },
      { conditions: "must not be given together with a container" },
    ],
    [
      "neither conditions nor a container",
      "session",
      { container: undefined },
      { container: "must be a container path such as /pci/" },
    ],
    [
      "a reason for a mask",
      "private",
      { requiresReason: true },
      { requires_reason: "must not be true without the transform reveal" },
    ],
  ])("are rejected with %s", (_, holder, change, problems) => {
    const expected = Object.fromEntries(Object.entries(problems).map(([field, text]) => [`rules[1].${field}`, [text]]));
    const sound = { ...draft, permissions: ["token:create"] };
    const rules = [sound, { ...sound, priority: 2, ...change }];
    expect(faultFields(() => parseRights(holder, [], rules))).toEqual(expected);
  });

  it("are rejected with every problem at once", () => {
    const wrong = { ...draft, container: "x", transform: "show", permissions: ["log:read", "token:fly"] };
    expect(Object.keys(faultFields(() => parseRights("private", ["nope"], [wrong, wrong])) ?? {})).toEqual([
      "permissions[0]",
      ...[0, 1].flatMap((index) =>
        ["container", "transform", "permissions[0]", "permissions[1]"].map((field) => `rules[${index}].${field}`),
      ),
      "rules[1].priority",
    ]);
  });

  it("are not for management applications", () => {
    const fields = faultFields(() => parseRights("management", ["log:read"], [draft]));
    expect(fields).toHaveProperty("rules", ["must not be given: a management application takes permissions"]);
  });

  it("may ask for a reason if they reveal", () => {
    const { rules } = parseRights("private", [], [{ ...draft, transform: "reveal", requiresReason: true }]);
    expect(rules[0]).toMatchObject({ transform: "reveal", requiresReason: true });
  });

  it("may have 100,000 characters of texts together", () => {
    const ruleOf = (characters: number) => {
      const rules = [{ ...draft, description: "x".repeat(characters - "/a/".length) }];
      return parseRights("private", [], rules).rules;
    };
    expect(() => requireRulesSize(ruleOf(100_000))).not.toThrow();
    expect(() => requireRulesSize(ruleOf(100_001))).toThrow("rules must have at most 100000 characters in all");
    const two = [...ruleOf(50_000), ...ruleOf(50_001)];
    expect(faultFields(() => requireRulesSize(two))).toHaveProperty("rules");
    const { rules } = rightsOf("id=abcd&container^/x reveal read");
    expect(rules.map(ruleCharacters)).toEqual(["abcd/x".length]);
  });
});

describe("a stored rule", () => {
  it("is read as it was written", () => {
    fc.assert(
      fc.property(arbitrary.rights, fc.option(fc.string(), { nil: undefined }), ({ rules }, description) => {
        const revealing = rules.map((rule) => ({
          ...{ ...rule, description },
          requiresReason: rule.requiresReason && rule.transform === "reveal",
        }));
        const stored: JsonObject[] = JSON.parse(JSON.stringify(revealing.map(writeRule)));
        fc.pre(stored.length > 0);
        expect(parseRights("session", [], stored.map(readRule)).rules).toEqual(revealing);
      }),
    );
  });

  it.each<[string, JsonObject]>([
    ["an empty object", {}],
    ["a transform of a later release", { ...stored(), transform: "tokenize" }],
    ["a permission of a later release", { ...stored(), permissions: ["token:fly"] }],
    ["a container that is not a text", { ...stored(), container: ["/a/"] }],
    ["a reason for a mask", { ...stored(), requires_reason: true }],
  ])("gives no rights if this release does not understand it: %s", (_, rule) => {
    expect(() => parseRights("private", [], [readRule(rule)])).toThrow();
  });

  it.each<[string, JsonObject]>([
    ["attribute", { attribute: "metadata", operator: "equals", value: "x" }],
    ["operator", { attribute: "id", operator: "ends_with", value: "x" }],
    ["value", { attribute: "id", operator: "equals", value: ["x"] }],
  ])("is not read without a condition of a later release, which would make it wider: %s", (_, unknown) => {
    const known = { attribute: "container", operator: "equals", value: "/a/" };
    const rule = { ...stored(), container: null, conditions: [known, unknown] };
    expect(() => readRule(rule)).toThrow("an access rule with an unknown condition is stored");
  });

  it.each<Json>([null, "a rule", [], { priority: 1, container: "/a/", conditions: "all" }, { conditions: null }])(
    "is refused in the form %j",
    (stored) => {
      expect(() => readRule(stored)).toThrow(
        /^an access rule (?:of an unknown form|with unknown conditions) is stored$/,
      );
    },
  );
});

function stored(): JsonObject {
  return { priority: 1, container: "/a/", transform: "mask", permissions: ["token:read"] };
}
