import type { CallerTransaction, OrdinaryCallerTransaction } from "../../access/caller-transaction.js";
import { denied } from "../../access/refusal.js";
import { Fault, notFound } from "../../base/fault.js";
import type { Uuid } from "../../base/ids.js";
import { type LeasedPaymentRow, lockPayment, readPayment } from "../../store/payments/payments.js";
import { openPayment, type Payment } from "../lifecycle/payment.js";

/**
 * A payment that the caller may use: it needs the right to use tokens in the containers of the charged token. Captures
 * need a permission of their own instead, which was checked earlier.
 * @throws {Fault} not_found; {Denied}.
 */
export async function findPayment(
  tx: CallerTransaction,
  id: Uuid,
  right: PaymentRight = "token:use",
): Promise<Payment> {
  return accessible(tx, id, right, await tx.query(readPayment, id)).payment;
}

/** The same, locked until the transaction ends. `leased` shows whether another process is working on it. */
export async function findPaymentToChange(
  tx: OrdinaryCallerTransaction,
  id: Uuid,
  right: PaymentRight,
): Promise<{ readonly payment: Payment; readonly leased: boolean }> {
  return accessible(tx, id, right, await lockPayment(tx, id));
}

export type PaymentRight = "token:use" | "capture";

type Work = Pick<CallerTransaction, "caller" | "keys">;

function accessible({ caller, keys }: Work, id: Uuid, right: PaymentRight, row: LeasedPaymentRow | null) {
  if (!row) throw notFound("transaction");
  const payment = openPayment(keys, row);
  const target = { id: payment.tokenId, containers: payment.containers };
  if (right === "token:use" && !caller.grant.transformFor("token:use", target)) {
    throw denied(caller, "token:use", "transaction", id);
  }
  return { payment, leased: row.leased };
}

/** Another operation on the payment has not ended. */
export function busy(): Fault {
  return new Fault("conflict", "Another operation on this transaction has not ended yet. Try again shortly.", {
    retryAfter: 2,
  });
}

export function wrongState({ status }: Pick<Payment, "status">, advice: string): Fault {
  return new Fault("wrong_state", `The transaction is ${status}: ${advice}`);
}
