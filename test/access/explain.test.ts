import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Grant, stricterTransform } from "../../src/access/grant.js";
import { arbitrary } from "./rights.js";

const { permission, rights, token } = arbitrary;

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
