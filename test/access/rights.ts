import fc from "fast-check";
import { type AccessCondition, type AccessRights, type AccessRule, isTransform } from "../../src/access/access-rule.js";
import { type ContainerPath, storedContainer } from "../../src/access/container.js";
import type { AccessTarget } from "../../src/access/grant.js";
import {
  isPermission,
  isTokenPermission,
  TOKEN_PERMISSIONS,
  type TokenPermission,
} from "../../src/access/permissions.js";

/**
 * Rights as lines of text, rules in the order of their priority:
 * - `/pci/ mask read+search`: a rule for a container and everything below
 * - `id=a&container^/b reveal read`: a rule for tokens with the id `a` in a container whose path starts with `/b`
 * - `/ reveal! read`: a rule that asks for a reason
 * - `plain read+use`: permissions without a rule
 */
export function rightsOf(...lines: readonly string[]): AccessRights {
  const split = lines.map((line) => line.split(" "));
  const rules = split.filter(([scope]) => scope !== "plain");
  return {
    permissions: split.flatMap(([scope, names = ""]) => (scope === "plain" ? permissionsIn(names, isPermission) : [])),
    rules: rules.map(([scope = "", transform = "", names = ""], index) => ruleOf(index + 1, scope, transform, names)),
  };
}

function ruleOf(priority: number, scope: string, shown: string, names: string): AccessRule {
  const transform = shown.replace("!", "");
  if (!isTransform(transform)) throw new Error(`${shown} is not a transform`);
  return {
    ...{ description: undefined, priority, transform },
    permissions: permissionsIn(names, isTokenPermission),
    requiresReason: shown.endsWith("!"),
    scope: scope.startsWith("/")
      ? { kind: "container", container: storedContainer(scope) }
      : { kind: "conditions", conditions: scope.split("&").map(conditionOf) },
  };
}

function permissionsIn<T extends string>(names: string, isOne: (name: string) => name is T): T[] {
  return names.split("+").map((name) => {
    const permission = name.includes(":") ? name : `token:${name}`;
    if (!isOne(permission)) throw new Error(`${name} is not a permission`);
    return permission;
  });
}

function conditionOf(text: string): AccessCondition {
  const [, attribute, sign, value = ""] = /^(id|container)([=^])(.*)$/.exec(text) ?? [];
  if (attribute !== "id" && attribute !== "container") throw new Error(`${text} is not a condition`);
  return { attribute, operator: sign === "=" ? "equals" : "starts_with", value };
}

/** A token in some containers. */
export function tokenIn(containers: readonly string[], id = "some-id"): AccessTarget {
  return { id, containers: containers.map(storedContainer) };
}

const permission = fc.constantFrom(...TOKEN_PERMISSIONS);
const container: fc.Arbitrary<ContainerPath> = fc
  .array(fc.constantFrom("a", "b", "ab"), { maxLength: 3 })
  .map((parts) => storedContainer(parts.length === 0 ? "/" : `/${parts.join("/")}/`));
const condition: fc.Arbitrary<AccessCondition> = fc.record({
  attribute: fc.constantFrom("id", "container"),
  operator: fc.constantFrom("equals", "starts_with"),
  value: fc.oneof(
    container,
    container.map((path) => path.slice(0, -1)),
    container.map((path) => path.toUpperCase()),
    fc.constantFrom("one", "on", "two"),
  ),
});
const containerScope = container.map((path) => ({ kind: "container" as const, container: path }));
const conditionScope = fc
  .array(condition, { minLength: 1, maxLength: 2 })
  .map((conditions) => ({ kind: "conditions" as const, conditions }));

function rulesWith(scope: fc.Arbitrary<AccessRule["scope"]>): fc.Arbitrary<AccessRule[]> {
  const part = fc.record({
    scope,
    transform: fc.constantFrom("redact" as const, "mask" as const, "reveal" as const),
    permissions: fc.uniqueArray(permission, { minLength: 1, maxLength: 3 }),
    requiresReason: fc.boolean(),
  });
  return fc
    .array(part, { maxLength: 5 })
    .map((all) => all.map((rule, index) => ({ ...rule, description: undefined, priority: index + 1 })));
}

const rightsWith = (scope: fc.Arbitrary<AccessRule["scope"]>): fc.Arbitrary<AccessRights> =>
  fc.record({ permissions: fc.uniqueArray(permission, { maxLength: 3 }), rules: rulesWith(scope) });

/** Arbitrary rights and tokens, from so few names that rules often cover tokens and each other. */
export const arbitrary = {
  permission: permission satisfies fc.Arbitrary<TokenPermission>,
  container,
  /** Rights of an application: its rules are about containers. */
  applicationRights: rightsWith(containerScope),
  /** Rights of an application or a session. */
  rights: rightsWith(fc.oneof(containerScope, conditionScope)),
  token: fc.record({
    id: fc.constantFrom("one", "two"),
    containers: fc.uniqueArray(container, { minLength: 1, maxLength: 3 }),
  }) satisfies fc.Arbitrary<AccessTarget>,
};
