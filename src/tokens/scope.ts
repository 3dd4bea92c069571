import type { AccessCondition, AccessRule } from "../access/access-rule.js";
import { type ContainerPath, parentOrSelf } from "../access/container.js";
import type { Grant } from "../access/grant.js";
import type { TokenPermission } from "../access/permissions.js";
import type { TenantKeys } from "../crypto/tenant-keys.js";
import type { ScopeAlternative } from "../store/tokens/token-selection.js";
import { containerTerm } from "./terms.js";

/**
 * The tokens that a caller can see in lists: those matching one alternative of each scope. No scopes: all of the
 * tenant. Any rule with the permission makes a token visible, whatever its transform: redacted tokens are listed
 * without their data.
 */
export function visibleScopes(
  grant: Grant,
  permission: TokenPermission,
  keys: TenantKeys,
): readonly (readonly ScopeAlternative[])[] {
  return grant.layers.flatMap((layer) => {
    if (layer.permissions.includes(permission)) return [];
    const rules = layer.rules.filter(({ permissions }) => permissions.includes(permission));
    const alternatives = rules.map((rule) => alternativeOf(rule, keys));
    return alternatives.some(({ length }) => length === 0) ? [] : [alternatives];
  });
}

/** An alternative without a requirement covers everything. */
function alternativeOf({ scope }: AccessRule, keys: TenantKeys): ScopeAlternative {
  return scope.kind === "container"
    ? below(scope.container, keys)
    : scope.conditions.flatMap((condition) => meeting(condition, keys));
}

function below(path: ContainerPath, keys: TenantKeys): ScopeAlternative {
  return path === "/" ? [] : [{ kind: "below", term: containerTerm(keys, path) }];
}

function meeting({ attribute, operator, value }: AccessCondition, keys: TenantKeys): ScopeAlternative {
  if (attribute === "id") return [{ kind: operator === "equals" ? "id" : "id_prefix", text: value }];
  const text = value.toLowerCase();
  // The nearest container's term narrows the search; the rest is compared with the row.
  const nearest = parentOrSelf(text);
  return [
    ...(nearest ? below(nearest, keys) : []),
    { kind: operator === "equals" ? "container" : "container_prefix", text },
  ];
}
