import { describe, expect, it } from "vitest";
import type { AccessRights } from "../../../src/access/access-rule.js";
import type { Caller } from "../../../src/access/caller.js";
import { storedContainer } from "../../../src/access/container.js";
import { requireMayGiveRole, requireMayTakeRole } from "../../../src/access/given-role.js";
import { type ApplicationType, mayHold, PERMISSIONS, TOKEN_PERMISSIONS } from "../../../src/access/permissions.js";
import { heldPowers } from "../../../src/access/power.js";
import { Denied } from "../../../src/access/refusal.js";
import { ROLES, type Role } from "../../../src/access/role.js";
import { exceedsRole, requireGrantable } from "../../../src/access/role-rights.js";
import { Fault } from "../../../src/base/fault.js";
import { SERVICES } from "../../../src/server/served-services.js";
import { allowedOperations } from "../../../src/services/method-roles.js";
import { applicationCaller, personCaller } from "../../support/caller.js";
import { allowedFor, heldWith } from "./held.js";
import { STARTS } from "./starts.js";

/** A member or a key that somebody controls. */
type Controlled =
  | { readonly kind: "person"; readonly role: Role; readonly containers: readonly string[]; readonly isStrong: boolean }
  | { readonly kind: "key"; readonly type: ApplicationType; readonly rights: AccessRights };

/** All rights of one rule, all single permissions, and all permissions of keys that administer at once. */
const RIGHTS: readonly (readonly [ApplicationType, AccessRights])[] = (["public", "private"] as const)
  .flatMap((type) => [
    ...["/", "/pci/", "/test/"].flatMap((path) =>
      (["redact", "mask", "reveal"] as const).flatMap((transform) =>
        TOKEN_PERMISSIONS.map((permission): readonly [ApplicationType, AccessRights] => {
          const scope = { kind: "container", container: storedContainer(path) } as const;
          const rule = { description: undefined, priority: 1, scope, transform, requiresReason: false };
          return [type, { permissions: [], rules: [{ ...rule, permissions: [permission] }] }];
        }),
      ),
    ),
    ...permissionsFor(type),
  ])
  .concat(permissionsFor("management"), [["management", { permissions: managing(), rules: [] }]]);

function managing() {
  return PERMISSIONS.map(({ permission }) => permission).filter((permission) => mayHold("management", permission));
}

function permissionsFor(type: ApplicationType): (readonly [ApplicationType, AccessRights])[] {
  return PERMISSIONS.filter(({ permission }) => mayHold(type, permission)).map(({ permission }) => [
    type,
    { permissions: [permission], rules: [] },
  ]);
}

const ASSIGNED = [[], ["/test/"], ["/pci/"]];
const isAllowed = (run: () => void): boolean => {
  try {
    run();
    return true;
  } catch (error) {
    if (error instanceof Fault || error instanceof Denied) return false;
    throw error;
  }
};
const stored = (containers: readonly string[]) => containers.map(storedContainer);

function callerOf(controlled: Controlled): Caller {
  if (controlled.kind === "key") return applicationCaller(controlled.rights, controlled.type);
  const { role, containers, isStrong } = controlled;
  return personCaller(role, { hasSecondFactor: isStrong, containers: stored(containers) });
}

/** Whether the policy of an operation lets a caller try it: a person by its role, a key by a permission. */
function mayTry(
  { principal, grant }: Caller,
  operation: string,
  permission: (typeof PERMISSIONS)[number]["permission"],
) {
  if (principal.kind === "application") return grant.holds(permission);
  return allowedOperations(principal.role, SERVICES).includes(operation);
}

