import { actorOf, type Caller } from "../access/caller.js";
import { ALL, logEntry } from "../audit/log-entry.js";
import { invalid } from "../base/fault.js";
import { writeLog } from "../store/audit-logs.js";
import type { Transaction } from "../store/transaction.js";

/** The roles of members. Both have full access; the owner is created with the tenant and is permanent. */
export const ROLES = ["OWNER", "ADMIN"] as const;
export type Role = (typeof ROLES)[number];

export function isRole(text: string): text is Role {
  return ROLES.some((role) => role === text);
}

/** @throws {Fault} validation_failed for any text but a role that can be assigned. */
export function requireGivenRole(text: string): Role {
  if (text === "ADMIN") return text;
  throw invalid("role", text === "OWNER" ? "must be ADMIN: a tenant has one owner" : "must be ADMIN");
}

export async function namesOfRoles(tx: Transaction, caller: Caller): Promise<readonly Role[]> {
  writeLog(tx, logEntry(actorOf(caller), "role", ALL, "list"));
  return ROLES;
}
