import { setTimeout as pause } from "node:timers/promises";
import type { TenantId } from "../../base/ids.js";
import { connectionField } from "../connectors/fields.js";
import type { Connector, ConnectorContext } from "../contract/connector.js";
import { isDecline } from "../contract/error-code.js";
import type { AuthorizationOutcome, CredentialsOutcome, FollowUpOutcome, LookUpOutcome } from "../contract/outcome.js";
import type {
  AuthorizationRequest,
  CaptureRequest,
  PaymentReference,
  RefundRequest,
  VoidRequest,
} from "../contract/payment-request.js";
import type { WebhookDelivery, WebhookReading } from "../contract/webhook.js";
import { decide } from "./decide.js";
import { type Entry, findEntry, type SimulatedPayment, sumEntries } from "./ledger.js";
import { readPaymentState, simulatedCodes, simulatorId } from "./payment-state.js";
import { type Behaviour, simulatedBehaviour } from "./rules.js";
import type { SimulatorStore } from "./simulator-store.js";
import type { SimulatedChange } from "./webhook.js";
import { readSimulatorWebhook } from "./webhook.js";

export type ApprovalPage = (tenantId: TenantId, reference: string) => Promise<string>;

export type SendWebhook = (tenantId: TenantId, change: SimulatedChange) => void;

interface FollowUp {
  readonly operation: "capture" | "void" | "refund";
  readonly amount: number;
  readonly reference?: string;
  /** Why the simulated payment does not allow it. */
  objection(payment: SimulatedPayment): "unexpected_state" | "invalid_amount" | "refund_already_satisfied" | undefined;
}

/**
 * A payment service that moves no money. Deterministic: the same card and amount end the same way (docs/payments.md).
 * Its payments are in the database, and responses can be lost, to exercise everything that follows a loss.
 */
export class Simulator implements Connector {
  readonly formulaId = "simulator-card";
  readonly #store: SimulatorStore;
  readonly #approvalPage: ApprovalPage;
  readonly #sendWebhook: SendWebhook;

  constructor(store: SimulatorStore, approvalPage: ApprovalPage, sendWebhook: SendWebhook) {
    this.#store = store;
    this.#approvalPage = approvalPage;
    this.#sendWebhook = sendWebhook;
  }

  hostOf(): undefined {
    return undefined;
  }

