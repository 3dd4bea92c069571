import { Fault } from "../base/fault.js";
import type { Caller, PersonPrincipal } from "./caller.js";
import { mayHold, PERMISSIONS, type Permission } from "./permissions.js";
import { ROLES, type Role } from "./role.js";
import { secondFactorRequired } from "./second-factor.js";

/**
 * The parts of power. A caller that gives something must hold, at that moment, every part that it carries: the table below
 * decides about invitations, role changes, removals, resets of passkeys, applications, keys, code that acts as an
 * application, and settings.
 *
 * - `read`: the log, members and configuration, of tokens no value.
 * - `build`: applications that create tokens, proxies, reactors.
 * - `handle`: masked tokens, their changes, charges.
 * - `invite`: members and invitations.
 * - `administer`: applications with any rights, values in the clear, connections, administrators, assigned containers.
 * - `own`: the tenant itself, and the word that a passkey is its member's.
 */
const POWERS = ["read", "build", "handle", "invite", "administer", "own"] as const;
export type Power = (typeof POWERS)[number];

interface RolePower {
  readonly always: readonly Power[];
  /** Held besides while a second factor counts. */
  readonly withSecondFactor: readonly Power[];
}

const POWER_OF_ROLE: Readonly<Record<Role, RolePower>> = {
  OWNER: { always: ["read", "build", "handle", "invite"], withSecondFactor: ["administer", "own"] },
  ADMIN: { always: ["read", "build", "handle", "invite"], withSecondFactor: ["administer"] },
  AUDITOR: { always: ["read"], withSecondFactor: [] },
  DEVELOPER: { always: ["build"], withSecondFactor: [] },
};

/** Everything that a member of a role can ever hold, which is what giving the role gives. */
export function powersInRole(role: Role): readonly Power[] {
  const { always, withSecondFactor } = POWER_OF_ROLE[role];
  return [...always, ...withSecondFactor];
}

/**
 * The permissions with which a key holds a power. Keys of management applications hold no other rights. Inviting needs no
 * more than the permission of the operation.
 */
const PERMISSIONS_OF_POWER: Readonly<Record<Power, readonly Permission[]>> = {
  read: permissionsThat((name) => /:(?:read|connection_formulas|connections:update)$/.test(name)),
  build: permissionsThat((name) => /^(?:application|reactor|proxy):/.test(name)),
  handle: permissionsThat((name) => name.startsWith("application:")),
  invite: [],
  administer: permissionsThat((name) => name !== "tenant:delete"),
  own: permissionsThat(() => true),
};

function permissionsThat(isPart: (name: Permission) => boolean): readonly Permission[] {
  const all = PERMISSIONS.map(({ permission }) => permission);
  return all.filter((permission) => mayHold("management", permission) && isPart(permission));
}

export function heldPowers({ principal, grant }: Pick<Caller, "principal" | "grant">): ReadonlySet<Power> {
  if (principal.kind === "person") return powersOfPerson(principal);
  const holdsAll = (power: Power) => PERMISSIONS_OF_POWER[power].every((permission) => grant.holds(permission));
  return new Set(POWERS.filter(holdsAll));
}

function powersOfPerson({ role, secondFactorUntil }: PersonPrincipal): ReadonlySet<Power> {
  return new Set(secondFactorUntil ? powersInRole(role) : POWER_OF_ROLE[role].always);
}

export interface Deed {
  /** The powers that it carries. */
  readonly needs: readonly Power[];
  /** The beginning of a sentence, such as "Giving the role ADMIN". */
  readonly doing: string;
  /** The same after "may not", such as "give the role ADMIN". */
  readonly act: string;
}

type Holder = Pick<Caller, "principal" | "grant">;

/** Why a caller lacks the power for something; undefined: it has the power. */
export function powerRefusal(caller: Holder, { needs, doing, act }: Deed): Fault | undefined {
  const held = heldPowers(caller);
  const lacking = needs.filter((power) => !held.has(power));
  if (lacking.length === 0) return undefined;
  const { principal, grant } = caller;
  if (principal.kind === "application") {
    const permissions = new Set(lacking.flatMap((power) => PERMISSIONS_OF_POWER[power]));
    const missing = [...permissions].filter((permission) => !grant.holds(permission));
    return new Fault(
      "permission_denied",
      `${doing} needs a key that holds as much; this one lacks ${missing.join(", ")}.`,
    );
  }
  if (needs.every((power) => powersInRole(principal.role).includes(power))) return secondFactorRequired(doing);
  const [who, how] = [
    ROLES.filter((role) => holdsEver(role, needs)),
    isProtected(needs) ? ", with a second factor" : "",
  ];
  return new Fault("permission_denied", `Your role ${principal.role} may not ${act}; ${who.join(" and ")} may${how}.`);
}

/** @throws {Fault} second_factor_required if a second factor would give the caller the power, otherwise permission_denied. */
export function requirePower(caller: Holder, deed: Deed): void {
  const refusal = powerRefusal(caller, deed);
  if (refusal) throw refusal;
}

function holdsEver(role: Role, needs: readonly Power[]): boolean {
  return needs.every((power) => powersInRole(role).includes(power));
}

function isProtected(needs: readonly Power[]): boolean {
  return needs.some((power) => power === "administer" || power === "own");
}
