import { HOUR_MS } from "../../base/clock.js";
import type { Database } from "../../store/database.js";

/** Stamps are due once a day. */
const LATE_MS = 24 * HOUR_MS;

/** A sentence about a time-stamp authority that has been failing for a day. */
export async function overdueStamps(database: Pick<Database, "oldestDue">, now: Date): Promise<readonly string[]> {
  const behind = now.getTime() - ((await database.oldestDue()).get("log_stamp") ?? now).getTime();
  if (behind < LATE_MS) return [];
  return [
    `The log has been waiting for a time stamp for ${Math.floor(behind / HOUR_MS)} hours. Check CLOAKROOM_AUDIT_TSA_URL and the server's log.`,
  ];
}
