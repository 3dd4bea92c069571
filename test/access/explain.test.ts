import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { AccessRights, AccessRule } from "../../src/access/access-rule.js";
import { storedContainer } from "../../src/access/container.js";
import { Grant, stricterTransform } from "../../src/access/grant.js";

const PERMISSIONS = ["token:read", "token:search", "token:use", "token:create"] as const;
const permission = fc.constantFrom(...PERMISSIONS);
const container = fc
  .array(fc.constantFrom("a", "b", "c"), { maxLength: 3 })
  .map((parts) => storedContainer(parts.length === 0 ? "/" : `/${parts.join("/")}/`));
const condition = fc.record({
  attribute: fc.constantFrom("id" as const, "container" as const),
  operator: fc.constantFrom("equals" as const, "starts_with" as const),
  value: fc.oneof(container, fc.constantFrom("one", "two")),
});
const scope = fc.oneof(
  container.map((path) => ({ kind: "container" as const, container: path })),
  fc
    .array(condition, { minLength: 1, maxLength: 2 })
    .map((conditions) => ({ kind: "conditions" as const, conditions })),
);
const rules = fc
  .array(
    fc.record({
      scope,
      transform: fc.constantFrom("redact" as const, "mask" as const, "reveal" as const),
      permissions: fc.uniqueArray(permission, { minLength: 1 }),
    }),
    { maxLength: 5 },
  )
  .map((all) =>
    all.map(
      (rule, index): AccessRule => ({
        ...rule,
        ...{ description: undefined, priority: index + 1, requiresReason: false },
      }),
    ),
  );
const rights: fc.Arbitrary<AccessRights> = fc.record({ permissions: fc.uniqueArray(permission), rules });
const token = fc.record({ id: fc.constantFrom("one", "two"), containers: fc.uniqueArray(container, { minLength: 1 }) });

describe("an explanation", () => {
  it("agrees with the decision, for every right and token", () => {
    fc.assert(
      fc.property(rights, token, permission, (held, place, wanted) => {
        const grant = new Grant(held);
        const { transform, layers } = grant.explain(wanted, place);
        expect(transform).toBe(grant.transformFor(wanted, place));
        const [steps = [], ...others] = layers;
        expect(others).toEqual([]);
        expect(steps.map(({ rule }) => rule)).toEqual([...held.rules, undefined]);
        const deciders = steps.filter(({ outcome }) => outcome === "decides");
        expect(deciders.length).toBe(transform === undefined ? 0 : 1);
        const [decider] = deciders;
        if (decider?.rule) expect(decider.rule.transform).toBe(transform);
        const decided = decider ? steps.indexOf(decider) : steps.length;
        for (const [index, { outcome }] of steps.entries()) expect(outcome === "not_reached").toBe(index > decided);
      }),
      { numRuns: 10_000 },
    );
  });

  it("shows two layers for a session: its own rights, and its authorizer's", () => {
    fc.assert(
      fc.property(rights, rights, token, permission, (own, authorizer, place, wanted) => {
        const within = new Grant(authorizer);
        const { transform, layers } = new Grant(own, within).explain(wanted, place);
        expect(transform).toBe(new Grant(own, within).transformFor(wanted, place));
        const [first, second] = [new Grant(own), within].map((grant) => grant.transformFor(wanted, place));
        expect(layers.length).toBe(first === undefined ? 1 : 2);
        expect(transform).toBe(first && second && stricterTransform(first, second));
      }),
      { numRuns: 10_000 },
    );
  });
});
