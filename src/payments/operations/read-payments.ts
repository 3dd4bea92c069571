import type { CallerTransaction } from "../../access/caller-transaction.js";
import { ANY_ENTITY_ID } from "../../audit/log-entry.js";
import { expandUuid } from "../../base/compact-uuid.js";
import { notFound } from "../../base/fault.js";
import type { Uuid } from "../../base/ids.js";
import type { Page, PageRequest } from "../../base/page.js";
import { listRefundRows, readRefund } from "../../store/payments/refunds.js";
import { externalTerm, openPayment, type Payment } from "../lifecycle/payment.js";
import { openRefund, type Refund } from "../lifecycle/refund.js";
import { findPayment, type PaymentRight } from "./payment-access.js";
import { pageOfPayments } from "./payment-pages.js";
import { visiblePayments } from "./payment-scope.js";

export async function getPayment(tx: CallerTransaction, id: Uuid, right: PaymentRight = "token:use"): Promise<Payment> {
  const payment = await findPayment(tx, id, right);
  tx.log("transaction", id, "read");
  return payment;
}

export interface PaymentFilter extends PageRequest {
  readonly status: string | undefined;
  readonly externalIdentifier: string | undefined;
  readonly reconciliationId: string | undefined;
}

export async function listPayments(
  tx: CallerTransaction,
  { externalIdentifier, reconciliationId, ...filter }: PaymentFilter,
  signal: AbortSignal,
): Promise<Page<Payment>> {
  tx.log("transaction", ANY_ENTITY_ID, "list");
  const id = reconciliationId === undefined ? undefined : expandUuid(reconciliationId);
  if (reconciliationId !== undefined && id === undefined) return { items: [], total: 0 };
  const externalTermOf = externalIdentifier === undefined ? undefined : externalTerm(tx.keys, externalIdentifier);
  const scopes = visiblePayments(tx.caller.grant);
  const listing = { ...filter, id, externalTerm: externalTermOf, scopes };
  const { items, total } = await pageOfPayments(tx, listing, { signal });
  return { items: items.map((row) => openPayment(tx.keys, row)), total };
}

export async function listRefunds(tx: CallerTransaction, id: Uuid): Promise<readonly Refund[]> {
  await findPayment(tx, id);
  const rows = await tx.query(listRefundRows, id);
  tx.log("transaction", id, "read");
  return rows.map((row) => openRefund(tx.keys, row));
}

export async function getRefund(tx: CallerTransaction, id: Uuid): Promise<Refund> {
  const row = await tx.query(readRefund, id);
  if (!row) throw notFound("refund");
  await findPayment(tx, row.payment_id);
  tx.log("transaction", row.payment_id, "read");
  return openRefund(tx.keys, row);
}
