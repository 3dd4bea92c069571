import type { Caller } from "../access/caller.js";
import { Refused, refuse } from "../access/refusal.js";
import { Fault, notFound } from "../base/fault.js";
import type { Uuid } from "../base/ids.js";
import type { TenantKeys } from "../crypto/tenant-keys.js";
import { readPayment } from "../store/payments.js";
import type { Transaction } from "../store/transaction.js";
import { openPayment, type Payment } from "./payment.js";

/**
 * A payment that a caller may touch: with the right to use tokens in the containers that the charged one was in. Captures
 * need a permission of their own instead, which was asked for before.
 */
export async function findPayment(
  tx: Transaction,
  caller: Caller,
  keys: TenantKeys,
  id: Uuid,
  right: "token:use" | "capture",
): Promise<{ readonly payment: Payment; readonly leased: boolean } | Refused> {
  const row = await tx.ask(readPayment, id);
  if (!row) return new Refused(notFound("transaction"));
  const payment = openPayment(keys, tx.tenantId, row);
  const place = { id: payment.tokenId, containers: payment.containers };
  if (right === "token:use" && !caller.grant.transformFor("token:use", place)) {
    return refuse(tx, caller, "token:use", "transaction", id);
  }
  return { payment, leased: row.leased };
}

/** Another operation on the payment has not ended. */
export function busy(): Refused {
  return new Refused(
    new Fault("conflict", "Another operation on this transaction has not ended yet. Try again shortly.", {
      retryAfter: 2,
    }),
  );
}

/** The payment is in no state for what is asked. */
export function wrongState(payment: Payment, advice: string): Refused {
  return new Refused(new Fault("wrong_state", `The transaction is ${payment.status}: ${advice}`));
}