/** All that one step gives somebody, where others are controlled as well. */
function* gainsOf(by: Controlled, all: readonly Controlled[]): Generator<Controlled> {
  const caller = callerOf(by);
  const mayInvite = mayTry(caller, "InvitationService/CreateInvitation", "tenant:invitation:create");
  const mayUpdate = mayTry(caller, "MemberService/UpdateMember", "tenant:member:update");
  for (const role of ROLES.filter((one) => one !== "OWNER")) {
    for (const containers of role === "DEVELOPER" ? ASSIGNED : [[]]) {
      const member = { kind: "person", role, containers } as const;
      const mayGive = isAllowed(() => requireMayGiveRole(caller, { role, containers: stored(containers) }));
      if (mayInvite && mayGive) yield { ...member, isStrong: false };
      if (!mayUpdate || !mayGive) continue;
      for (const other of all) {
        if (other.kind !== "person" || !isAllowed(() => requireMayTakeRole(caller, other.role, "Changing"))) continue;
        yield { ...member, isStrong: other.isStrong };
      }
    }
  }
  // Somebody who may confirm a passkey makes each member strong.
  if (heldPowers(caller).has("own")) {
    for (const other of all) if (other.kind === "person") yield { ...other, isStrong: true };
  }
  if (!mayTry(caller, "ApplicationService/CreateApplication", "application:create")) return;
  for (const [type, rights] of RIGHTS) {
    if (isAllowed(() => requireGrantable(caller, type, rights))) yield { kind: "key", type, rights };
  }
}

/** Everybody and everything that can be controlled after steps of any number: they only ever add. */
function closureOf(start: Controlled): readonly Controlled[] {
  const found = new Map([[JSON.stringify(start), start]]);
  for (let size = 0; size < found.size; ) {
    size = found.size;
    const all = [...found.values()];
    for (const by of all) {
      for (const gained of gainsOf(by, all)) {
        const key = JSON.stringify(gained);
        if (!found.has(key)) found.set(key, gained);
      }
    }
  }
  return [...found.values()];
}

const ROLE_HOLDS: Readonly<Record<Role, readonly string[]>> = {
  OWNER: ["logs", "members", "redacted", "build", "invite", "masked", "delete"],
  ADMIN: ["logs", "members", "redacted", "build", "invite", "masked", "delete"],
  AUDITOR: ["logs", "members", "redacted"],
  DEVELOPER: ["build"],
};

function heldBy(controlled: Controlled): readonly string[] {
  if (controlled.kind === "key") return heldWith(controlled.type, controlled.rights);
  const { role, isStrong } = controlled;
  return [...ROLE_HOLDS[role], ...(isStrong && (role === "OWNER" || role === "ADMIN") ? ["reveal", "reset"] : [])];
}

/**
 * The decisions of the server about roles and rights, followed in this process until nothing is gained: chains of any
 * length. chains.test.ts tries the same over HTTP, with proxies, code and keys of others, in chains of two and some of three.
 */
describe.each(STARTS.map((start) => [JSON.stringify(start), start] as const))("%s", (_, start) => {
  it("gains nothing by members, roles, applications and keys, in any number of steps", () => {
    const { role, containers, hasSecondFactor: isStrong } = start;
    const all = closureOf({ kind: "person", role, containers, isStrong });
    const isAllowedTo = allowedFor(start);
    // What shows less than is allowed gives nothing.
    const isWithin = (held: string) => isAllowedTo(held) || isAllowedTo(held.replace(" redact ", " mask "));
    const gained = all.filter((controlled) => heldBy(controlled).some((held) => !isWithin(held)));
    expect(gained.map((controlled) => JSON.stringify(controlled))).toEqual([]);
    // All roles that may build have keys, so the search found something.
    expect(all.length > 1).toBe(role !== "AUDITOR");
  });

  it("has no keys that a member of the role may not give", () => {
    const { role, containers, hasSecondFactor: isStrong } = start;
    for (const controlled of closureOf({ kind: "person", role, containers, isStrong })) {
      if (controlled.kind !== "key") continue;
      expect(exceedsRole(role, stored(containers), controlled.type, controlled.rights)).toBeUndefined();
    }
  });
});
