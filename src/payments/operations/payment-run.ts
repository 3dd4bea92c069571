import { compactUuid } from "../../base/compact-uuid.js";
import type { TenantId } from "../../base/ids.js";
import type { TenantKeys } from "../../crypto/tenant-keys.js";
import type { Connection } from "../connections/connection.js";
import type { Connectors } from "../connections/connectors.js";
import { findProvider } from "../connections/providers.js";
import type { SensitiveCard } from "../contract/card.js";
import type { Connector, ConnectorContext } from "../contract/connector.js";
import { isCredentialsError } from "../contract/error-code.js";
import type { AuthorizationOutcome, FollowUpOutcome, LookUpOutcome, Unknown } from "../contract/outcome.js";
import { applyAuthorization, applyOperation } from "../lifecycle/apply-response.js";
import { type Attempt, type Payment, paymentReference, showReconciliationId } from "../lifecycle/payment.js";
import { outcomeForAttempt } from "../lifecycle/repeated-response.js";
import type { ChangeOf, TenantPayments } from "../lifecycle/tenant-payments.js";

export interface RunParts {
  readonly connectors: Connectors;
  readonly returnUrl: (keys: TenantKeys, payment: Payment) => string;
  /** Reports a defect in a connector. The outcome is then unknown. */
  readonly onDefect: (tenantId: TenantId, error: unknown) => void;
}

/** Sends, looks up and releases the payments of one connection at its payment service. */
export class PaymentRun {
  readonly payments: TenantPayments;
  readonly connection: Connection;
  readonly #parts: RunParts;

  constructor(parts: RunParts, payments: TenantPayments, connection: Connection) {
    this.#parts = parts;
    this.payments = payments;
    this.connection = connection;
  }

  /** The row is already committed. @param card only for an authorization. */
  async send(payment: Payment, card?: SensitiveCard): Promise<Payment> {
    const { attempt } = payment;
    if (!attempt) return payment;
    const changed = await this.payments.change(payment.id, await this.#respond(payment, attempt, card));
    if (changed?.errorCode && changed.errorCode !== payment.errorCode && isCredentialsError(changed.errorCode)) {
      const { isSimulated } = findProvider(this.connection.formula.id);
      if (!isSimulated) await this.payments.failCredentials(this.connection);
    }
    return changed ?? payment;
  }

  lookUp(payment: Payment): Promise<LookUpOutcome> {
    return this.#call((connector, context) => connector.lookUp(context, paymentReference(payment)));
  }

  /** Finishes the approval after the buyer's return. */
  finishApproval(payment: Payment, query: URLSearchParams): Promise<LookUpOutcome> {
    return this.#call((connector, context) =>
      connector.finishApproval(context, { payment: paymentReference(payment), query }),
    );
  }

  /** Releases what an authorization holds. */
  release(payment: Payment, idempotencyKey: string): Promise<FollowUpOutcome> {
    return this.#call((connector, context) =>
      connector.void(context, { idempotencyKey, payment: paymentReference(payment) }),
    );
  }

  async #respond(payment: Payment, attempt: Attempt, card: SensitiveCard | undefined): Promise<ChangeOf> {
    if (attempt.operation === "authorize") {
      const outcome = outcomeForAttempt(attempt, await this.#authorize(payment, attempt, card));
      return (current, now) => applyAuthorization(current, outcome, attempt.key, now.getTime());
    }
    const outcome = outcomeForAttempt(attempt, await this.#operate(payment, attempt));
    return (current, now, refunds) => applyOperation({ payment: current, refunds }, attempt, outcome, now.getTime());
  }

  async #authorize(payment: Payment, attempt: Attempt, card: SensitiveCard | undefined): Promise<AuthorizationOutcome> {
    if (!card) return { kind: "unknown", codes: {} };
    const { amount, currency, metadata, ...order } = payment.order;
    return this.#call((connector, context) =>
      connector.authorize(context, {
        ...order,
        card,
        money: { amount, currency },
        metadata: metadata ?? {},
        idempotencyKey: attempt.key,
        reconciliationId: showReconciliationId(payment),
        returnUrl: this.#parts.returnUrl(this.payments.keys, payment),
      }),
    );
  }

  async #operate(payment: Payment, { operation, key, amount, refundId }: Attempt): Promise<FollowUpOutcome> {
    if (operation === "void") return this.release(payment, key);
    const { providerId } = payment;
    if (providerId === undefined) return { kind: "unknown", codes: { rawCode: "no_provider_id" } };
    const named = { ...paymentReference(payment), providerId };
    const money = { amount, currency: payment.order.currency };
    if (operation === "capture") {
      return this.#call((connector, context) =>
        connector.capture(context, { idempotencyKey: key, payment: named, money }),
      );
    }
    const reference = refundId ? compactUuid(refundId) : key;
    return this.#call((connector, context) =>
      connector.refund(context, { idempotencyKey: key, payment: named, money, reference, reason: undefined }),
    );
  }

  async #call<T>(send: (connector: Connector, context: ConnectorContext) => Promise<T>): Promise<T | Unknown> {
    const { connectors, onDefect } = this.#parts;
    const { tenantId } = this.payments;
    const connector = connectors.of(this.connection.formula.id);
    try {
      return await send(connector, connectors.contextOf(tenantId, this.connection));
    } catch (error) {
      onDefect(tenantId, error);
      return { kind: "unknown", codes: { rawCode: "internal" } };
    }
  }
}
