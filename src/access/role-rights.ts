import { Fault } from "../base/fault.js";
import type { AccessRights, AccessRule, Transform } from "./access-rule.js";
import { type Caller, callingPerson } from "./caller.js";
import { type ContainerPath, storedContainer } from "./container.js";
import { Grant } from "./grant.js";
import { type ApplicationType, PERMISSIONS, type Permission, type TokenPermission } from "./permissions.js";
import { heldPowers, type Power, powersInRole, requirePower } from "./power.js";
import { deniedWith } from "./refusal.js";
import type { Role } from "./role.js";

const ROOT = storedContainer("/");
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

/** What can be given without a second factor. `token:search` finds data, and each match confirms a guess of it. */
const GIVEN = [...CHANGES, "token:read"] as const;

/** The most that a person with a power gives a public or private application. */
const GRANTABLE = {
  handle: {
    // Masks that a page's key writes to existing tokens have no effect.
    public: grantable(ruleOn("mask", GIVEN)),
    // A back end that updates tokens with `mask` may write the mask by which it then reads them.
    private: grantable(
      ruleOn("redact", ["token:update"]),
      ruleOn("mask", ["token:create", "token:delete", "token:read"]),
    ),
  },
  build: {
    public: (containers: readonly ContainerPath[]) => [
      ruleOn("mask", ["token:create"]),
      ...containers.map((container) => ruleOn("mask", GIVEN, container)),
    ],
    private: (containers: readonly ContainerPath[]) => [
      ruleOn("mask", ["token:create"]),
      ...containers.flatMap((container) => [
        ruleOn("redact", ["token:update"], container),
        ruleOn("mask", ["token:delete", "token:read"], container),
      ]),
    ],
  },
} as const;

/** The most that a caller gives an application of a type; undefined: all that the type can have. */
function mostGrantable(caller: Holder, type: ApplicationType): Grant | undefined {
  const { principal, grant } = caller;
  if (principal.kind === "application") {
    // The right to make applications is the right to give them rights on tokens, which no such key has itself.
    return type === "management" ? new Grant({ permissions: grant.permissions, rules: [] }) : undefined;
  }
  return mostGrantableWith(heldPowers(caller), principal.containers, type);
}

function mostGrantableWith(
  held: ReadonlySet<Power>,
  containers: readonly ContainerPath[],
  type: ApplicationType,
): Grant | undefined {
  if (type === "management") return held.has("own") ? undefined : held.has("administer") ? ADMINISTRATION : NOTHING;
  if (held.has("administer")) return undefined;
  if (held.has("handle")) return GRANTABLE.handle[type];
  if (!held.has("build")) return NOTHING;
  return new Grant({ permissions: [], rules: GRANTABLE.build[type](containers) });
}

type Holder = Pick<Caller, "principal" | "grant">;

const NOTHING = new Grant({ permissions: [], rules: [] });
const OWNING = "tenant:delete" satisfies Permission;
/** What an ADMIN gives a management application: all that an ADMIN may do. */
const ADMINISTRATION = new Grant({
  permissions: PERMISSIONS.map(({ permission }) => permission).filter((permission) => permission !== OWNING),
  rules: [],
});

/**
 * Checks that the rights of an application do not exceed what a caller may give at this moment.
 * @throws {Fault} second_factor_required, or permission_denied for whom a second factor does not help.
 */
export function requireGrantable(caller: Holder, type: ApplicationType, rights: AccessRights): void {
  const { principal } = caller;
  const most = mostGrantable(caller, type);
  const exceeded = most?.exceededBy(rights);
  if (exceeded === undefined) return;
  if (principal.kind === "application") {
    throw new Fault(
      "permission_denied",
      `The key used may neither give nor take ${exceeded}, which it does not hold itself.`,
    );
  }
  const isOwning = type === "management" && rights.permissions.includes(OWNING);
  const what =
    type === "management"
      ? `a management application${isOwning ? ` with ${OWNING}` : ""}`
      : `an application with ${exceeded}${limitOf(principal.role, exceeded)}`;
  const needs = isOwning ? (["own"] as const) : (["administer"] as const);
  requirePower(caller, {
    needs,
    doing: `Creating, changing, deleting or using ${what}`,
    act: `create, change, delete or use ${what}`,
  });
}

/**
 * The first permission by which an application's rights exceed what a member of a role can ever give; undefined: none does.
 * @param containers those assigned to the member.
 */
export function exceedsRole(
  role: Role,
  containers: readonly ContainerPath[],
  type: ApplicationType,
  rights: AccessRights,
): Permission | undefined {
  return mostGrantableWith(new Set(powersInRole(role)), containers, type)?.exceededBy(rights);
}

const REVEAL = new Grant({ permissions: [], rules: [{ ...ruleOn("reveal", ["token:read"]), requiresReason: true }] });

/**
 * A person with the right to read one value in the clear, for a reason.
 * @throws {Fault} permission_denied unless the tenant's setting allows it.
 */
export function withRevealGrant(caller: Caller): Caller {
  if (caller.settings.reveal_to_people) return { ...caller, grant: REVEAL };
  const text = "Revealing values to people is off for this tenant; turn on reveal_to_people.";
  const tenant = { type: "tenant", id: caller.tenantId } as const;
  throw deniedWith(caller, new Fault("permission_denied", text), "reveal_to_people is off", tenant);
}

/** Where or by which rules a person of a role does not give a permission. Empty: nowhere. */
function limitOf(role: Role, permission: Permission | undefined): string {
  const isMaskable = GIVEN.some((one) => one === permission);
  if (role === "DEVELOPER" && isMaskable && permission !== "token:create") {
    return " outside of the containers assigned to you, or by a rule that shows more than there";
  }
  if (permission === "token:update") return " by a rule other than redact";
  return isMaskable ? " by a rule that reveals" : "";
}

/**
 * Checks that a person may change or delete an entity, or make keys for it: a DEVELOPER only what the DEVELOPER created.
 * A caller of another member's proxy or reactor sends values to the destination configured in it.
 * @throws {Fault} permission_denied.
 */
export function requireOwn(caller: Caller, createdBy: string | null): void {
  if (caller.principal.kind === "application") return;
  const { role, userId } = callingPerson(caller);
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
  const permissions = ["3ds:session:create", "3ds:session:read", "3ds:session:authenticate"] as const;
  return new Grant({ permissions, rules });
}

function ruleOn(transform: Transform, permissions: readonly TokenPermission[], container = ROOT): AccessRule {
  const scope = { kind: "container", container } as const;
  return { description: undefined, priority: 1, scope, transform, permissions, requiresReason: false };
}
