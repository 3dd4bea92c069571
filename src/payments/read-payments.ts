import { actorOf, type Caller } from "../access/caller.js";
import { Refused } from "../access/refusal.js";
import { ALL, logEntry } from "../audit/log-entry.js";
import { notFound } from "../base/fault.js";
import type { Uuid } from "../base/ids.js";
import type { Page, PageRequest } from "../base/page.js";
import type { TenantKeys } from "../crypto/tenant-keys.js";
import { writeLog } from "../store/audit-logs.js";
import { listPayments, updatePayment } from "../store/payments.js";
import { listRefundRows, readRefund } from "../store/refunds.js";
import type { Transaction } from "../store/transaction.js";
import { uuidFrom } from "./addresses.js";
import { externalTerm, openPayment, type Payment, paymentRowOf } from "./payment.js";
import { busy, findPayment } from "./payment-access.js";
import { usableScope } from "./payment-scope.js";
import { openRefund, type Refund } from "./refund.js";

export async function getPayment(
  tx: Transaction,
  caller: Caller,
  keys: TenantKeys,
  id: Uuid,
  right: "token:use" | "capture" = "token:use",
): Promise<Payment | Refused> {
  const found = await findPayment(tx, caller, keys, id, right);
  if (found instanceof Refused) return found;
  writeLog(tx, logEntry(actorOf(caller), "transaction", id, "read"));
  return found.payment;
}

export interface PaymentFilter extends PageRequest {
  readonly status: string | undefined;
  readonly externalIdentifier: string | undefined;
  readonly reconciliationId: string | undefined;
}

export async function pageOfPayments(
  tx: Transaction,
  caller: Caller,
  keys: TenantKeys,
  { externalIdentifier, reconciliationId, ...filter }: PaymentFilter,
): Promise<Page<Payment>> {
  writeLog(tx, logEntry(actorOf(caller), "transaction", ALL, "list"));
  const id = reconciliationId === undefined ? undefined : uuidFrom(reconciliationId);
  if (reconciliationId !== undefined && id === undefined) return { items: [], total: 0 };
  const externalTermOf = externalIdentifier === undefined ? undefined : externalTerm(keys, externalIdentifier);
  const scopes = usableScope(caller.grant);
  const { items, total } = await tx.ask(listPayments, { ...filter, id, externalTerm: externalTermOf, scopes });
  return { items: items.map((row) => openPayment(keys, tx.tenantId, row)), total };
}

/** Takes a payment for ourselves, to ask how it stands. */
export async function leasePayment(
  tx: Transaction,
  caller: Caller,
  keys: TenantKeys,
  id: Uuid,
): Promise<Payment | Refused> {
  const found = await findPayment(tx, caller, keys, id, "token:use");
  if (found instanceof Refused) return found;
  const { payment, leased } = found;
  if (leased || !(await tx.ask(updatePayment, { ...paymentRowOf(keys, tx.tenantId, payment), lease: "taken" })))
    return busy();
  writeLog(tx, logEntry(actorOf(caller), "transaction", id, "update", "sync"));
  return { ...payment, revision: payment.revision + 1 };
}

export async function refundsOf(
  tx: Transaction,
  caller: Caller,
  keys: TenantKeys,
  id: Uuid,
): Promise<readonly Refund[] | Refused> {
  const found = await findPayment(tx, caller, keys, id, "token:use");
  if (found instanceof Refused) return found;
  const rows = await tx.ask(listRefundRows, id);
  writeLog(tx, logEntry(actorOf(caller), "transaction", id, "read"));
  return rows.map((row) => openRefund(keys, tx.tenantId, row));
}

export async function getRefund(
  tx: Transaction,
  caller: Caller,
  keys: TenantKeys,
  id: Uuid,
): Promise<Refund | Refused> {
  const row = await tx.ask(readRefund, id);
  if (!row) return new Refused(notFound("refund"));
  const found = await findPayment(tx, caller, keys, row.payment_id, "token:use");
  if (found instanceof Refused) return new Refused(found.fault);
  writeLog(tx, logEntry(actorOf(caller), "transaction", row.payment_id, "read"));
  return openRefund(keys, tx.tenantId, row);
}
