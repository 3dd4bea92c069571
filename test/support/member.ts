import { inject } from "vitest";
import type { ContainerPath } from "../../src/access/container.js";
import type { Role } from "../../src/access/role.js";
import { logEntry } from "../../src/audit/log-entry.js";
import { isTenantId, newUuid } from "../../src/base/ids.js";
import { writeLog } from "../../src/store/audit/audit-logs.js";
import { insertMember } from "../../src/store/people/members.js";
import { emailTerm, sealProfile } from "../../src/tenancy/profile.js";
import { type TestTenant, withVault } from "./tenant.js";

let members = 0;

/**
 * The address of a new member of a tenant, by default on the shared server, created in this process: an invitation waits a second
 * for its message. test/e2e/people/invitation-page.test.ts goes that way.
 */
export async function newMember(
  tenant: TestTenant,
  role: Role = "ADMIN",
  environment: Readonly<Record<string, string>> = inject("serverEnvironment"),
  containers: readonly ContainerPath[] = [],
): Promise<string> {
  const { id: tenantId } = tenant;
  if (!isTenantId(tenantId)) throw new Error("not the id of a tenant");
  members += 1;
  const email = `${role.toLowerCase()}-${members}-${tenantId.slice(-12)}@example.com`;
  await withVault(environment, async ({ database, keyring }) => {
    const keys = await keyring.of(tenantId);
    await database.of(tenantId).ordinary(async (tx) => {
      const place = { id: newUuid(), user_id: newUuid(), created_by: null };
      tx.enqueue(insertMember, {
        ...{ ...place, role, email_term: emailTerm(keys, email) },
        profile: sealProfile(keys, place, { email }, { role, containers }),
      });
      writeLog(tx, logEntry("member", place.id, "create"));
    });
  });
  return email;
}
