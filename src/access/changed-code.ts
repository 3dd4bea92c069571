import type { Caller } from "./caller.js";
import { requirePower } from "./power.js";
import { requireOwn } from "./role-rights.js";

/**
 * Checks that a person may change a proxy, a reactor, or the templates of an application. Others send values to it, whatever
 * its own rights are, so who changes its destination, code or expressions can have these values. A DEVELOPER changes only
 * what the DEVELOPER created; OWNER and ADMIN change everything, but not by a stolen sign-in.
 * @param what such as "a proxy".
 * @throws {Fault} second_factor_required or permission_denied.
 */
export function requireMayChangeCode(caller: Caller, what: string, createdBy: string | null): void {
  const { principal } = caller;
  if (principal.kind === "application") return;
  if (principal.role === "DEVELOPER") requireOwn(caller, createdBy);
  else requirePower(caller, { needs: ["administer"], doing: `Changing ${what}`, act: `change ${what}` });
}
