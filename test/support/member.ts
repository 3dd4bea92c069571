import { inject } from "vitest";
import type { Role } from "../../src/access/role.js";
import { logEntry } from "../../src/audit/log-entry.js";
import { isTenantId, newUuid } from "../../src/base/ids.js";
import { writeLog } from "../../src/store/audit/audit-logs.js";
import { insertMember } from "../../src/store/people/members.js";
import { emailTerm, sealProfile } from "../../src/tenancy/profile.js";
import { type TestTenant, withVault } from "./tenant.js";

let members = 0;

/**
 * The address of a new member of a tenant on the shared server, created in this process: an invitation waits a second
 * for its message. test/e2e/invitation-page.test.ts goes that way.
 */
export async function newMember(tenant: TestTenant, role: Role = "ADMIN"): Promise<string> {
  const { id: tenantId } = tenant;
  if (!isTenantId(tenantId)) throw new Error("not the id of a tenant");
  members += 1;
  const email = `${role.toLowerCase()}-${members}-${tenantId.slice(-12)}@example.com`;
  await withVault(inject("serverEnvironment"), async ({ database, keyring }) => {
    const keys = await keyring.of(tenantId);
    await database.ordinary.run(tenantId, "unguarded", async (tx) => {
      const id = newUuid();
      tx.enqueue(insertMember, {
        ...{ id, user_id: newUuid(), role, created_by: null, email_term: emailTerm(keys, email) },
        profile: sealProfile(keys, tenantId, id, { email }, { role }),
      });
      writeLog(tx, logEntry(undefined, "member", id, "create"));
    });
  });
  return email;
}
