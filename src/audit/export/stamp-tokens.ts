import { type Uuid, VAULT_TENANT_ID } from "../../base/ids.js";
import { readStamp } from "../../store/audit/audit-anchors.js";
import type { Database } from "../../store/database.js";

/** Reads the tokens of time stamps. The vault itself has them: one covers many tenants. */
export function stampTokens(database: Pick<Database, "of">): (stamp: Uuid) => Promise<Buffer | undefined> {
  return async (id) => (await database.of(VAULT_TENANT_ID).bulk((tx) => tx.query(readStamp, id)))?.token;
}
