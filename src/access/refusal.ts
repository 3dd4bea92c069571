import type { EntityType } from "../audit/log-entry.js";
import { logEntry } from "../audit/log-entry.js";
import { Fault } from "../base/fault.js";
import { writeLog } from "../store/audit-logs.js";
import type { Transaction } from "../store/transaction.js";
import { actorOf, type Caller } from "./caller.js";
import type { Permission } from "./permissions.js";

/**
 * How work on a transaction ends when the request fails and yet something is to be kept: the log row of a refusal, or
 * nothing at all. Throwing would roll back what other requests of the flight wrote.
 */
export class Refused {
  readonly fault: Fault;

  constructor(fault: Fault) {
    this.fault = fault;
  }
}

/** Refuses a caller, and logs that it tried. */
export function refuse(
  tx: Transaction,
  caller: Caller,
  permission: Permission,
  entityType: EntityType,
  entityId: string,
): Refused {
  const fault = new Fault("permission_denied", `The key used may not do this: it needs ${permission} here.`);
  return refuseWith(tx, caller, fault, entityType, entityId, permission);
}

/**
 * Refuses a caller for what has to do with no permission, and logs that it tried.
 * @param remark what stood against it, in fixed words.
 */
export function refuseWith(
  tx: Transaction,
  caller: Caller,
  fault: Fault,
  entityType: EntityType,
  entityId: string,
  remark: string,
): Refused {
  writeLog(tx, logEntry(actorOf(caller), entityType, entityId, "refuse", remark));
  return new Refused(fault);
}
