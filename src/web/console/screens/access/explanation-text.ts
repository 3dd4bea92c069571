import type { AccessStep, ExplainedAccess } from "#client/proto/cloakroom/v1/applications_pb.js";

/** What a transform shows of a token, in the words of screens. */
export function describeTransform(transform: string | undefined): string {
  if (transform === "reveal") return "the value";
  if (transform === "mask") return "the masked value";
  return transform === "redact" ? "no value" : "refused";
}

/** Why an application sees what it sees, in one sentence. */
export function explanationReason({ steps, keys, applicationId }: ExplainedAccess, permission: string): string {
  const decider = steps.find(({ outcome }) => outcome === "decides");
  const noKey = keys === 0 && applicationId !== undefined ? " It has no key now." : "";
  if (!decider) return `No rule gives ${permission} here.${noKey}`;
  if (!decider.rule) return `It has ${permission} without a rule.${noKey}`;
  const { priority, container, transform } = decider.rule;
  return `Rule ${priority} on ${container ?? "its conditions"} says ${transform}.${noKey}`;
}

/** What a step did, in words. */
export function explanationOutcome(
  { outcome, rule }: AccessStep,
  permission: string,
  containers: readonly string[],
): string {
  switch (outcome) {
    case "decides":
      return rule ? `decides: ${rule.transform}` : "decides";
    case "no_permission":
      return `does not give ${permission}`;
    case "outside_container":
      return `covers ${rule?.container}, and the token is in ${containers.join(", ") || "another container"}`;
    case "condition_failed":
      return "a condition is not met";
    default:
      return "not reached: an earlier rule decided";
  }
}
