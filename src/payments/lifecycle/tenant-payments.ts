import type { EntryDetails } from "../../audit/log-entry.js";
import type { ServedTenant } from "../../audit/tenant-database.js";
import type { OrdinaryTenantTransaction, TenantTransaction } from "../../audit/tenant-transaction.js";
import type { TenantId, Uuid } from "../../base/ids.js";
import type { TenantKeys } from "../../crypto/tenant-keys.js";
import { scheduleDue } from "../../store/jobs/due.js";
import { markCredentialsFailed, readConnection } from "../../store/payments/connections.js";
import {
  claimPayments,
  findPaymentByProvider,
  LEASE_SECONDS,
  lockPayment,
  readPayment,
  updatePayment,
} from "../../store/payments/payments.js";
import { insertRefund, listRefundRows, readRefund, updateRefund } from "../../store/payments/refunds.js";
import { deleteCvc } from "../../store/tokens/token-cvc.js";
import { type Connection, connectionOfPayment, openConnection } from "../connections/connection.js";
import type { Step } from "./apply-outcome.js";
import { openPayment, type Payment, writePaymentRow } from "./payment.js";
import { openRefund, plannedRefund, type Refund, sealRefund } from "./refund.js";

export interface Change extends Step {
  readonly refunds?: readonly Refund[];
  /**
   * The process that has the lease continues its work: `renewed` if that is this one, whose next request to the service
   * may take as long as the one before. Absent: it is released.
   */
  readonly lease?: "kept" | "renewed";
}

export type ChangeOf = (payment: Payment, now: Date, refunds: readonly Refund[]) => Change;

/** A tenant's payments, outside of a caller's request. Each method is a transaction of its own. */
export class TenantPayments {
  readonly #tenant: ServedTenant;

  constructor(tenant: ServedTenant) {
    this.#tenant = tenant;
  }

  get keys(): TenantKeys {
    return this.#tenant.keys;
  }

  get tenantId(): TenantId {
    return this.keys.tenantId;
  }

  async find(id: Uuid): Promise<Payment | undefined> {
    const row = await this.read((tx) => tx.query(readPayment, id));
    return this.open((keys) => (row ? openPayment(keys, row) : undefined));
  }

  async findAtService(connectionId: Uuid, providerId: string): Promise<Payment | undefined> {
    const id = await this.read((tx) => tx.query(findPaymentByProvider, { connectionId, providerId }));
    return id ? this.find(id) : undefined;
  }

  async findRefund(id: Uuid): Promise<Refund | undefined> {
    const row = await this.read((tx) => tx.query(readRefund, id));
    return this.open((keys) => (row ? openRefund(keys, row) : undefined));
  }

  async listRefunds(id: Uuid): Promise<readonly Refund[]> {
    const rows = await this.read((tx) => tx.query(listRefundRows, id));
    return this.open((keys) => rows.map((row) => openRefund(keys, row)));
  }

  async findConnection(id: Uuid): Promise<Connection | undefined> {
    const row = await this.read((tx) => tx.query(readConnection, id));
    return this.open((keys) => (row ? openConnection(keys, row) : undefined));
  }

  /** The connection of a payment. Undefined if it was deleted, or leads to another payment service by now. */
  async connectionOf(payment: Payment): Promise<Connection | undefined> {
    const row = await this.read((tx) => tx.query(readConnection, payment.connectionId));
    return this.open((keys) => connectionOfPayment(keys, row, payment));
  }

  async claim(limit: number): Promise<readonly Payment[]> {
    const rows = await this.#tenant.ordinary((tx) => tx.query(claimPayments, { limit, seconds: LEASE_SECONDS }));
    return this.open((keys) => rows.map((row) => openPayment(keys, row)));
  }

  /**
   * The row is locked and read again, since a webhook may have been faster than the response. Releases the lease unless
   * `lease` says otherwise. The first approval destroys the verification code.
   * @returns the changed payment; undefined if it no longer exists.
   */
  change(id: Uuid, changeOf: ChangeOf): Promise<Payment | undefined> {
    return this.#tenant.ordinary(async (tx) => {
      const row = await lockPayment(tx, id);
      if (!row) return undefined;
      const payment = openPayment(tx.keys, row);
      const changed = changeOf(payment, tx.now, await refundsIn(tx, payment));
      write(tx, changed);
      return changed.payment;
    });
  }

  async failCredentials({ id, revision }: Connection): Promise<void> {
    await this.#tenant.ordinary(async (tx) => tx.enqueue(markCredentialsFailed, { id, revision }));
  }

  /** Opens values that {@link read} has read, whichever keys they are under. */
  open<T>(values: (keys: TenantKeys) => T): Promise<T> {
    return this.#tenant.open(values);
  }

  read<T>(work: (tx: TenantTransaction) => Promise<T>): Promise<T> {
    return this.#tenant.shared(work);
  }
}

/** Only a captured payment can have refunds. */
async function refundsIn(tx: TenantTransaction, { id, status }: Payment): Promise<readonly Refund[]> {
  if (status !== "capture_succeeded") return [];
  return (await tx.query(listRefundRows, id)).map((row) => openRefund(tx.keys, row));
}

/** What the log says of a payment or a refund that moved to another status. */
function statusDetails({ status, errorCode }: Pick<Payment | Refund, "status" | "errorCode">): EntryDetails {
  return status.endsWith("failed") ? { remark: status, outcome: "failed", code: errorCode } : { remark: status };
}

function write(tx: OrdinaryTenantTransaction, change: Change): void {
  const { payment, moved, approved, refunds = [], lease = "released" } = change;
  tx.enqueue(updatePayment[lease], writePaymentRow(tx.keys, payment));
  if (payment.dueAt) scheduleDue(tx, { kind: "payment", at: payment.dueAt });
  if (moved) tx.log("transaction", payment.id, "update", statusDetails(payment));
  if (approved) tx.enqueue(deleteCvc, payment.tokenId);
  if (moved && payment.attempt?.refundId) {
    const refund = plannedRefund(payment, "late approval", tx.now);
    tx.enqueue(insertRefund, sealRefund(tx.keys, refund));
    tx.log("refund", refund.id, "create", "late approval");
  }
  for (const refund of refunds) {
    const { id, record } = sealRefund(tx.keys, refund);
    tx.enqueue(updateRefund, { id, record });
    tx.log("refund", id, "update", statusDetails(refund));
  }
}
