import type { AccessRule, Transform } from "./access-rule.js";

/** Why a rule does not decide about a token. */
export type RuleRefusal = "no_permission" | "outside_container" | "condition_failed";

/** A rule, or the permissions that need none, and its part in a decision. */
export interface AccessStep {
  /** Absent for the permissions that need no rule. */
  readonly rule: AccessRule | undefined;
  readonly outcome: "decides" | "not_reached" | RuleRefusal;
}

export interface AccessExplanation {
  /** Undefined: refused. */
  readonly transform: Transform | undefined;
  /** The steps of a session's own rights and then of its authorizer's; an application has one layer. */
  readonly layers: readonly (readonly AccessStep[])[];
}

/** The steps of one layer. Without a deciding rule the permissions that need none decide, if the layer holds this one. */
export function explainedSteps(
  rules: readonly AccessRule[],
  refusals: ReadonlyMap<AccessRule, RuleRefusal>,
  decider: AccessRule | undefined,
  isHeld: boolean,
): readonly AccessStep[] {
  const steps = rules.map((rule): AccessStep => {
    if (rule === decider) return { rule, outcome: "decides" };
    return { rule, outcome: refusals.get(rule) ?? "not_reached" };
  });
  const outcome = decider ? "not_reached" : isHeld ? "decides" : "no_permission";
  return [...steps, { rule: undefined, outcome }];
}
