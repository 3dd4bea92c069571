import { prepareApplication } from "../access/applications.js";
import { mayHold, PERMISSIONS } from "../access/permissions.js";
import { firstHead } from "../audit/chain.js";
import { logEntry } from "../audit/log-entry.js";
import { newTenantId, newUuid, type TenantId, type Uuid } from "../base/ids.js";
import type { RootKey } from "../crypto/root-key.js";
import type { Sensitive } from "../crypto/sensitive.js";
import { generateTenantKeys, unwrapTenantKeys } from "../crypto/tenant-keys.js";
import { writeLog } from "../store/audit/audit-logs.js";
import { moveChainHead } from "../store/audit/audit-seals.js";
import type { Database } from "../store/database.js";
import { insertMember } from "../store/people/members.js";
import { DatabaseSetupError } from "../store/postgres/roles.js";
import { insertTenantKey, wrappingRootKey } from "../store/tenancy/tenant-keys.js";
import { insertTenant } from "../store/tenancy/tenants.js";
import { emailTerm, sealProfile } from "./profile.js";
import { DEFAULT_SETTINGS } from "./settings.js";

/** A tenant that was just created. The key is shown once. */
export interface ProvisionedTenant {
  readonly tenantId: TenantId;
  readonly applicationId: Uuid;
  /** The owner. */
  readonly memberId: Uuid;
  readonly managementKey: Sensitive<string>;
}

/**
 * Creates a tenant with its keys, its owner as a member, and a management application with all permissions of its type.
 */
export async function provisionTenant(
  database: Database,
  root: RootKey,
  { name, ownerEmail }: { readonly name: string; readonly ownerEmail: string },
): Promise<ProvisionedTenant> {
  const tenantId = newTenantId();
  const wrapped = await generateTenantKeys(root, tenantId);
  const { keys } = await unwrapTenantKeys({ find: async () => root }, tenantId, wrapped);
  const ownerId = newUuid();
  const memberId = newUuid();
  const permissions = PERMISSIONS.map(({ permission }) => permission).filter((permission) =>
    mayHold("management", permission),
  );
  const makeApplication = prepareApplication(
    keys,
    undefined,
    "management",
    { name: "Management", permissions, rules: [] },
    true,
  );

  const application = await database.ordinary.run(tenantId, "unguarded", async (tx) => {
    if ((await tx.query(wrappingRootKey, "wrapping")) !== root.id) {
      throw new DatabaseSetupError("The root key was replaced meanwhile. Run this again, with the new one.");
    }
    tx.enqueue(insertTenant, { name, owner_id: ownerId, settings: { ...DEFAULT_SETTINGS } });
    for (const { purpose, version, wrapped: bytes, rootKeyId, state } of wrapped) {
      tx.enqueue(insertTenantKey, { purpose, version, wrapped: Buffer.from(bytes), root_key_id: rootKeyId, state });
    }
    tx.enqueue(insertMember, {
      id: memberId,
      user_id: ownerId,
      role: "OWNER",
      profile: sealProfile(keys, tenantId, memberId, { email: ownerEmail }, { role: "OWNER" }),
      email_term: emailTerm(keys, ownerEmail),
      created_by: null,
    });
    // An attacker who deletes a tenant's seals must also delete the head of its chain, and a tenant without one
    // is detected.
    tx.enqueue(moveChainHead, { before: undefined, head: firstHead(keys, tenantId) });
    writeLog(tx, logEntry(undefined, "tenant", tenantId, "create"));
    writeLog(tx, logEntry(undefined, "member", memberId, "create"));
    return makeApplication(tx);
  });
  if (!application.key) throw new Error("the management application has no key");
  return { tenantId, memberId, applicationId: application.made.id, managementKey: application.key };
}
