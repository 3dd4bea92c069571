import type { Caller } from "./caller.js";
import { type Deed, requirePower } from "./power.js";
import { requireOwn } from "./role-rights.js";

/**
 * Checks that a person may change a proxy, a reactor, or the templates of an application. Others send values to it, whatever
 * its own rights are, so who changes its destination, code or expressions can have these values. A DEVELOPER changes only
 * what the DEVELOPER created; OWNER and ADMIN change everything, but not by a stolen sign-in.
 * @param what such as "a proxy".
 * @throws {Fault} second_factor_required or permission_denied.
 */
export function requireMayChangeCode(caller: Caller, what: string, createdBy: string | null): void {
  requireCodePower(caller, { doing: `Changing ${what}`, act: `change ${what}` }, createdBy);
}

/**
 * Checks that a person may read what failed runs wrote: errors and console output may hold any value that others sent to
 * the code, so they are for people who could change the code to print it.
 * @throws {Fault} second_factor_required or permission_denied.
 */
export function requireMayReadRuns(caller: Caller, createdBy: string | null): void {
  requireCodePower(caller, { doing: "Reading failed runs", act: "read failed runs" }, createdBy);
}

function requireCodePower(caller: Caller, words: Omit<Deed, "needs">, createdBy: string | null): void {
  const { principal } = caller;
  if (principal.kind === "application") return;
  if (principal.role === "DEVELOPER") requireOwn(caller, createdBy);
  else requirePower(caller, { needs: ["administer"], ...words });
}
