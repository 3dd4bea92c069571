import { createHash, createHmac, timingSafeEqual } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import type { TenantId } from "../../base/ids.js";
import { isJsonObject, type Json } from "../../base/json.js";
import { cardBrand } from "../../tokens/types/card-brand.js";
import type {
  AuthorizationOutcome,
  AuthorizationRequest,
  CaptureRequest,
  Connector,
  ConnectorContext,
  CredentialsOutcome,
  FollowUpOutcome,
  LookUpOutcome,
  PaymentReference,
  RefundRequest,
  VoidRequest,
  WebhookDelivery,
  WebhookReading,
} from "../connector.js";
import { isDecline } from "../error-code.js";
import type { Books } from "./books.js";
import { approved, type Entry, entryOf, type Page, totalOf } from "./ledger.js";
import { type Behaviour, behaviourOf } from "./rules.js";
import { codesOf, simulatorId, standingOf } from "./standing.js";

/** Where a buyer approves a simulated payment. */
export type ApprovalPage = (tenantId: TenantId, reference: string) => Promise<string>;

const ASYNC_MS = 2_000;
const HOUR_S = 3_600;

/**
 * A payment service that moves no money. Deterministic: the same card and amount end the same way (orchestration.md 7).
 * Its books are in the database, and answers can be lost on the way back, so that everything after can be tried.
 */
export class Simulator implements Connector {
  readonly formulaId = "simulator-card";
  readonly #books: Books;
  readonly #approvalPage: ApprovalPage;

  constructor(books: Books, approvalPage: ApprovalPage) {
    this.#books = books;
    this.#approvalPage = approvalPage;
  }

  async authorize(context: ConnectorContext, request: AuthorizationRequest): Promise<AuthorizationOutcome> {
    await latency(context);
    const { tenantId } = context;
    const { reconciliationId, idempotencyKey } = request;
    const now = context.now.getTime();
    const behaviour = behaviourOf(request);
    const decided = decide(context, request, behaviour, now);
    const isLostOnItsWay = behaviour.answer === "request_lost";
    const before = await this.#books.find(tenantId, reconciliationId);
    if (before?.stand === "lost") {
      await this.#books.change(tenantId, reconciliationId, ({ stand }) => (stand === "lost" ? decided : undefined));
    } else if (!before) {
      await this.#books.open(
        tenantId,
        reconciliationId,
        isLostOnItsWay ? { ...decided, stand: "lost", entries: [] } : decided,
      );
      if (behaviour.answer !== "none") return lostAnswer(behaviour.answer);
    }
    const page = (await this.#books.find(tenantId, reconciliationId)) ?? decided;
    const first = entryOf(page, "authorization");
    if (first && first.key !== idempotencyKey) {
      return { kind: "failed", errorCode: "service_resource_conflict", codes: { rawCode: "reference_taken" } };
    }
    return this.#standing(context, reconciliationId, page);
  }

  async capture(context: ConnectorContext, request: CaptureRequest): Promise<FollowUpOutcome> {
    return this.#follow(context, request, "capture", request.money.amount, (page) => {
      if (entryOf(page, "void") || entryOf(page, "capture")) return "unexpected_state";
      return request.money.amount > (entryOf(page, "authorization")?.amount ?? 0) ? "invalid_amount" : undefined;
    });
  }

  async void(context: ConnectorContext, request: VoidRequest): Promise<FollowUpOutcome> {
    return this.#follow(context, request, "void", 0, (page) =>
      entryOf(page, "capture") || entryOf(page, "void") ? "unexpected_state" : undefined,
    );
  }

  async refund(context: ConnectorContext, request: RefundRequest): Promise<FollowUpOutcome> {
    const { amount } = request.money;
    return this.#follow(
      context,
      request,
      "refund",
      amount,
      (page) => {
        const left = (entryOf(page, "capture")?.amount ?? 0) - totalOf(page, "refund");
        return amount > left ? "refund_already_satisfied" : undefined;
      },
      request.reference,
    );
  }

  async lookUp(context: ConnectorContext, { reconciliationId }: PaymentReference): Promise<LookUpOutcome> {
    await latency(context);
    const page = await this.#books.find(context.tenantId, reconciliationId);
    if (!page || page.stand === "lost") return { kind: "absent" };
    const refunds = page.entries
      .filter(({ kind }) => kind === "refund")
      .map(({ reference, amount, at }) => ({
        reference,
        providerId: simulatorId(reference ?? ""),
        outcome: { kind: "done", amount, at: new Date(at), codes: {} } as const,
      }));
    return { kind: "found", standing: await this.#standing(context, reconciliationId, page), refunds };
  }

  finishApproval(context: ConnectorContext, { payment }: { payment: PaymentReference }): Promise<LookUpOutcome> {
    return this.lookUp(context, payment);
  }

  async checkCredentials(context: ConnectorContext): Promise<CredentialsOutcome> {
    await latency(context);
    const wanted = context.fields.get("verify_result")?.reveal();
    return { kind: wanted === "failed" ? "refused" : wanted === "pending" ? "unclear" : "accepted" };
  }

  /** `Simulator-Signature`: HMAC-SHA-256 of the body under the webhook secret, in hex. Body: {id, payment}. */
  readWebhook({ fields }: ConnectorContext, { headers, body }: WebhookDelivery): WebhookReading {
    const secret = fields.get("webhook_secret")?.reveal();
    const given = Buffer.from(headers["simulator-signature"] ?? "", "hex");
    const expected = createHmac("sha256", secret ?? "")
      .update(body)
      .digest();
    if (!secret || given.length !== expected.length || !timingSafeEqual(given, expected)) return { kind: "unverified" };
    const event = parse(body.toString("utf8"));
    if (!isJsonObject(event) || typeof event.id !== "string" || typeof event.payment !== "string") {
      return { kind: "malformed" };
    }
    const payment = { reconciliationId: event.payment.replace(/^sim_/, "") };
    return {
      kind: "verified",
      events: [{ eventId: event.id.slice(0, 200), payment, report: { kind: "changed" } }],
      receipt: "ok",
    };
  }

  async #standing(context: ConnectorContext, reference: string, page: Page) {
    const url = page.stand === "awaiting_buyer" ? await this.#approvalPage(context.tenantId, reference) : "";
    return standingOf(reference, page, context.now.getTime(), url);
  }

  /** An operation after the authorization: what stands in the books under its key already is told again. */
  async #follow(
    context: ConnectorContext,
    { idempotencyKey, payment }: Pick<CaptureRequest, "idempotencyKey"> & { readonly payment: PaymentReference },
    operation: "capture" | "void" | "refund",
    amount: number,
    objection: (page: Page) => "unexpected_state" | "invalid_amount" | "refund_already_satisfied" | undefined,
    reference?: string,
  ): Promise<FollowUpOutcome> {
    await latency(context);
    const at = context.now.getTime();
    let refused: FollowUpOutcome | undefined;
    const page = await this.#books.change(context.tenantId, payment.reconciliationId, (current) => {
      refused = undefined;
      if (current.entries.some(({ key }) => key === idempotencyKey)) return undefined;
      const { later } = current;
      const fault = later?.operation === operation ? later.errorCode : objection(current);
      if (current.stand === "awaiting_buyer" && operation === "void") {
        return current.approval?.approvesLate ? undefined : { ...current, stand: "failed", errorCode: "canceled" };
      }
      if (fault || current.stand !== "approved") {
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
    if (!page || page.stand === "lost") {
      return { kind: "refused", as: "failed", errorCode: "unknown_service_resource", codes: { rawCode: "not_found" } };
    }
    if (refused) return refused;
    const wait = operation === "capture" ? page.captureMs : operation === "void" ? page.voidMs : 0;
    if (wait > 0) return { kind: "accepted", codes: {} };
    const providerId = reference === undefined ? undefined : simulatorId(reference);
    return { kind: "done", providerId, at: context.now, codes: operation === "refund" ? {} : codesOf(page) };
  }
}

