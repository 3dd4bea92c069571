import type { AccessRule as AccessRuleMessage } from "../../gen/cloakroom/v1/applications_pb.js";
import type { AccessCondition, AccessRule, AccessRuleDraft } from "../access/access-rule.js";

/** A rule as the client sent it. The protos allow no other attributes and operators. */
export function ruleDraft(rule: AccessRuleMessage): AccessRuleDraft {
  return {
    description: rule.description,
    priority: rule.priority,
    container: rule.container,
    conditions: rule.conditions.map(
      ({ attribute, operator, value }): AccessCondition => ({
        attribute: attribute === "id" ? "id" : "container",
        operator: operator === "equals" ? "equals" : "starts_with",
        value,
      }),
    ),
    transform: rule.transform,
    permissions: rule.permissions,
    requiresReason: rule.requiresReason ?? false,
  };
}

export function showRule(rule: AccessRule) {
  const { description, priority, scope, transform, permissions, requiresReason } = rule;
  return {
    ...(description === undefined ? {} : { description }),
    priority,
    ...(scope.kind === "container" ? { container: scope.container } : { conditions: [...scope.conditions] }),
    transform,
    permissions: [...permissions],
    ...(requiresReason ? { requiresReason } : {}),
  };
}
