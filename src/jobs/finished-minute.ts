import { MINUTE_MS } from "../base/clock.js";
import type { Database } from "../store/database.js";
import { type DueMinute, deleteDueMinute } from "../store/jobs/due.js";
import type { Statement } from "../store/statements/statement.js";

/**
 * Deletes a minute whose work is finished. It stays while it has unfinished work, because the replica that leased the
 * work may be gone.
 * @param isPending whether unfinished work is due before a time.
 */
export async function forgetFinished(
  database: Database,
  { tenantId, kind, minute }: DueMinute,
  isPending: Statement<Date, boolean>,
): Promise<void> {
  await database.of(tenantId).bulk(async (tx) => {
    const stays = await tx.query(isPending, new Date(minute.getTime() + MINUTE_MS));
    if (!stays) tx.enqueue(deleteDueMinute, { kind, minute });
  });
}
