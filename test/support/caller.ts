import type { AccessRights } from "../../src/access/access-rule.js";
import type { Caller, PersonPrincipal } from "../../src/access/caller.js";
import type { ContainerPath } from "../../src/access/container.js";
import { Grant } from "../../src/access/grant.js";
import type { ApplicationType } from "../../src/access/permissions.js";
import type { Role } from "../../src/access/role.js";
import { EMPTY_CONTEXT } from "../../src/audit/audit-context.js";
import { newTenantId, newUuid } from "../../src/base/ids.js";
import { DEFAULT_SETTINGS } from "../../src/tenancy/settings.js";

/** An application with these rights as the author of a request, without a server. */
export function applicationCaller(rights: AccessRights, type: ApplicationType = "private"): Caller {
  return {
    tenantId: newTenantId(),
    principal: { kind: "application", id: newUuid(), type },
    keyId: newUuid(),
    session: undefined,
    grant: new Grant(rights),
    settings: DEFAULT_SETTINGS,
    eventTypes: [],
    revision: 1,
    context: EMPTY_CONTEXT,
  };
}

/** A signed-in person as the author of a request. */
export function personCaller(
  role: Role,
  {
    hasSecondFactor = false,
    containers = [],
  }: { hasSecondFactor?: boolean; containers?: readonly ContainerPath[] } = {},
): Caller & { principal: PersonPrincipal } {
  return {
    ...applicationCaller({ permissions: [], rules: [] }),
    keyId: undefined,
    principal: {
      kind: "person",
      ...{ memberId: newUuid(), userId: newUuid(), signInId: newUuid(), role, containers },
      secondFactorUntil: hasSecondFactor ? new Date(8_000_000_000_000) : undefined,
    },
  };
}
