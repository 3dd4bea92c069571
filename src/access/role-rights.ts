import { Fault } from "../base/fault.js";
import type { AccessRights, AccessRule, Transform } from "./access-rule.js";
import { type Caller, personOf } from "./caller.js";
import { storedContainer } from "./container.js";
import { Grant } from "./grant.js";
import type { ApplicationType, Permission, TokenPermission } from "./permissions.js";
import { deniedWith } from "./refusal.js";
import { isAdministrator, type Role } from "./role.js";
import { secondFactorRequired } from "./second-factor.js";

const CHANGES = ["token:create", "token:update", "token:delete"] as const;
const READS = ["token:read", "token:search"] as const;
const MASKABLE = [...CHANGES, ...READS] as const;

/**
 * What people see of tokens: masked values at most. `token:use` lets them charge tokens and read payments; no operation
 * that people may call shows a value by it. Which operations they may call is a matter of the role, not of permissions.
 */
const GRANTS: Readonly<Record<Role, Grant>> = {
  OWNER: everywhere("mask", [...MASKABLE, "token:use"]),
  ADMIN: everywhere("mask", [...MASKABLE, "token:use"]),
  AUDITOR: everywhere("redact", [...READS, "token:use"]),
  DEVELOPER: new Grant({ permissions: [], rules: [] }),
};

export function grantOfRole(role: Role): Grant {
  return GRANTS[role];
}

/** The most that people can give an application without a second factor: otherwise the key would bypass their role. */
const GRANTABLE: Readonly<Record<Exclude<ApplicationType, "management">, Grant>> = {
  // Masks that a page's key writes to existing tokens have no effect.
  public: grantable(ruleOn("mask", MASKABLE)),
  // A back end that updates tokens with `mask` may write the mask by which it then reads them.
  private: grantable(ruleOn("redact", ["token:update"]), ruleOn("mask", ["token:create", "token:delete", ...READS])),
};

/**
 * Checks that the rights of an application do not exceed what its author may give.
 * @throws {Fault} second_factor_required, or permission_denied for a DEVELOPER, if a person gives an application that
 *   administers, reveals or uses values.
 */
export function requireGrantable({ principal }: Caller, type: ApplicationType, rights: AccessRights): void {
  if (principal.kind === "application" || canGrantAnyPermission({ principal })) return;
  const exceeded = type === "management" ? undefined : GRANTABLE[type].exceededBy(rights);
  if (type !== "management" && exceeded === undefined) return;
  const what =
    type === "management" ? "a management application" : `an application with ${exceeded}${limitOf(exceeded)}`;
  if (isAdministrator(principal.role)) throw secondFactorRequired(`Creating, changing or using ${what}`);
  throw new Fault(
    "permission_denied",
    `Your role ${principal.role} may not create, change or use ${what}; OWNER and ADMIN may, with a second factor.`,
  );
}

/** Whether a caller may give applications any rights, and code that acts as them: keys, and people with a second factor. */
export function canGrantAnyPermission({ principal }: Pick<Caller, "principal">): boolean {
  return (
    principal.kind === "application" || (isAdministrator(principal.role) && principal.secondFactorUntil !== undefined)
  );
}

const REVEAL = new Grant({ permissions: [], rules: [{ ...ruleOn("reveal", ["token:read"]), requiresReason: true }] });

/**
 * A person with the right to read one value in the clear, for a reason.
 * @throws {Fault} permission_denied unless the tenant's setting allows it.
 */
export function withRevealGrant(caller: Caller): Caller {
  if (caller.settings.reveal_to_people) return { ...caller, grant: REVEAL };
  const text = "Revealing values to people is off for this tenant; turn on reveal_to_people.";
  throw deniedWith(caller, new Fault("permission_denied", text), "tenant", caller.tenantId, "reveal_to_people is off");
}

/** By which rules people do not give a permission. Empty: by none. */
function limitOf(permission: Permission | undefined): string {
  if (permission === "token:update") return " by a rule other than redact";
  return MASKABLE.some((one) => one === permission) ? " by a rule that reveals" : "";
}

/**
 * Checks that a person may change or delete an entity, or make keys for it: a DEVELOPER only what the DEVELOPER created.
 * A caller of another member's proxy or reactor sends values to the destination configured in it.
 * @throws {Fault} permission_denied.
 */
export function requireOwn(caller: Caller, createdBy: string | null): void {
  if (caller.principal.kind === "application") return;
  const { role, userId } = personOf(caller);
  if (role !== "DEVELOPER" || createdBy === userId) return;
  throw new Fault(
    "permission_denied",
    "Your role DEVELOPER may only change, delete or make keys for what you created; OWNER and ADMIN may.",
  );
}

function everywhere(transform: Transform, permissions: readonly TokenPermission[]): Grant {
  return new Grant({ permissions: [], rules: [ruleOn(transform, permissions)] });
}

function grantable(...rules: readonly AccessRule[]): Grant {
  const permissions = [
    ...(["3ds:session:create", "3ds:session:read", "3ds:session:authenticate"] as const),
    "orchestration:transaction:capture" as const,
  ];
  return new Grant({ permissions, rules });
}

function ruleOn(transform: Transform, permissions: readonly TokenPermission[]): AccessRule {
  const scope = { kind: "container", container: storedContainer("/") } as const;
  return { description: undefined, priority: 1, scope, transform, permissions, requiresReason: false };
}
