import { Fault, permissionDenied } from "../base/fault.js";
import type { AccessCondition, AccessRule, HeldRights, RuleScope, Transform } from "./access-rule.js";
import { type ContainerPath, covers, parentOrSelf } from "./container.js";
import { isTokenPermission, type Permission, type TokenPermission } from "./permissions.js";

/** What rules look at of a token. */
export interface TokenPlace {
  readonly id: string;
  readonly containers: readonly ContainerPath[];
}

/** How plain permissions show tokens: they act like rules on `/` that come after all others (api-facts 2.6). */
const IMPLICIT_TRANSFORM: Record<TokenPermission, Transform> = {
  "token:create": "mask",
  "token:update": "mask",
  "token:read": "mask",
  "token:search": "mask",
  "token:use": "reveal",
  "token:delete": "redact",
};

/** How little a transform shows: of several, the most careful one counts. */
const CARE: Record<Transform, number> = { redact: 0, mask: 1, reveal: 2 };

/** Of two transforms, the one that shows less. */
export function moreCareful(one: Transform, other: Transform): Transform {
  return CARE[other] < CARE[one] ? other : one;
}

/** The rights of one caller. Those of a session count only within those that its authorizer has now. */
export class Grant {
  readonly #permissions: ReadonlySet<Permission>;
  /** By rising priority. */
  readonly rules: readonly AccessRule[];
  readonly #within: Grant | undefined;

  constructor({ permissions, rules }: HeldRights, within?: Grant) {
    this.#permissions = new Set(permissions);
    this.rules = rules;
    this.#within = within;
  }

  /** Nothing is allowed. Such rights are never remembered: they may be given at any moment. */
  get isEmpty(): boolean {
    return this.#permissions.size === 0 && this.rules.length === 0;
  }

  /** The rights that must all allow something: these, and those they count within. */
  get layers(): readonly Grant[] {
    return this.#within ? [this, ...this.#within.layers] : [this];
  }

  get permissions(): readonly Permission[] {
    return [...this.#permissions];
  }

  /** Whether the permission is held for anything at all. */
  holds(permission: Permission): boolean {
    const isHeld =
      this.#permissions.has(permission) ||
      this.rules.some(({ permissions }) => permissions.some((granted) => granted === permission));
    return isHeld && (this.#within?.holds(permission) ?? true);
  }

  /**
   * What the caller may see of an existing token with this permission, or undefined when it may not touch it. The first
   * rule by priority that has the permission and covers one of the token's containers decides.
   */
  transformFor(permission: TokenPermission, token: TokenPlace): Transform | undefined {
    const own = this.#ownTransform(permission, token);
    if (!this.#within || own === undefined) return own;
    const allowed = this.#within.transformFor(permission, token);
    return allowed && moreCareful(own, allowed);
  }

  #ownTransform(permission: TokenPermission, token: TokenPlace): Transform | undefined {
    const rule = this.rules.find(({ permissions, scope }) => permissions.includes(permission) && matches(scope, token));
    if (rule) return rule.transform;
    return this.#permissions.has(permission) ? IMPLICIT_TRANSFORM[permission] : undefined;
  }

  /**
   * What the caller may see of any token with this permission, where that is the same for all of them: the first rule with the
   * permission is on `/`, or no rule has it. Undefined where it depends on the token, or nothing is allowed.
   */
  transformForAny(permission: TokenPermission): Transform | undefined {
    const rule = this.rules.find(({ permissions }) => permissions.includes(permission));
    const own = rule ? transformOnRoot(rule) : this.#permissions.has(permission) && IMPLICIT_TRANSFORM[permission];
    if (!own) return undefined;
    const allowed = this.#within ? this.#within.transformForAny(permission) : own;
    return allowed && moreCareful(own, allowed);
  }

  /**
   * The same for a token that is to be put into containers: the permission is needed on each of them, and the most
   * careful transform counts.
   */
  transformForAll(permission: TokenPermission, { id, containers }: TokenPlace): Transform | undefined {
    let careful: Transform | undefined;
    for (const container of containers) {
      const transform = this.transformFor(permission, { id, containers: [container] });
      if (transform === undefined) return undefined;
      careful = careful ? moreCareful(careful, transform) : transform;
    }
    return careful;
  }

  /** The first permission by which rights allow more than this grant, or show it more openly; undefined: there is none. */
  exceededBy(rights: HeldRights): Permission | undefined {
    const plain = rights.permissions.find(
      (permission) => !isTokenPermission(permission) || !this.#allows(permission, ROOT, IMPLICIT_TRANSFORM[permission]),
    );
    if (plain) return plain;
    const ruled = rights.rules.flatMap(({ permissions, scope, transform }) =>
      permissions.filter((permission) => !this.#allows(permission, reachOf(scope), transform)),
    );
    return ruled[0];
  }

  /** Whether every token below a container is within reach, and shown at least as openly by whichever rule decides. */
  #allows(permission: TokenPermission, reach: string, transform: Transform): boolean {
    for (const rule of this.rules) {
      if (!rule.permissions.includes(permission)) continue;
      const ownReach = reachOf(rule.scope);
      const covers = rule.scope.kind === "container" && reach.startsWith(ownReach);
      const overlaps = covers || ownReach.startsWith(reach) || reach.startsWith(ownReach);
      if (overlaps && CARE[rule.transform] < CARE[transform]) return false;
      if (covers) return true;
    }
    return this.#permissions.has(permission) && CARE[IMPLICIT_TRANSFORM[permission]] >= CARE[transform];
  }
}

const ROOT = "/";

function transformOnRoot({ scope, transform }: AccessRule): Transform | undefined {
  return scope.kind === "container" && scope.container === ROOT ? transform : undefined;
}

/** The container below which everything lies that a scope can match. */
function reachOf(scope: RuleScope): string {
  if (scope.kind === "container") return scope.container;
  const paths = scope.conditions
    .filter(({ attribute }) => attribute === "container")
    .map(({ value }) => value.toLowerCase());
  const reaches = paths.map((path) => parentOrSelf(path) ?? ROOT);
  return reaches.reduce((deepest, reach) => (reach.length > deepest.length ? reach : deepest), ROOT);
}

function matches(scope: RuleScope, token: TokenPlace): boolean {
  if (scope.kind === "container") return token.containers.some((container) => covers(scope.container, container));
  return scope.conditions.every((condition) => meets(condition, token));
}

function meets({ attribute, operator, value }: AccessCondition, token: TokenPlace): boolean {
  const subjects = attribute === "id" ? [token.id] : token.containers;
  const wanted = attribute === "id" ? value : value.toLowerCase();
  return subjects.some((subject) => (operator === "equals" ? subject === wanted : subject.startsWith(wanted)));
}

/** Why a caller was turned away: names the permission, and nothing of what it was for. */
export function refused(permission: Permission): Fault {
  return isTokenPermission(permission)
    ? new Fault("permission_denied", `No access rule of the key used allows ${permission} here.`)
    : permissionDenied(permission);
}
