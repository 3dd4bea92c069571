import { Fault } from "../base/fault.js";
import type { AccessRule, HeldRights, Transform } from "./access-rule.js";
import { type Caller, personOf } from "./caller.js";
import { storedContainer } from "./container.js";
import { Grant } from "./grant.js";
import type { ApplicationType, TokenPermission } from "./permissions.js";
import type { Role } from "./role.js";

const CHANGES = ["token:create", "token:update", "token:delete"] as const;
const READS = ["token:read", "token:search"] as const;

/**
 * What people see of tokens: masked values at most. `token:use` lets them charge tokens and read payments; no operation
 * that people may call shows a value by it. Which operations they may call is a matter of the role, not of permissions.
 */
const GRANTS: Readonly<Record<Role, Grant>> = {
  OWNER: everywhere("mask", [...CHANGES, ...READS, "token:use"]),
  ADMIN: everywhere("mask", [...CHANGES, ...READS, "token:use"]),
  AUDITOR: everywhere("redact", [...READS, "token:use"]),
  DEVELOPER: new Grant({ permissions: [], rules: [] }),
};

export function grantOfRole(role: Role): Grant {
  return GRANTS[role];
}

/** The most that people can give an application without a second factor: its key is a way around their role. */
const GRANTABLE = new Grant({
  permissions: [
    ...(["3ds:session:create", "3ds:session:read", "3ds:session:authenticate"] as const),
    "orchestration:transaction:capture",
  ],
  rules: [ruleOn("mask", [...CHANGES, ...READS])],
});

/**
 * Checks that the rights of an application do not exceed what its author may give.
 * @throws {Fault} permission_denied for a person and an application that administers, reveals or uses values.
 */
export function requireGrantable({ principal }: Caller, type: ApplicationType, rights: HeldRights): void {
  if (principal.kind === "application") return;
  const isManagement = type === "management";
  const exceeded = isManagement ? undefined : GRANTABLE.exceededBy(rights);
  if (!isManagement && exceeded === undefined) return;
  const what = isManagement ? "a management application" : `an application with ${exceeded} that is not masked`;
  throw new Fault(
    "permission_denied",
    `People may not create, change or use ${what} without a second factor. Use a management key.`,
  );
}

/**
 * Checks that a person may delete an entity, or make keys for it: a DEVELOPER only what the DEVELOPER created.
 * @throws {Fault} permission_denied.
 */
export function requireOwn(caller: Caller, createdBy: string | null): void {
  if (caller.principal.kind === "application") return;
  const { role, userId } = personOf(caller);
  if (role !== "DEVELOPER" || createdBy === userId) return;
  throw new Fault(
    "permission_denied",
    "Your role DEVELOPER may only delete, or make keys for, what you created; OWNER and ADMIN may.",
  );
}

function everywhere(transform: Transform, permissions: readonly TokenPermission[]): Grant {
  return new Grant({ permissions: [], rules: [ruleOn(transform, permissions)] });
}

function ruleOn(transform: Transform, permissions: readonly TokenPermission[]): AccessRule {
  const scope = { kind: "container", container: storedContainer("/") } as const;
  return { description: undefined, priority: 1, scope, transform, permissions, requiresReason: false };
}
