import type { CallerTransaction } from "../access/caller-transaction.js";
import { ROLES, type Role } from "../access/role.js";
import { ANY_ENTITY_ID } from "../audit/log-entry.js";
import { invalid } from "../base/fault.js";

/** Every role but the OWNER's, which is given once, with the tenant. */
export const GIVEN_ROLES = ["ADMIN", "AUDITOR", "DEVELOPER"] as const satisfies readonly Role[];

/**
 * A role that can be given. Only OWNER, ADMIN and keys may give roles, so none of them is above the giver's.
 * @throws {Fault} validation_failed for any other text.
 */
export function requireGivenRole(text: string): Role {
  const role = GIVEN_ROLES.find((given) => given === text);
  if (role) return role;
  const expected = `must be one of ${GIVEN_ROLES.join(", ")}`;
  throw invalid("role", text === "OWNER" ? `${expected}: a tenant has one owner` : expected);
}

export async function namesOfRoles(tx: CallerTransaction): Promise<readonly Role[]> {
  tx.log("role", ANY_ENTITY_ID, "list");
  return ROLES;
}
