import { type Clock, MINUTE_MS } from "../base/clock.js";
import type { TenantId } from "../base/ids.js";
import type { Database } from "../store/database.js";
import type { DueMinute } from "../store/jobs/due.js";
import { hasMessagesDue } from "../store/jobs/outbox.js";
import type { Outbox } from "../tenancy/outbox.js";
import { forgetFinished } from "./finished-minute.js";
import type { Job } from "./schedule.js";

const INTERVAL_MS = 1_000;

/** Reasons, in the operator's words, why messages are not sent. The last two concern all messages. */
const TROUBLES = {
  failed: "a message could not be made",
  refused: "the mail server refused a message for good",
  deferred: "the mail server deferred a message",
  sender_refused: "the mail server takes nothing from this sender: see CLOAKROOM_MAIL_FROM",
  not_written: "a message could not be written to its file",
  login_refused: "the mail server refused the login of CLOAKROOM_SMTP_URL",
  unreachable: "the mail server cannot be reached",
} as const;

export interface MailParts {
  readonly database: Database;
  readonly outbox: Outbox;
  readonly clock: Clock;
  /**
   * Called when messages of a tenant, or of all tenants, were not sent or could not be checked. Once per run and
   * reason.
   */
  readonly onTrouble: (tenantId: TenantId | undefined, reason: string, error?: unknown) => void;
}

/** Sends due messages. Every replica runs this: messages are leased one by one. */
export function mailJob(parts: MailParts): Job {
  const { database, clock } = parts;
  return {
    name: "mail",
    intervalMs: INTERVAL_MS,
    async run(signal) {
      const now = new Date(clock.now());
      const tell = onceEach(parts.onTrouble);
      let due: readonly DueMinute[] = [];
      do {
        due = await database.due(["mail"], { now, after: due.at(-1) });
        if (!(await sendAll({ ...parts, onTrouble: tell }, [...new Set(due.map(({ tenantId }) => tenantId))], signal)))
          return;
        for (const minute of due) {
          if (minute.minute.getTime() + MINUTE_MS > now.getTime()) continue;
          await forgetFinished(database, minute, hasMessagesDue).catch((error: unknown) =>
            tell(minute.tenantId, "database", error),
          );
        }
      } while (due.length > 0 && !signal.aborted);
    },
  };
}

/**
 * Sends one message per tenant in turn, because a tenant with many must not delay a tenant with few.
 * @returns false if the mail server accepts no messages at all. The remaining ones wait for the next run.
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
      const result = await outbox.sendNext(tenantId, signal).catch((error: unknown) => {
        cause = error;
        return "failed" as const;
      });
      if (result === "unreachable" || result === "login_refused") {
        onTrouble(undefined, TROUBLES[result]);
        return false;
      }
      // An attempt that was cancelled because the server stops is not a failure.
      if (signal.aborted && result === "deferred") return false;
      if (result !== "sent" && result !== "none") onTrouble(tenantId, TROUBLES[result], cause);
      if (result === "sent" || result === "refused") more.push(tenantId);
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
