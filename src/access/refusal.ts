import { ANY_ENTITY_ID, type EntityType, type LogEntry, logEntry } from "../audit/log-entry.js";
import { PageRefusals } from "../audit/page-refusals.js";
import { Fault } from "../base/fault.js";
import type { TenantId } from "../base/ids.js";
import { writeLog } from "../store/audit/audit-logs.js";
import type { Database } from "../store/database.js";
import { type Caller, loggedActor } from "./caller.js";
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
  /** The caller's key is in web pages, where anybody can read it. */
  readonly isOfPage: boolean;

  constructor(tenantId: TenantId, fault: Fault, entry: LogEntry, isOfPage = false) {
    super("a caller is refused");
    this.isOfPage = isOfPage;
    this.tenantId = tenantId;
    this.fault = fault;
    this.entry = entry;
  }
}

export function denied(caller: Caller, permission: Permission, entityType: EntityType, entityId: string): Denied {
  const fault = new Fault("permission_denied", `The key used lacks the permission ${permission} for this resource.`);
  return deniedWith(caller, fault, permission, { type: entityType, id: entityId });
}

export interface LoggedEntity {
  readonly type: EntityType;
  readonly id: string;
}

/**
 * Denies a caller for another reason.
 * @param remark the reason, as a fixed text.
 * @param entity what the caller may not use. Absent: the caller's own application.
 */
export function deniedWith(caller: Caller, fault: Fault, remark: string, entity?: LoggedEntity): Denied {
  const { tenantId, principal } = caller;
  const actor = loggedActor(caller);
  const { type, id } = entity ?? { type: "application", id: actor.id };
  const details = { actor, remark, outcome: "denied", code: fault.code } as const;
  const isOfPage = principal.kind === "application" && principal.type === "public";
  return new Denied(tenantId, fault, logEntry(type, id, "refuse", details), isOfPage);
}

export function callingEntity({ principal }: Caller): LoggedEntity {
  return principal.kind === "person"
    ? { type: "member", id: principal.memberId }
    : { type: "application", id: principal.id };
}

const pageRefusals = new PageRefusals();

/**
 * Writes the log row of a denial in a transaction of its own. Of pages only so many a minute have one.
 * @returns the fault for the caller.
 * @throws {Fault} unavailable if the row cannot be written.
 */
export async function recordDenial(database: Database, denied: Denied): Promise<Fault> {
  const { tenantId, fault, entry, isOfPage } = denied;
  const write = (row: LogEntry) => database.of(tenantId).shared(async (tx) => writeLog(tx, row));
  const summarize = (remark: string) => {
    const details = { remark, outcome: "denied", code: "permission_denied" } as const;
    return write(logEntry("application", ANY_ENTITY_ID, "refuse", details));
  };
  if (!isOfPage || pageRefusals.count(tenantId, entry.context.address, summarize)) await write(entry);
  return markRecorded(fault);
}

/** Faults whose refusal has its row. */
const recorded = new WeakSet<Fault>();

export function markRecorded(fault: Fault): Fault {
  recorded.add(fault);
  return fault;
}

const REFUSALS = new Set(["permission_denied", "second_factor_required", "reason_required", "reason_invalid"]);

/**
 * A denial of a known caller that would otherwise leave no row: checks deep in an operation throw faults.
 * @param operation the refused operation, such as `ApplicationService/CreateApplication`.
 */
export function unrecordedDenial(caller: Caller | undefined, fault: Fault, operation: string): Denied | undefined {
  if (!caller || !REFUSALS.has(fault.code) || recorded.has(fault)) return undefined;
  return deniedWith(caller, fault, operation, callingEntity(caller));
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
