import type { Clock } from "../base/clock.js";
import type { TenantId } from "../base/ids.js";
import type { Database } from "../store/database.js";
import { type DueMinute, forgetDue, MINUTE_MS } from "../store/due.js";
import { hasMessagesDue } from "../store/outbox.js";
import type { Outbox } from "../tenancy/outbox.js";
import type { Job } from "./schedule.js";

const EVERY_MS = 1_000;

export interface MailParts {
  readonly database: Database;
  readonly outbox: Outbox;
  readonly clock: Clock;
  /** The mail server would not take a message for good, or a tenant's messages could not be looked over. */
  readonly onTrouble: (tenantId: TenantId | undefined, reason: string) => void;
}

/** Sends what is due. Every replica does: messages are leased one by one. */
export function mailJob(parts: MailParts): Job {
  const { database, clock } = parts;
  return {
    name: "mail",
    every: EVERY_MS,
    async run(signal) {
      const now = new Date(clock.now());
      let due: readonly DueMinute[] = [];
      do {
        due = await database.due(["mail"], now, due.at(-1));
        if (!(await sendAll(parts, [...new Set(due.map(({ tenantId }) => tenantId))], signal))) return;
        for (const minute of due) {
          if (minute.minute.getTime() + MINUTE_MS > now.getTime()) continue;
          await forgetFinished(database, minute).catch(() => parts.onTrouble(minute.tenantId, "database"));
        }
      } while (due.length > 0 && !signal.aborted);
    },
  };
}

/**
 * One message a tenant in turn, so that no tenant's many hold up another's few.
 * @returns false when nobody takes messages at all: whatever is left waits for the next run.
 */
async function sendAll(
  { outbox, onTrouble }: MailParts,
  tenants: readonly TenantId[],
  signal: AbortSignal,
): Promise<boolean> {
  let open = tenants;
  while (open.length > 0) {
    const more: TenantId[] = [];
    for (const tenantId of open) {
      if (signal.aborted) return false;
      const carried = await outbox.sendNext(tenantId, signal).catch(() => "failed" as const);
      if (carried === "unreachable") {
        onTrouble(undefined, "the mail server cannot be reached");
        return false;
      }
      if (carried === "failed") onTrouble(tenantId, "a message could not be made");
      if (carried === "refused") onTrouble(tenantId, "the mail server refused a message for good");
      if (carried === "sent" || carried === "refused") more.push(tenantId);
    }
    open = more;
  }
  return true;
}

/** A minute stays for as long as a message of it is to be sent: its replica may be gone tomorrow. */
async function forgetFinished(database: Database, { tenantId, kind, minute }: DueMinute): Promise<void> {
  await database.slow.run(tenantId, "unguarded", async (tx) => {
    const isPending = await tx.ask(hasMessagesDue, new Date(minute.getTime() + MINUTE_MS));
    if (!isPending) tx.tell(forgetDue, { kind, minute });
  });
}
