import type { EntityType, LogEntry } from "../audit/log-entry.js";
import { logEntry } from "../audit/log-entry.js";
import { Fault } from "../base/fault.js";
import type { TenantId } from "../base/ids.js";
import { writeLog } from "../store/audit/audit-logs.js";
import type { Database } from "../store/database.js";
import { actorOf, type Caller } from "./caller.js";
import type { Permission } from "./permissions.js";

/**
 * A caller was denied, and the log must record it. Thrown in a transaction, it rolls the transaction back, and
 * {@link recordDenial} writes the row afterwards. It is not a Fault, to keep a denial from being answered without its
 * row.
 */
export class Denied extends Error {
  override readonly name = "Denied";
  readonly tenantId: TenantId;
  readonly fault: Fault;
  readonly entry: LogEntry;

  constructor(tenantId: TenantId, fault: Fault, entry: LogEntry) {
    super("a caller is refused");
    this.tenantId = tenantId;
    this.fault = fault;
    this.entry = entry;
  }
}

/** Denies a caller that lacks a permission. */
export function denied(caller: Caller, permission: Permission, entityType: EntityType, entityId: string): Denied {
  const fault = new Fault("permission_denied", `The key used lacks the permission ${permission} for this resource.`);
  return deniedWith(caller, fault, entityType, entityId, permission);
}

/**
 * Denies a caller for another reason.
 * @param remark the reason, as a fixed text.
 */
export function deniedWith(
  caller: Caller,
  fault: Fault,
  entityType: EntityType,
  entityId: string,
  remark: string,
): Denied {
  return new Denied(
    caller.tenantId,
    fault,
    logEntry(actorOf(caller), entityType, entityId, "refuse", { remark, outcome: "denied", code: fault.code }),
  );
}

/**
 * Writes the log row of a denial in a transaction of its own.
 * @returns the fault for the caller.
 * @throws {Fault} unavailable if the row cannot be written.
 */
export async function recordDenial(database: Database, { tenantId, fault, entry }: Denied): Promise<Fault> {
  await database.shared.run(tenantId, "unguarded", async (tx) => writeLog(tx, entry));
  return fault;
}

/**
 * Runs work that may deny its caller.
 * @throws {Fault} instead of {@link Denied}, once its row is written.
 */
export async function recordingDenials<T>(database: Database, run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (error) {
    throw error instanceof Denied ? await recordDenial(database, error) : error;
  }
}
