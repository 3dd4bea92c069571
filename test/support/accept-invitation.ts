import { inject } from "vitest";
import { newSecret } from "../../src/access/secret-text.js";
import { EMPTY_CONTEXT } from "../../src/audit/audit-context.js";
import type { Clock } from "../../src/base/clock.js";
import type { TenantId, Uuid } from "../../src/base/ids.js";
import { addLink } from "../../src/store/people/invitation-links.js";
import { InvitationAcceptance } from "../../src/tenancy/accept-invitation.js";
import type { Vault } from "../../src/vault/vault.js";
import { withVault } from "./tenant.js";

/** Accepts an invitation in this process, without waiting for its mail. */
export function acceptInvitation(
  tenantId: TenantId,
  id: Uuid,
  environment: Readonly<Record<string, string>> = inject("serverEnvironment"),
  clock?: Clock,
): Promise<void> {
  const accept = async ({ database, tenants }: Vault) => {
    const { text, hash } = newSecret("inv", tenantId, id);
    await database.of(tenantId).ordinary((tx) => tx.query(addLink, { id, hash, revision: 1 }));
    await new InvitationAcceptance(tenants).accept(text.reveal(), {}, EMPTY_CONTEXT);
  };
  return withVault(environment, accept, clock);
}