  async authorize(context: ConnectorContext, request: AuthorizationRequest): Promise<AuthorizationOutcome> {
    await latency(context);
    const { tenantId } = context;
    const { reconciliationId, idempotencyKey } = request;
    const now = context.now.getTime();
    const behaviour = simulatedBehaviour(request);
    const decided = decide(context, request, behaviour, now);
    const isLostOnItsWay = behaviour.responseFault === "request_lost";
    const before = await this.#store.find(tenantId, reconciliationId);
    if (before?.bankState === "lost") {
      await this.#store.change(tenantId, reconciliationId, ({ bankState }) =>
        bankState === "lost" ? decided : undefined,
      );
    } else if (!before) {
      await this.#store.open(
        tenantId,
        reconciliationId,
        isLostOnItsWay ? { ...decided, bankState: "lost", entries: [] } : decided,
      );
      const isHeld = decided.entries.length > 0 && !isLostOnItsWay;
      if (isHeld) {
        const after = request.intent === "capture" ? decided.captureMs : 0;
        this.#sendWebhook(tenantId, { reference: reconciliationId, after, times: behaviour.isSentTwice ? 2 : 1 });
      }
      if (behaviour.responseFault !== "none") return lostResponse(behaviour.responseFault);
    }
    const simulated = (await this.#store.find(tenantId, reconciliationId)) ?? decided;
    const first = findEntry(simulated, "authorization");
    if (first && first.key !== idempotencyKey) {
      return { kind: "failed", errorCode: "service_resource_conflict", codes: { rawCode: "reference_taken" } };
    }
    return this.#stateOf(context, reconciliationId, simulated);
  }

  async capture(context: ConnectorContext, request: CaptureRequest): Promise<FollowUpOutcome> {
    const { amount } = request.money;
    return this.#follow(context, request, {
      operation: "capture",
      amount,
      objection(simulated) {
        if (findEntry(simulated, "void") || findEntry(simulated, "capture")) return "unexpected_state";
        return amount > (findEntry(simulated, "authorization")?.amount ?? 0) ? "invalid_amount" : undefined;
      },
    });
  }

  async void(context: ConnectorContext, request: VoidRequest): Promise<FollowUpOutcome> {
    return this.#follow(context, request, {
      operation: "void",
      amount: 0,
      objection: (simulated) =>
        findEntry(simulated, "capture") || findEntry(simulated, "void") ? "unexpected_state" : undefined,
    });
  }

  async refund(context: ConnectorContext, request: RefundRequest): Promise<FollowUpOutcome> {
    const { amount } = request.money;
    return this.#follow(context, request, {
      operation: "refund",
      amount,
      reference: request.reference,
      objection(simulated) {
        const left = (findEntry(simulated, "capture")?.amount ?? 0) - sumEntries(simulated, "refund");
        return amount > left ? "refund_already_satisfied" : undefined;
      },
    });
  }

  async lookUp(context: ConnectorContext, { reconciliationId }: PaymentReference): Promise<LookUpOutcome> {
    await latency(context);
    const simulated = await this.#store.find(context.tenantId, reconciliationId);
    if (!simulated || simulated.bankState === "lost") return { kind: "absent" };
    const refunds = simulated.entries
      .filter(({ kind }) => kind === "refund")
      .map(({ reference, amount, at }) => ({
        reference,
        providerId: simulatorId(reference ?? ""),
        outcome: { kind: "done", amount, at: new Date(at), codes: {} } as const,
      }));
    return { kind: "found", state: await this.#stateOf(context, reconciliationId, simulated), refunds };
  }

  finishApproval(context: ConnectorContext, { payment }: { payment: PaymentReference }): Promise<LookUpOutcome> {
    return this.lookUp(context, payment);
  }

  async checkCredentials(context: ConnectorContext): Promise<CredentialsOutcome> {
    await latency(context);
    const wanted = connectionField(context, "verify_result");
    return { kind: wanted === "failed" ? "refused" : wanted === "pending" ? "unclear" : "accepted" };
  }

  readWebhook(context: ConnectorContext, delivery: WebhookDelivery): WebhookReading {
    return readSimulatorWebhook(context, delivery);
  }

  async #stateOf(context: ConnectorContext, reference: string, simulated: SimulatedPayment) {
    const url = simulated.bankState === "awaiting_buyer" ? await this.#approvalPage(context.tenantId, reference) : "";
    return readPaymentState(reference, simulated, context.now.getTime(), url);
  }

  /**
   * An operation after the authorization. If the payment already has an entry under its key, that entry is the response.
   */
  async #follow(
    context: ConnectorContext,
    { idempotencyKey, payment }: Pick<CaptureRequest, "idempotencyKey"> & { readonly payment: PaymentReference },
    { operation, amount, reference, objection }: FollowUp,
  ): Promise<FollowUpOutcome> {
    await latency(context);
    const at = context.now.getTime();
    let refused: FollowUpOutcome | undefined;
    const simulated = await this.#store.change(context.tenantId, payment.reconciliationId, (current) => {
      refused = undefined;
      if (current.entries.some(({ key }) => key === idempotencyKey)) return undefined;
      const { later } = current;
      const fault = later?.operation === operation ? later.errorCode : objection(current);
      if (current.bankState === "awaiting_buyer" && operation === "void") {
        return current.approval?.approvesLate ? undefined : { ...current, bankState: "failed", errorCode: "canceled" };
      }
      if (fault || current.bankState !== "approved") {
        const errorCode = fault ?? "unexpected_state";
        refused = {
          kind: "refused",
          as: isDecline(errorCode) ? "declined" : "failed",
          errorCode,
          codes: { rawCode: errorCode },
        };
        return undefined;
      }
      const entry: Entry = { kind: operation, key: idempotencyKey, amount, at, ...(reference ? { reference } : {}) };
      return { ...current, entries: [...current.entries, entry] };
    });
    if (!simulated || simulated.bankState === "lost") {
      return { kind: "refused", as: "failed", errorCode: "unknown_service_resource", codes: { rawCode: "not_found" } };
    }
    if (refused) return refused;
    const wait = operation === "capture" ? simulated.captureMs : operation === "void" ? simulated.voidMs : 0;
    this.#sendWebhook(context.tenantId, { reference: payment.reconciliationId, after: wait });
    if (wait > 0) return { kind: "accepted", codes: {} };
    const providerId = reference === undefined ? undefined : simulatorId(reference);
    return {
      kind: "done",
      providerId,
      at: context.now,
      codes: operation === "refund" ? {} : simulatedCodes(simulated),
    };
  }
}

function lostResponse(fault: Exclude<Behaviour["responseFault"], "none">): AuthorizationOutcome {
  const rawCode = {
    lost: "connection_lost",
    request_lost: "connection_lost",
    status_500: "500",
    malformed: "malformed",
    late: "timeout",
  };
  return { kind: "unknown", codes: { rawCode: rawCode[fault] } };
}

async function latency(context: ConnectorContext): Promise<void> {
  const wanted = Number(connectionField(context, "latency_ms") ?? 0);
  if (wanted > 0) await pause(Math.min(wanted, 30_000));
}
