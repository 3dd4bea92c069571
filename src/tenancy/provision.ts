import { prepareApplication } from "../access/applications.js";
import { mayHold, PERMISSIONS } from "../access/permissions.js";
import { firstHead } from "../audit/chain/chain.js";
import { asServer } from "../audit/tenant-database.js";
import { newTenantId, newUuid, type TenantId, type Uuid } from "../base/ids.js";
import type { RootKey } from "../crypto/root-key.js";
import type { Sensitive } from "../crypto/sensitive.js";
import { generateTenantKeys, unwrapTenantKeys } from "../crypto/tenant-keys.js";
import { moveChainHead } from "../store/audit/audit-seals.js";
import type { Database } from "../store/database.js";
import { insertMember } from "../store/people/members.js";
import { DatabaseSetupError } from "../store/postgres/roles.js";
import { insertTenantKey, wrappingRootKey } from "../store/tenancy/tenant-keys.js";
import { insertTenant } from "../store/tenancy/tenants.js";
import type { Keyring } from "./keyring.js";
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

export interface ProvisioningParts {
  readonly database: Database;
  readonly rootKey: RootKey;
  readonly keyring: Pick<Keyring, "keyMark">;
}

/**
 * Creates a tenant with its keys, its owner as a member, and a management application with all permissions of its type.
 */
export async function provisionTenant(
  { database, rootKey: root, keyring }: ProvisioningParts,
  { name, ownerEmail }: { readonly name: string; readonly ownerEmail: string },
): Promise<ProvisionedTenant> {
  const tenantId = newTenantId();
  const wrapped = await generateTenantKeys(root, tenantId);
  const unwrapped = await unwrapTenantKeys({ find: async () => root }, tenantId, wrapped);
  const keys = { ...unwrapped.keys, keyMark: await keyring.keyMark() };
  const ownerId = newUuid();
  const memberId = newUuid();
  const owner = { id: memberId, user_id: ownerId, created_by: null };
  const permissions = PERMISSIONS.map(({ permission }) => permission).filter((permission) =>
    mayHold("management", permission),
  );
  const makeApplication = prepareApplication("management", { name: "Management", permissions, rules: [] }, true);

  const application = await asServer(database, keys).ordinary(async (tx) => {
    if ((await tx.query(wrappingRootKey, "wrapping")) !== root.id) {
      throw new DatabaseSetupError("The root key was replaced meanwhile. Run this again, with the new one.");
    }
    tx.enqueue(insertTenant, { name, owner_id: ownerId, settings: { ...DEFAULT_SETTINGS } });
    for (const { purpose, version, wrapped: bytes, rootKeyId, state } of wrapped) {
      tx.enqueue(insertTenantKey, { purpose, version, wrapped: Buffer.from(bytes), root_key_id: rootKeyId, state });
    }
    tx.enqueue(insertMember, {
      ...owner,
      role: "OWNER",
      profile: sealProfile(keys, owner, { email: ownerEmail }, { role: "OWNER" }),
      email_term: emailTerm(keys, ownerEmail),
    });
    // An attacker who deletes a tenant's seals must also delete the head of its chain, and a tenant without one
    // is detected.
    tx.enqueue(moveChainHead, { before: undefined, head: firstHead(keys) });
    tx.log("tenant", tenantId, "create");
    tx.log("member", memberId, "create");
    return makeApplication(tx);
  });
  if (!application.key) throw new Error("the management application has no key");
  return { tenantId, memberId, applicationId: application.made.id, managementKey: application.key };
}
