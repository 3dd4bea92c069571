import type { Uuid } from "../base/ids.js";
import type { Application } from "./application.js";
import type { Caller } from "./caller.js";
import { requireGrantable, requireOwn } from "./role-rights.js";

/*
 * The control of an application's keys and rights. Making a key gives the application's rights; ending a key, and deleting
 * or changing the application, takes them from those who use it. No caller gives more than it holds, and a caller that
 * holds less takes nothing from one that holds more:
 *
 * - A DEVELOPER works on applications that the DEVELOPER created, while they hold no more than the DEVELOPER may give, and
 *   ends the keys that the DEVELOPER made, whatever they can do by now.
 * - A key works on management applications that hold no more than itself, and on all others.
 * - OWNER and ADMIN end every key and delete every application, also without a second factor: a key that leaks must end.
 */

type Controlled = Pick<Application, "type" | "createdBy" | "permissions" | "rules">;

/** @throws {Fault} second_factor_required or permission_denied. */
export function requireMayMakeKey(caller: Caller, application: Controlled): void {
  requireOwn(caller, application.createdBy);
  requireGrantable(caller, application.type, application);
}

/**
 * Checks that a caller may end a key of an application.
 * @param application is opened for a key alone: a person ends keys also of one whose rights were altered in the database.
 * @param createdBy the author of the key, who is not always the application's.
 * @throws {Fault} permission_denied.
 */
export function requireMayEndKey(caller: Caller, application: () => Controlled, createdBy: Uuid | null): void {
  if (caller.principal.kind === "person") requireOwn(caller, createdBy);
  else {
    const opened = application();
    requireGrantable(caller, opened.type, opened);
  }
}

/**
 * Checks that a caller may take the rights of an application as it is.
 * @throws {Fault} permission_denied.
 */
export function requireMayTakeRights(caller: Caller, application: Controlled): void {
  const { principal } = caller;
  if (principal.kind === "person" && principal.role !== "DEVELOPER") return;
  requireOwn(caller, application.createdBy);
  requireGrantable(caller, application.type, application);
}
