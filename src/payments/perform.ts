import type { TenantId } from "../base/ids.js";
import type { TenantKeys } from "../crypto/tenant-keys.js";
import { markCredentialsFailed } from "../store/connections.js";
import type { Database } from "../store/database.js";
import { base62Of } from "./addresses.js";
import { applyFollowUp, applyStanding, type Step, waitingFor } from "./apply.js";
import type { SensitiveCard } from "./card.js";
import type { Connection } from "./connection.js";
import type { Connectors } from "./connectors.js";
import { blamesCredentials } from "./error-code.js";
import type { AuthorizationOutcome, FollowUpOutcome, ProviderCodes } from "./outcome.js";
import { type Attempt, type Payment, reconciliationIdOf, referenceOf } from "./payment.js";
import { type Change, changePayment } from "./payment-changes.js";
import type { RefundRequest } from "./payment-request.js";
import { meant } from "./resent.js";

export interface PerformParts {
  readonly database: Database;
  readonly connectors: Connectors;
  readonly returnUrl: (keys: TenantKeys, tenantId: TenantId, payment: Payment) => string;
  /** A connector broke: a defect of ours. The outcome is then unknown. */
  readonly onDefect: (tenantId: TenantId) => void;
}

/** Sends what a payment's attempt stands for, and writes down what came of it. The row is committed already. */
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
  if (changed?.errorCode && changed.errorCode !== payment.errorCode && blamesCredentials(changed.errorCode)) {
    // The simulator's amounts that play this cause say nothing about its connection.
    if (connection.formula.id !== "simulator-card") {
      await parts.database.fast.run(tenantId, "unguarded", async (tx) =>
        tx.tell(markCredentialsFailed, { id: connection.id, revision: connection.revision }),
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
): Promise<(current: Payment, now: Date) => Change> {
  const { operation, amount, refundId } = attempt;
  if (operation === "authorize") {
    const outcome = await authorize(parts, keys, tenantId, payment, attempt, connection, card);
    return (current, now) => afterAuthorization(current, outcome, now.getTime());
  }
  const outcome = meant(attempt, await followUp(parts, tenantId, payment, attempt, connection));
  if (operation === "refund" && refundId) {
    return (current, now) => ({
      ...afterRefund(current, outcome, attempt, now.getTime()),
      refund: { id: refundId, outcome },
    });
  }
  return (current, now) =>
    operation === "refund"
      ? { payment: current, moved: false, approved: false }
      : applyFollowUp(current, operation, amount, outcome, now.getTime());
}

function afterAuthorization(payment: Payment, outcome: AuthorizationOutcome, now: number): Step {
  if (outcome.kind === "unknown") {
    const waiting = waitingFor({ ...payment, codes: { ...payment.codes, ...outcome.codes } }, "unknown", now);
    return { payment: waiting, moved: false, approved: false };
  }
  const step = applyStanding(payment, outcome, now);
  return outcome.kind === "processing" ? { ...step, payment: waitingFor(step.payment, "accepted", now) } : step;
}

export function afterRefund(payment: Payment, outcome: FollowUpOutcome, attempt: Attempt, now: number): Step {
  const isTheSame = payment.attempt?.refundId === attempt.refundId;
  if (!isTheSame) return { payment, moved: false, approved: false };
  const rested = { ...payment, attempt: undefined, dueAt: undefined, updatedAt: now };
  switch (outcome.kind) {
    case "done": {
      const refundedAmount = Math.min(payment.refundedAmount + attempt.amount, payment.capturedAmount);
      return { payment: { ...rested, refundedAmount }, moved: false, approved: false };
    }
    case "refused":
      return { payment: rested, moved: false, approved: false };
    case "accepted":
    case "unknown":
      return { payment: waitingFor(payment, outcome.kind, now), moved: false, approved: false };
  }
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
    return meant(attempt, outcome);
  } catch {
    onDefect(tenantId);
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
      reference: refundId ? base62Of(refundId) : idempotencyKey,
    };
    return await connector.refund(context, request);
  } catch {
    onDefect(tenantId);
    return unknown({ rawCode: "internal" });
  }
}

function unknown(codes: ProviderCodes): { readonly kind: "unknown"; readonly codes: ProviderCodes } {
  return { kind: "unknown", codes };
}
