import { Fault, permissionDenied } from "../base/fault.js";
import type { AccessCondition, AccessRule, HeldRights, RuleScope, Transform } from "./access-rule.js";
import { type ContainerPath, covers } from "./container.js";
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

/** The rights of one caller. */
export class Grant {
  readonly #permissions: ReadonlySet<Permission>;
  /** By rising priority. */
  readonly rules: readonly AccessRule[];

  constructor({ permissions, rules }: HeldRights) {
    this.#permissions = new Set(permissions);
    this.rules = rules;
  }

  get permissions(): readonly Permission[] {
    return [...this.#permissions];
  }

  /** Whether the permission is held for anything at all. */
  holds(permission: Permission): boolean {
    return (
      this.#permissions.has(permission) ||
      this.rules.some(({ permissions }) => permissions.some((granted) => granted === permission))
    );
  }

  /**
   * What the caller may see of an existing token with this permission, or undefined when it may not touch it. The first
   * rule by priority that has the permission and covers one of the token's containers decides.
   */
  transformFor(permission: TokenPermission, token: TokenPlace): Transform | undefined {
    const rule = this.rules.find(({ permissions, scope }) => permissions.includes(permission) && matches(scope, token));
    if (rule) return rule.transform;
    return this.#permissions.has(permission) ? IMPLICIT_TRANSFORM[permission] : undefined;
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
      if (careful === undefined || CARE[transform] < CARE[careful]) careful = transform;
    }
    return careful;
  }
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

export function refused(permission: Permission): Fault {
  return isTokenPermission(permission)
    ? new Fault("permission_denied", `No access rule of the key used allows ${permission} here.`)
    : permissionDenied(permission);
}
