import type { Grant } from "../../access/grant.js";
import type { PaymentScope } from "../../store/payments/payments.js";

/** The payments that a caller sees in lists: those of tokens that it may use. Undefined: all of the tenant. */
export function visiblePayments({ permissions, rules }: Grant): readonly PaymentScope[] | undefined {
  if (permissions.includes("token:use")) return undefined;
  return rules
    .filter((rule) => rule.permissions.includes("token:use"))
    .flatMap(({ scope }): PaymentScope[] => {
      if (scope.kind === "container") return [{ containerPrefix: scope.container }];
      const parts = scope.conditions.map(({ attribute, operator, value }): PaymentScope => {
        if (attribute === "id") return operator === "equals" ? { tokenId: value } : { tokenIdPrefix: value };
        const path = value.toLowerCase();
        return operator === "equals" ? { container: path } : { containerPrefix: path };
      });
      return [Object.assign({}, ...parts)];
    });
}
