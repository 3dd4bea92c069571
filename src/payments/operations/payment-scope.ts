import type { RuleScope } from "../../access/access-rule.js";
import type { Grant } from "../../access/grant.js";
import type { PaymentCondition, PaymentScope } from "../../store/payments/payments.js";

/**
 * The payments that a caller sees in lists: those of tokens that it may use. A session also needs the rights of its
 * authorizer: each part of a grant that does not allow all tokens is a group, of which a payment must match one scope.
 */
export function visiblePayments(grant: Grant): readonly (readonly PaymentScope[])[] {
  return grant.layers
    .filter(({ permissions }) => !permissions.includes("token:use"))
    .map(({ rules }) =>
      rules.filter(({ permissions }) => permissions.includes("token:use")).map(({ scope }) => conditionsOn(scope)),
    )
    .filter((scopes) => !scopes.some(isEverything));
}

/** Every token is below the root: nothing has to be compared. */
function isEverything([condition, ...others]: PaymentScope): boolean {
  return (
    condition !== undefined &&
    others.length === 0 &&
    "containerPrefix" in condition &&
    condition.containerPrefix === "/"
  );
}

function conditionsOn(scope: RuleScope): PaymentScope {
  if (scope.kind === "container") return [{ containerPrefix: scope.container }];
  return scope.conditions.map(({ attribute, operator, value }): PaymentCondition => {
    if (attribute === "id") return operator === "equals" ? { tokenId: value } : { tokenIdPrefix: value };
    const path = value.toLowerCase();
    return operator === "equals" ? { container: path } : { containerPrefix: path };
  });
}
