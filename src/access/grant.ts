import { type AccessExplanation, type AccessStep, explainedSteps, type RuleRefusal } from "./access-explanation.js";
import type { AccessCondition, AccessRights, AccessRule, RuleScope, Transform } from "./access-rule.js";
import { type ContainerPath, covers, parentOrSelf } from "./container.js";
import { isTokenPermission, type Permission, type TokenPermission } from "./permissions.js";

export interface AccessTarget {
  readonly id: string;
  readonly containers: readonly ContainerPath[];
}

/** How plain permissions show tokens. They act like rules on `/` after all others. */
const IMPLICIT_TRANSFORM: Record<TokenPermission, Transform> = {
  "token:create": "mask",
  "token:update": "mask",
  "token:read": "mask",
  "token:search": "mask",
  "token:export": "mask",
  "token:use": "reveal",
  "token:delete": "redact",
};

/** Ranks transforms by how much they show. Of several, the one that shows least counts. */
const OPENNESS: Record<Transform, number> = { redact: 0, mask: 1, reveal: 2 };

/** The one of two transforms that shows less. */
export function stricterTransform(one: Transform, other: Transform): Transform {
  return OPENNESS[other] < OPENNESS[one] ? other : one;
}

/** The rights of one caller. A session's rights are limited by its authorizer's current rights. */
export class Grant {
  readonly #permissions: ReadonlySet<Permission>;
  /** By ascending priority. */
  readonly rules: readonly AccessRule[];
  readonly #within: Grant | undefined;

  constructor({ permissions, rules }: AccessRights, within?: Grant) {
    this.#permissions = new Set(permissions);
    this.rules = rules;
    this.#within = within;
  }

  /** Whether nothing is allowed. Such rights are never cached, because they may be granted at any moment. */
  get isEmpty(): boolean {
    return this.#permissions.size === 0 && this.rules.length === 0;
  }

  /** The rights that must all allow an operation: these, and those that limit them. */
  get layers(): readonly Grant[] {
    return this.#within ? [this, ...this.#within.layers] : [this];
  }

