import type { Clock } from "../base/clock.js";
import type { TenantId } from "../base/ids.js";
import type { Database } from "../store/database.js";
import { type DueMinute, forgetDue, MINUTE_MS } from "../store/due.js";
import { hasMessagesDue } from "../store/outbox.js";
import type { Outbox } from "../tenancy/outbox.js";
import type { Job } from "./schedule.js";

const EVERY_MS = 1_000;

/** What the operator is told of messages that do not go. The last two are of all messages there are. */
const TROUBLES = {
  failed: "a message could not be made",
  refused: "the mail server refused a message for good",
  later: "the mail server put a message off",
  sender_refused: "the mail server takes nothing from this sender: see CLOAKROOM_MAIL_FROM",
  not_written: "a message could not be written to its file",
  login_refused: "the mail server refused the login of CLOAKROOM_SMTP_URL",
  unreachable: "the mail server cannot be reached",
} as const;

export interface MailParts {
  readonly database: Database;
  readonly outbox: Outbox;
  readonly clock: Clock;
  /** Messages of a tenant, or of all of them, did not go, or could not be looked over. Once a run for each reason. */
  readonly onTrouble: (tenantId: TenantId | undefined, reason: string, error?: unknown) => void;
}

/** Sends what is due. Every replica does: messages are leased one by one. */
export function mailJob(parts: MailParts): Job {
  const { database, clock } = parts;
  return {
    name: "mail",
    every: EVERY_MS,
    async run(signal) {
      const now = new Date(clock.now());
      const tell = onceEach(parts.onTrouble);
      let due: readonly DueMinute[] = [];
      do {
        due = await database.due(["mail"], now, due.at(-1));
        if (!(await sendAll({ ...parts, onTrouble: tell }, [...new Set(due.map(({ tenantId }) => tenantId))], signal)))
          return;
        for (const minute of due) {
          if (minute.minute.getTime() + MINUTE_MS > now.getTime()) continue;
          await forgetFinished(database, minute).catch((error: unknown) => tell(minute.tenantId, "database", error));
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
      let cause: unknown;
      const carried = await outbox.sendNext(tenantId, signal).catch((error: unknown) => {
        cause = error;
        return "failed" as const;
      });
      if (carried === "unreachable" || carried === "login_refused") {
        onTrouble(undefined, TROUBLES[carried]);
        return false;
      }
      // What is broken off because the server stops is no trouble.
      if (signal.aborted && carried === "later") return false;
      if (carried !== "sent" && carried !== "none") onTrouble(tenantId, TROUBLES[carried], cause);
      if (carried === "sent" || carried === "refused") more.push(tenantId);
    }
    open = more;
  }
  return true;
}

function onceEach(onTrouble: MailParts["onTrouble"]): MailParts["onTrouble"] {
  const told = new Set<string>();
  return (tenantId, reason, error) => {
    const one = `${tenantId} ${reason}`;
    if (told.has(one)) return;
    told.add(one);
    onTrouble(tenantId, reason, error);
  };
}

/** A minute stays for as long as a message of it is to be sent: its replica may be gone tomorrow. */
async function forgetFinished(database: Database, { tenantId, kind, minute }: DueMinute): Promise<void> {
  await database.slow.run(tenantId, "unguarded", async (tx) => {
    const isPending = await tx.query(hasMessagesDue, new Date(minute.getTime() + MINUTE_MS));
    if (!isPending) tx.enqueue(forgetDue, { kind, minute });
  });
}
