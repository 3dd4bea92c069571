import { actorOf, type Caller } from "../access/caller.js";
import { ANY_ENTITY_ID, logEntry } from "../audit/log-entry.js";
import { expandUuid } from "../base/compact-uuid.js";
import { notFound } from "../base/fault.js";
import type { Uuid } from "../base/ids.js";
import type { Page, PageRequest } from "../base/page.js";
import type { TenantKeys } from "../crypto/tenant-keys.js";
import { writeLog } from "../store/audit/audit-logs.js";
import { listPaymentRows } from "../store/payments/payments.js";
import { listRefundRows, readRefund } from "../store/payments/refunds.js";
import type { Transaction } from "../store/transactions/transaction.js";
import { externalTerm, openPayment, type Payment } from "./payment.js";
import { findPayment, type PaymentRight } from "./payment-access.js";
import { visiblePayments } from "./payment-scope.js";
import { openRefund, type Refund } from "./refund.js";

export async function getPayment(
  tx: Transaction,
  caller: Caller,
  keys: TenantKeys,
  id: Uuid,
  right: PaymentRight = "token:use",
): Promise<Payment> {
  const payment = await findPayment(tx, caller, keys, id, right);
  writeLog(tx, logEntry(actorOf(caller), "transaction", id, "read"));
  return payment;
}

export interface PaymentFilter extends PageRequest {
  readonly status: string | undefined;
  readonly externalIdentifier: string | undefined;
  readonly reconciliationId: string | undefined;
}

export async function listPayments(
  tx: Transaction,
  caller: Caller,
  keys: TenantKeys,
  { externalIdentifier, reconciliationId, ...filter }: PaymentFilter,
): Promise<Page<Payment>> {
  writeLog(tx, logEntry(actorOf(caller), "transaction", ANY_ENTITY_ID, "list"));
  const id = reconciliationId === undefined ? undefined : expandUuid(reconciliationId);
  if (reconciliationId !== undefined && id === undefined) return { items: [], total: 0 };
  const externalTermOf = externalIdentifier === undefined ? undefined : externalTerm(keys, externalIdentifier);
  const scopes = visiblePayments(caller.grant);
  const { items, total } = await tx.query(listPaymentRows, { ...filter, id, externalTerm: externalTermOf, scopes });
  return { items: items.map((row) => openPayment(keys, tx.tenantId, row)), total };
}

export async function listRefunds(
  tx: Transaction,
  caller: Caller,
  keys: TenantKeys,
  id: Uuid,
): Promise<readonly Refund[]> {
  await findPayment(tx, caller, keys, id);
  const rows = await tx.query(listRefundRows, id);
  writeLog(tx, logEntry(actorOf(caller), "transaction", id, "read"));
  return rows.map((row) => openRefund(keys, tx.tenantId, row));
}

export async function getRefund(tx: Transaction, caller: Caller, keys: TenantKeys, id: Uuid): Promise<Refund> {
  const row = await tx.query(readRefund, id);
  if (!row) throw notFound("refund");
  await findPayment(tx, caller, keys, row.payment_id);
  writeLog(tx, logEntry(actorOf(caller), "transaction", row.payment_id, "read"));
  return openRefund(keys, tx.tenantId, row);
}
