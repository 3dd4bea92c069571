import type { OrdinaryCallerTransaction } from "../access/caller-transaction.js";
import { heldPowers, requirePower } from "../access/power.js";
import type { Uuid } from "../base/ids.js";
import { requireGrantableActing } from "../functions/acting-application.js";
import type { ProxyRow } from "../store/functions/proxies.js";
import { eachProxy } from "./each-row.js";
import { openProxy } from "./proxy.js";

/**
 * Checks that a person who changes a reactor may change every proxy that runs it: its code sees what those proxies see.
 * @throws {Fault} permission_denied.
 */
export async function requireMayChangeUses(tx: OrdinaryCallerTransaction, reactorId: Uuid): Promise<void> {
  if (tx.caller.principal.kind === "application" || heldPowers(tx.caller).has("administer")) return;
  for await (const row of eachProxy(tx)) await requireMayChangeUse(tx, { row, reactorId });
}

async function requireMayChangeUse(
  tx: OrdinaryCallerTransaction,
  { row, reactorId }: { readonly row: ProxyRow; readonly reactorId: Uuid },
): Promise<void> {
  const { definition, applicationId } = openProxy(tx.keys, row);
  if (definition.requestReactorId !== reactorId && definition.responseReactorId !== reactorId) return;
  if (tx.caller.principal.kind === "person" && row.created_by === tx.caller.principal.userId) {
    return requireGrantableActing(tx, applicationId);
  }
  const what = "a reactor that a proxy of somebody else runs";
  requirePower(tx.caller, { needs: ["administer"], doing: `Changing ${what}`, act: `change ${what}` });
}
