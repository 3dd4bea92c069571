import type { EntityType } from "../audit/log-entry.js";
import { Fault } from "../base/fault.js";
import type { Transform } from "./access-rule.js";
import type { Caller } from "./caller.js";
import type { AccessTarget } from "./grant.js";
import type { TokenPermission } from "./permissions.js";
import { deniedWith } from "./refusal.js";

/**
 * Whether values go to the caller itself. The destination of a configured proxy and the code of a reactor are chosen by
 * the tenant's managers; the destination of an ephemeral proxy by the caller.
 */
function goToCaller({ context: { via } }: Caller): boolean {
  return via === undefined || (via.type === "proxy" && via.id === undefined);
}

/** Whether some token could need a reason that the caller has not sent. Decides nothing about one token. */
export function mightNeedReason(caller: Caller, permission: TokenPermission): boolean {
  if (caller.context.reason !== undefined || !goToCaller(caller)) return false;
  return caller.settings.require_reveal_reason || caller.grant.mayAskReason(permission);
}

/**
 * Denies a caller that is about to get a value in the clear without saying why, where the tenant or the rule asks for it.
 * @throws {Denied} reason_required.
 */
export function requireReason(
  caller: Caller,
  permission: TokenPermission,
  transform: Transform,
  token: AccessTarget & { readonly entityType: EntityType },
): void {
  if (transform !== "reveal" || !mightNeedReason(caller, permission)) return;
  if (!caller.settings.require_reveal_reason && !caller.grant.asksReason(permission, token)) return;
  const text = "Send the reason for reading this value in the clear, in the header X-Cloakroom-Reason.";
  const entity = { type: token.entityType, id: token.id };
  throw deniedWith(caller, new Fault("reason_required", text), "reason required", entity);
}

/**
 * Denies a caller that switches `require_reveal_reason` off without saying why: the change would otherwise be the way to
 * read without a reason.
 * @throws {Denied} reason_required.
 */
export function requireReasonToStopAsking(caller: Caller): void {
  if (caller.context.reason !== undefined) return;
  const text = "Send the reason for switching require_reveal_reason off, in the header X-Cloakroom-Reason.";
  const tenant = { type: "tenant", id: caller.tenantId } as const;
  throw deniedWith(caller, new Fault("reason_required", text), "require_reveal_reason off", tenant);
}