  get permissions(): readonly Permission[] {
    return [...this.#permissions];
  }

  /** Whether the caller has the permission for any token at all. */
  holds(permission: Permission): boolean {
    const isHeld =
      this.#permissions.has(permission) ||
      this.rules.some(({ permissions }) => permissions.some((granted) => granted === permission));
    return isHeld && (this.#within?.holds(permission) ?? true);
  }

  /**
   * What the caller may see of an existing token with this permission; undefined if it may not use the token. The first
   * rule by priority that has the permission and covers one of the token's containers decides, otherwise the plain
   * permission. A session sees at most what the application that authorized it may see.
   */
  transformFor(permission: TokenPermission, token: AccessTarget): Transform | undefined {
    return this.#decide(permission, token);
  }

  /** What {@link transformFor} returns, with the part that each rule had in it. */
  explain(permission: TokenPermission, token: AccessTarget): AccessExplanation {
    const layers: (readonly AccessStep[])[] = [];
    return { transform: this.#decide(permission, token, layers), layers };
  }

  #decide(permission: TokenPermission, token: AccessTarget, layers?: (readonly AccessStep[])[]): Transform | undefined {
    const own = this.#ownTransform(permission, token, layers);
    if (!this.#within || own === undefined) return own;
    const allowed = this.#within.#decide(permission, token, layers);
    return allowed && stricterTransform(own, allowed);
  }

  #ruleFor(
    permission: TokenPermission,
    token: AccessTarget,
    refusals?: Map<AccessRule, RuleRefusal>,
  ): AccessRule | undefined {
    for (const rule of this.rules) {
      const refusal = refusalBy(rule, permission, token);
      if (refusal === undefined) return rule;
      refusals?.set(rule, refusal);
    }
    return undefined;
  }

  #ownTransform(
    permission: TokenPermission,
    token: AccessTarget,
    layers: (readonly AccessStep[])[] | undefined,
  ): Transform | undefined {
    const refusals = layers && new Map<AccessRule, RuleRefusal>();
    const rule = this.#ruleFor(permission, token, refusals);
    const isHeld = this.#permissions.has(permission);
    if (refusals) layers.push(explainedSteps(this.rules, refusals, rule, isHeld));
    if (rule) return rule.transform;
    return isHeld ? IMPLICIT_TRANSFORM[permission] : undefined;
  }

  /** Whether the rule that decides over a token, or a rule that limits it, asks for a reason. */
  asksReason(permission: TokenPermission, token: AccessTarget): boolean {
    const rule = this.#ruleFor(permission, token);
    return (rule?.requiresReason ?? false) || (this.#within?.asksReason(permission, token) ?? false);
  }

  /** Whether any rule with the permission asks for a reason. */
  mayAskReason(permission: TokenPermission): boolean {
    const asks = this.rules.some((rule) => rule.requiresReason && rule.permissions.includes(permission));
    return asks || (this.#within?.mayAskReason(permission) ?? false);
  }

  /**
   * What the caller may see of any token with this permission, if that is the same for all: the first rule with the
   * permission is on `/`, or no rule has it. Undefined if it depends on the token, or nothing is allowed.
   */
  transformForAny(permission: TokenPermission): Transform | undefined {
    const rule = this.rules.find(({ permissions }) => permissions.includes(permission));
    const own = rule ? transformOnRoot(rule) : this.#permissions.has(permission) && IMPLICIT_TRANSFORM[permission];
    if (!own) return undefined;
    const allowed = this.#within ? this.#within.transformForAny(permission) : own;
    return allowed && stricterTransform(own, allowed);
  }

  /**
   * The same for a token that will be put into containers. The permission is needed on each of them, and the transform
   * that shows least counts.
   */
  transformForAll(permission: TokenPermission, { id, containers }: AccessTarget): Transform | undefined {
    if (containers.length === 1) return this.transformFor(permission, { id, containers });
    let careful: Transform | undefined;
    for (const container of containers) {
      const transform = this.transformFor(permission, { id, containers: [container] });
      if (transform === undefined) return undefined;
      careful = careful ? stricterTransform(careful, transform) : transform;
    }
    return careful;
  }

  /** The most that the caller may see of any token; undefined if no token is shown. */
  get mostOpenTransform(): Transform | undefined {
    const ruled = this.rules.flatMap(({ permissions, transform }) => (permissions.some(shows) ? [transform] : []));
    const plain = this.permissions.flatMap((permission) => (shows(permission) ? [IMPLICIT_TRANSFORM[permission]] : []));
    const own = [...ruled, ...plain].toSorted((one, other) => OPENNESS[other] - OPENNESS[one])[0];
    if (!this.#within || own === undefined) return own;
    const allowed = this.#within.mostOpenTransform;
    return allowed && stricterTransform(own, allowed);
  }

  /**
   * The first permission by which rights allow more than this grant, or show it more openly; undefined if there is
   * none.
   */
  exceededBy(rights: AccessRights): Permission | undefined {
    const plain = rights.permissions.find((permission) =>
      isTokenPermission(permission)
        ? !this.#allows(permission, ROOT, IMPLICIT_TRANSFORM[permission])
        : !this.#permissions.has(permission),
    );
    if (plain) return plain;
    const ruled = rights.rules.flatMap(({ permissions, scope, transform }) =>
      permissions.filter((permission) => !this.#allows(permission, reachOf(scope), transform)),
    );
    return ruled[0];
  }

  /** Whether every token below a container is allowed, and shown at least as openly, whichever rule decides. */
  #allows(permission: TokenPermission, reach: string, transform: Transform): boolean {
    for (const rule of this.rules) {
      if (!rule.permissions.includes(permission)) continue;
      const ownReach = reachOf(rule.scope);
      const covers = rule.scope.kind === "container" && reach.startsWith(ownReach);
      const overlaps = covers || ownReach.startsWith(reach) || reach.startsWith(ownReach);
      if (overlaps && OPENNESS[rule.transform] < OPENNESS[transform]) return false;
      if (covers) return true;
    }
    return this.#permissions.has(permission) && OPENNESS[IMPLICIT_TRANSFORM[permission]] >= OPENNESS[transform];
  }
}

const ROOT = "/";

/** Whether responses to a permission's operations have the token. A use sends it elsewhere, and a deletion returns nothing. */
function shows(permission: Permission): permission is TokenPermission {
  return isTokenPermission(permission) && permission !== "token:use" && permission !== "token:delete";
}

function transformOnRoot({ scope, transform }: AccessRule): Transform | undefined {
  return scope.kind === "container" && scope.container === ROOT ? transform : undefined;
}

/** The container that contains everything that a scope can match. */
function reachOf(scope: RuleScope): string {
  if (scope.kind === "container") return scope.container;
  const paths = scope.conditions
    .filter(({ attribute }) => attribute === "container")
    .map(({ value }) => value.toLowerCase());
  const reaches = paths.map((path) => parentOrSelf(path) ?? ROOT);
  return reaches.reduce((deepest, reach) => (reach.length > deepest.length ? reach : deepest), ROOT);
}

/** Why a rule does not decide; undefined: it does. */
function refusalBy({ permissions, scope }: AccessRule, permission: TokenPermission, token: AccessTarget) {
  if (!permissions.includes(permission)) return "no_permission";
  if (matches(scope, token)) return undefined;
  return scope.kind === "container" ? "outside_container" : "condition_failed";
}

function matches(scope: RuleScope, token: AccessTarget): boolean {
  if (scope.kind === "conditions") return scope.conditions.every((condition) => meets(condition, token));
  // A loop, because `some` would make a function for each token and rule.
  for (const container of token.containers) if (covers(scope.container, container)) return true;
  return false;
}

function meets({ attribute, operator, value }: AccessCondition, token: AccessTarget): boolean {
  const subjects = attribute === "id" ? [token.id] : token.containers;
  const wanted = attribute === "id" ? value : value.toLowerCase();
  return subjects.some((subject) => (operator === "equals" ? subject === wanted : subject.startsWith(wanted)));
}
