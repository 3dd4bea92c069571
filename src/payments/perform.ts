import { compactUuid } from "../base/compact-uuid.js";
import type { TenantId } from "../base/ids.js";
import type { TenantKeys } from "../crypto/tenant-keys.js";
import type { Database } from "../store/database.js";
import { markCredentialsFailed } from "../store/payments/connections.js";
import { applyFollowUp, applyState, type Step } from "./apply.js";
import type { SensitiveCard } from "./card.js";
import type { Connection } from "./connection.js";
import type { Connectors } from "./connectors.js";
import { isCredentialsError } from "./error-code.js";
import { scheduleLookUp } from "./look-up-schedule.js";
import type { AuthorizationOutcome, FollowUpOutcome, ProviderCodes } from "./outcome.js";
import { type Attempt, type Payment, reconciliationIdOf, referenceOf } from "./payment.js";
import { type Change, changePayment } from "./payment-changes.js";
import type { RefundRequest } from "./payment-request.js";
import { providerOf } from "./providers.js";
import { reconcileResend } from "./reconcile-resend.js";
import type { Refund } from "./refund.js";
import { applyRefund, withAnotherLookUp } from "./refund-reports.js";

export interface PerformParts {
  readonly database: Database;
  readonly connectors: Connectors;
  readonly returnUrl: (keys: TenantKeys, tenantId: TenantId, payment: Payment) => string;
  /** Reports a defect in a connector. The outcome is then unknown. */
  readonly onDefect: (tenantId: TenantId, error: unknown) => void;
}

/** Sends a payment's attempt and stores the result. The row is already committed. */
export async function perform(
  parts: PerformParts,
  keys: TenantKeys,
  tenantId: TenantId,
  payment: Payment,
  connection: Connection,
  card: SensitiveCard | undefined,
): Promise<Payment> {
  const { attempt } = payment;
  if (!attempt) return payment;
  const change = await ask(parts, keys, tenantId, payment, attempt, connection, card);
  const changed = await changePayment(parts.database, keys, tenantId, payment.id, change);
  if (changed?.errorCode && changed.errorCode !== payment.errorCode && isCredentialsError(changed.errorCode)) {
    if (!providerOf(connection.formula.id).isSimulated) {
      await parts.database.ordinary.run(tenantId, "unguarded", async (tx) =>
        tx.enqueue(markCredentialsFailed, { id: connection.id, revision: connection.revision }),
      );
    }
  }
  return changed ?? payment;
}

async function ask(
  parts: PerformParts,
  keys: TenantKeys,
  tenantId: TenantId,
  payment: Payment,
  attempt: Attempt,
  connection: Connection,
  card: SensitiveCard | undefined,
): Promise<(current: Payment, now: Date, refunds: readonly Refund[]) => Change> {
  const { operation, amount, key, refundId } = attempt;
  if (operation === "authorize") {
    const outcome = await authorize(parts, keys, tenantId, payment, attempt, connection, card);
    return (current, now) => applyAuthorization(current, outcome, key, now.getTime());
  }
  const outcome = reconcileResend(attempt, await followUp(parts, tenantId, payment, attempt, connection));
  return (current, now, refunds) => {
    if (operation !== "refund") return applyFollowUp(current, { operation, amount, key }, outcome, now.getTime());
    const refund = refunds.find(({ id }) => id === refundId);
    const isUnderWay = refund !== undefined && current.attempt?.key === key;
    if (!isUnderWay) return { payment: current, moved: false, approved: false };
    const change = applyRefund(current, refund, outcome, now.getTime());
    // Between two sendings the service may have refunded: look once more.
    return attempt.state === "sent" ? change : withAnotherLookUp(current, change, now.getTime());
  };
}

/** An unclear response counts only if nothing else has ended the attempt. */
export function applyAuthorization(payment: Payment, outcome: AuthorizationOutcome, key: string, now: number): Step {
  const isUnderWay = payment.attempt?.key === key;
  if (outcome.kind === "unknown") {
    const coded = { ...payment, codes: { ...payment.codes, ...outcome.codes } };
    return { payment: isUnderWay ? scheduleLookUp(coded, "unknown", now) : payment, moved: false, approved: false };
  }
  const step = applyState(payment, outcome, now);
  const isWaiting = outcome.kind === "processing" && isUnderWay;
  return isWaiting ? { ...step, payment: scheduleLookUp(step.payment, "accepted", now) } : step;
}

async function authorize(
  { connectors, returnUrl, onDefect }: PerformParts,
  keys: TenantKeys,
  tenantId: TenantId,
  payment: Payment,
  attempt: Attempt,
  connection: Connection,
  card: SensitiveCard | undefined,
): Promise<AuthorizationOutcome> {
  if (!card) return unknown({});
  const { order } = payment;
  const { amount, currency, intent, metadata, ...rest } = order;
  const connector = connectors.of(connection.formula.id);
  try {
    const outcome = await connector.authorize(connectors.contextOf(tenantId, connection), {
      ...rest,
      ...{ intent, card, money: { amount, currency }, metadata: metadata ?? {} },
      idempotencyKey: attempt.key,
      reconciliationId: reconciliationIdOf(payment),
      returnUrl: returnUrl(keys, tenantId, payment),
    });
    return reconcileResend(attempt, outcome);
  } catch (error) {
    onDefect(tenantId, error);
    return unknown({ rawCode: "internal" });
  }
}

async function followUp(
  { connectors, onDefect }: PerformParts,
  tenantId: TenantId,
  payment: Payment,
  { operation, key: idempotencyKey, amount, refundId }: Attempt,
  connection: Connection,
): Promise<FollowUpOutcome> {
  const connector = connectors.of(connection.formula.id);
  const context = connectors.contextOf(tenantId, connection);
  const money = { amount, currency: payment.order.currency };
  const reference = referenceOf(payment);
  const { providerId } = payment;
  try {
    if (operation === "void") return await connector.void(context, { idempotencyKey, payment: reference });
    if (providerId === undefined) return unknown({ rawCode: "no_provider_id" });
    const named = { ...reference, providerId };
    if (operation === "capture") return await connector.capture(context, { idempotencyKey, payment: named, money });
    const request: RefundRequest = {
      ...{ idempotencyKey, payment: named, money, reason: undefined },
      reference: refundId ? compactUuid(refundId) : idempotencyKey,
    };
    return await connector.refund(context, request);
  } catch (error) {
    onDefect(tenantId, error);
    return unknown({ rawCode: "internal" });
  }
}

function unknown(codes: ProviderCodes): { readonly kind: "unknown"; readonly codes: ProviderCodes } {
  return { kind: "unknown", codes };
}