function decide(
  { fields }: ConnectorContext,
  request: AuthorizationRequest,
  { verdict, cvv, later, approvesHalf, asyncCapture, asyncVoid, approvesLate }: Behaviour,
  now: number,
): Page {
  const isSlow = asyncCapture || fields.get("async_capture")?.reveal() === "true";
  const lifetime = Number(fields.get("approval_ttl_s")?.reveal() ?? HOUR_S) * 1_000;
  const page: Page = {
    ...{
      stand: "approved",
      ...request.money,
      intent: request.intent,
      errorCode: undefined,
      responseCode: "00",
      cvv,
      later,
    },
    schemeTransactionId: schemeTransactionId(request, now),
    threeDS: "none",
    ...{ approvesHalf, captureMs: isSlow ? ASYNC_MS : 0, voidMs: asyncVoid ? ASYNC_MS : 0 },
    ...{ approval: undefined, entries: [] },
  };
  switch (verdict.kind) {
    case "approve":
      return approved(page, request.idempotencyKey, now);
    case "frictionless":
      return approved({ ...page, threeDS: "frictionless" }, request.idempotencyKey, now);
    case "setup_error":
      return { ...page, stand: "failed", errorCode: "service_error", responseCode: "96", threeDS: "setup_error" };
    case "challenge": {
      const { returnUrl } = request;
      const declinesAnyway = verdict.afterwards === "declined";
      return {
        ...page,
        stand: "awaiting_buyer",
        approval: { returnUrl, key: request.idempotencyKey, expiresAt: now + lifetime, declinesAnyway, approvesLate },
      };
    }
    case "decline":
    case "fail": {
      const { errorCode, responseCode } = verdict;
      return { ...page, stand: verdict.kind === "decline" ? "declined" : "failed", errorCode, responseCode };
    }
  }
}

/** Made from our reference alone: 15 digits at Visa and most others, 9 characters and the day at Mastercard. */
function schemeTransactionId({ reconciliationId, card }: AuthorizationRequest, now: number): string {
  const hash = createHash("sha256").update(reconciliationId).digest();
  const digits = (hash.readBigUInt64BE() % 10n ** 15n).toString().padStart(15, "0");
  if (cardBrand(card.reveal().number) !== "mastercard") return digits;
  return `MCC${digits.slice(0, 6)}${new Date(now).toISOString().slice(5, 10).replace("-", "")}`;
}

function lostAnswer(fault: Exclude<Behaviour["answer"], "none">): AuthorizationOutcome {
  const rawCode = {
    lost: "connection_lost",
    request_lost: "connection_lost",
    status_500: "500",
    malformed: "malformed",
    late: "timeout",
  };
  return { kind: "unknown", codes: { rawCode: rawCode[fault] } };
}

async function latency({ fields }: ConnectorContext): Promise<void> {
  const wanted = Number(fields.get("latency_ms")?.reveal() ?? 0);
  if (wanted > 0) await pause(Math.min(wanted, 30_000));
}

function parse(text: string): Json | undefined {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
