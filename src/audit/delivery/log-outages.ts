import { MINUTE_MS } from "../../base/clock.js";
import type { TenantId } from "../../base/ids.js";
import type { SinkName } from "../../sinks/sink.js";
import { writeLog } from "../../store/audit/audit-logs.js";
import { deleteOutage, insertOutage } from "../../store/audit/log-outages.js";
import type { Database } from "../../store/database.js";
import { logEntry } from "../log-entry.js";

/** A part of the log that can fail while the others work. */
export type LogPart = "sealing" | SinkName;

/** A part that has not done its work for this long needs an operator. */
export const OUTAGE_MS = 15 * MINUTE_MS;

/**
 * Records in a tenant's log when a part of it stops working, and when it works again (PCI DSS 10.7.2 and 10.7.3 ask for
 * the duration). Each outage has one row of each, whichever replica sees it.
 */
export class LogOutages {
  readonly #database: Database;
  readonly #part: LogPart;
  /** Recorded by this process. */
  readonly #known = new Set<TenantId>();

  constructor(database: Database, part: LogPart) {
    this.#database = database;
    this.#part = part;
  }

  /** @param since when the oldest work was due that is not done. Nothing is recorded before {@link OUTAGE_MS}. */
  async lasts(tenantId: TenantId, since: Date, now: Date): Promise<void> {
    if (now.getTime() - since.getTime() < OUTAGE_MS || this.#known.has(tenantId)) return;
    const part = this.#part;
    await this.#database.of(tenantId).bulk(async (tx) => {
      if (!(await tx.query(insertOutage, { part, since }))) return;
      const remark = `${wordsFor(part)} has failed since ${since.toISOString()}`;
      writeLog(tx, logEntry("log", part, "pause", { remark, outcome: "failed", code: "unavailable" }));
    });
    this.#known.add(tenantId);
  }

  /** Another process continues, and may record the end. */
  forget(): void {
    this.#known.clear();
  }

  /** All work is done. */
  async ended(tenantId: TenantId): Promise<void> {
    const part = this.#part;
    await this.#database.of(tenantId).bulk(async (tx) => {
      const since = await tx.query(deleteOutage, part);
      if (!since) return;
      const remark = `${wordsFor(part)} works again; it had failed since ${since.toISOString()}`;
      writeLog(tx, logEntry("log", part, "resume", remark));
    });
    this.#known.delete(tenantId);
  }
}

function wordsFor(part: LogPart): string {
  return part === "sealing" ? "sealing" : `the sink ${part}`;
}
