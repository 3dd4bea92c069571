import type { OrdinaryCallerTransaction } from "../access/caller-transaction.js";
import { Fault } from "../base/fault.js";
import type { Uuid } from "../base/ids.js";
import { eachProxy, eachReactor } from "./each-row.js";
import { openProxy } from "./proxy.js";

/*
 * A proxy does not work without the reactor that it runs, nor does code without the application as which it acts, or its
 * rights. So a DEVELOPER takes none of them while a proxy or reactor of somebody else needs it. OWNER, ADMIN and keys may.
 */

/** @throws {Fault} permission_denied. */
export async function requireNoProxyEnds(tx: OrdinaryCallerTransaction, reactorId: Uuid): Promise<void> {
  const isOthers = othersFor(tx);
  if (!isOthers) return;
  for await (const row of eachProxy(tx)) {
    const { requestReactorId, responseReactorId } = openProxy(tx.keys, row).definition;
    const isRun = requestReactorId === reactorId || responseReactorId === reactorId;
    if (isRun && isOthers(row)) throw mayNot("delete", "a reactor that a proxy of somebody else runs");
  }
}

/** @throws {Fault} permission_denied. */
export async function requireNoCodeEnds(
  tx: OrdinaryCallerTransaction,
  applicationId: Uuid,
  doing: "delete" | "take rights from",
): Promise<void> {
  const isOthers = othersFor(tx);
  if (!isOthers) return;
  const refusal = () => mayNot(doing, "an application as which a proxy or reactor of somebody else acts");
  for await (const row of eachReactor(tx)) {
    if (row.application_id === applicationId && isOthers(row)) throw refusal();
  }
  for await (const row of eachProxy(tx)) {
    if (openProxy(tx.keys, row).applicationId === applicationId && isOthers(row)) throw refusal();
  }
}

/** Whether a row is another author's; undefined for callers that may delete what others need. */
function othersFor({ caller: { principal } }: OrdinaryCallerTransaction) {
  if (principal.kind !== "person" || principal.role !== "DEVELOPER") return undefined;
  return ({ created_by: author }: { readonly created_by: Uuid | null }) => author !== principal.userId;
}

function mayNot(doing: string, what: string): Fault {
  return new Fault("permission_denied", `Your role DEVELOPER may not ${doing} ${what}; OWNER and ADMIN may.`);
}
