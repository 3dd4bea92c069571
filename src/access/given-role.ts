import type { Caller } from "./caller.js";
import type { ContainerPath } from "./container.js";
import { type Deed, powerRefusal, powersInRole } from "./power.js";
import { callingEntity, deniedWith } from "./refusal.js";
import type { Role } from "./role.js";

/** A role, and the containers in which a DEVELOPER may give applications more than token:create. */
export interface GivenRole {
  readonly role: Role;
  readonly containers: readonly ContainerPath[];
}

/**
 * Checks that a caller may give a role, by an invitation or a change: it must hold at this moment all that a member with
 * the role can ever hold.
 * @throws {Denied} second_factor_required or permission_denied.
 */
export function requireMayGiveRole(caller: Caller, { role, containers }: GivenRole): void {
  requireDeed(caller, {
    needs: ["invite", ...powersInRole(role)],
    doing: `Giving the role ${role}`,
    act: `give the role ${role}`,
  });
  if (containers.length === 0) return;
  requireDeed(caller, { needs: ["administer"], doing: "Assigning containers", act: "assign containers" });
}

/**
 * Checks that a person may take a role from a member: by a change, a removal, or a reset of the member's passkeys. A key
 * needs no more than the permission of the operation.
 * @throws {Denied} second_factor_required or permission_denied.
 */
export function requireMayTakeRole(caller: Caller, role: Role, what: string): void {
  if (caller.principal.kind === "application") return;
  const needs = ["invite", ...powersInRole(role)] as const;
  requireDeed(caller, {
    needs,
    doing: `${what} a member with the role ${role}`,
    act: `change members with the role ${role}`,
  });
}

function requireDeed(caller: Caller, deed: Deed): void {
  const refusal = powerRefusal(caller, deed);
  if (refusal) throw deniedWith(caller, refusal, deed.act, callingEntity(caller));
}
