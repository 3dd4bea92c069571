import { Stripe } from "../../../packages/oracles/index.js";
import type { Json, JsonObject } from "../../../src/base/json.js";
import type { WebhookDelivery } from "../../../src/payments/contract/webhook.js";
import { readForm, textAt } from "./form.js";
import { Ledger, type Movement } from "./ledger.js";
import { type ProviderRequest, type ProviderResponse, type ProviderServer, serveProvider } from "./provider-server.js";

type Named<T> = Extract<keyof T, string>;
type CardOptions = Stripe.PaymentIntentCreateParams.PaymentMethodOptions.Card;
type External3ds = Stripe.PaymentIntentCreateParams.PaymentMethodOptions.Card.ThreeDSecure;

/** The published parameters that a card payment can use: all others are rejected, as Stripe does. */
const CREATE: readonly Named<Stripe.PaymentIntentCreateParams>[] = [
  "allowed_payment_method_types",
  "amount",
  "currency",
  "capture_method",
  "confirm",
  "description",
  "error_on_requires_action",
  "expand",
  "metadata",
  "off_session",
  "payment_method_data",
  "payment_method_options",
  "return_url",
];
const CARD_OPTIONS: readonly Named<CardOptions>[] = [
  "request_three_d_secure",
  "stored_credential_usage",
  "three_d_secure",
];
const EXTERNAL_3DS: readonly Named<External3ds>[] = [
  "ares_trans_status",
  "cryptogram",
  "electronic_commerce_indicator",
  "requestor_challenge_indicator",
  "transaction_id",
  "version",
];
const CAPTURE: readonly Named<Stripe.PaymentIntentCaptureParams>[] = [
  "amount_to_capture",
  "expand",
  "final_capture",
  "metadata",
];
const CANCEL: readonly Named<Stripe.PaymentIntentCancelParams>[] = ["cancellation_reason", "expand"];
const REFUND: readonly Named<Stripe.RefundCreateParams>[] = [
  "amount",
  "expand",
  "metadata",
  "payment_intent",
  "reason",
];

/** Stripe's published test cards and what their issuers decide. */
const DECLINES: Readonly<Record<string, { code: string; decline_code?: string; network_decline_code?: string }>> = {
  "4000000000000002": { code: "card_declined", decline_code: "generic_decline", network_decline_code: "05" },
  "4000000000009995": { code: "card_declined", decline_code: "insufficient_funds", network_decline_code: "51" },
  "4000000000009987": { code: "card_declined", decline_code: "lost_card", network_decline_code: "41" },
  "4000000000000069": { code: "expired_card", decline_code: "expired_card", network_decline_code: "54" },
  "4000000000000127": { code: "incorrect_cvc", decline_code: "incorrect_cvc" },
  "4000000000000119": { code: "processing_error", decline_code: "processing_error" },
};
const CHALLENGED = "4000000000003220";
const CVC_FAILS = "4000000000000101";

interface Intent {
  readonly id: string;
  readonly created: number;
  readonly amount: number;
  readonly currency: string;
  readonly reference: string;
  readonly metadata: JsonObject;
  readonly number: string;
  readonly cvc: string | undefined;
  readonly manual: boolean;
  readonly returnUrl: string | undefined;
  readonly external3ds: boolean;
  status: Stripe.PaymentIntent.Status;
  received: number;
  refunded: number;
  /** Never captured, and booked as refunded. */
  rest: number;
  canceledBecause: string | null;
  /** Money was held before it was canceled. */
  released: boolean;
  error: JsonObject | null;
}

/**
 * Stripe's payment intents on loopback. An idempotency key replays the first response for 24 hours, whatever it was; the
 * same key with other parameters, or on another path, is an error.
 */
export class StripeStandIn implements AsyncDisposable {
  readonly ledger = new Ledger();
  readonly secretKey = "sk_test_51StandInStandInStandIn";
  readonly webhookSecret = "whsec_c3RhbmQtaW4tc3RhbmQtaW4";
  /** A key that exists but lacks permissions. */
  readonly restrictedKey = "rk_test_51StandInWithoutRights";
  /** Whether the account may send card numbers itself. */
  rawCards = true;
  /**
   * How the remainder of a partial capture is booked: as refunded on the charge, with a refund of its own in the list
   * (as accounts report it), without one, or not at all.
   */
  booksRest: "listed" | "unlisted" | "never" = "listed";
  /** Whether the search index is up to date. */
  indexed = false;
  #server: ProviderServer | undefined;
  readonly #refunds: JsonObject[] = [];
  readonly #events: JsonObject[] = [];
  readonly #intents = new Map<string, Intent>();
  readonly #responses = new Map<string, { fingerprint: string; response: ProviderResponse }>();
  #serial = 0;

  static async start(): Promise<StripeStandIn> {
    const standIn = new StripeStandIn();
    standIn.#server = await serveProvider((request) => standIn.#respond(request));
    return standIn;
  }

  get server(): ProviderServer {
    if (!this.#server) throw new Error("not started");
    return this.#server;
  }

  get url(): string {
    return this.server.url;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.server[Symbol.asyncDispose]();
  }

  /** The buyer's action on the bank's page. */
  authenticate(id: string, succeeds: boolean): void {
    const intent = this.#intents.get(id);
    if (intent?.status !== "requires_action") throw new Error(`${id} waits for no buyer`);
    if (succeeds) this.#approve(intent);
    else this.#decline(intent, { code: "payment_intent_authentication_failure" });
  }

  /** A day passes, and keys expire. */
  forgetKeys(): void {
    this.#responses.clear();
  }

  /** The payment with this reference. */
  find(reference: string): string | undefined {
    return [...this.#intents.values()].find((intent) => intent.reference === reference)?.id;
  }

  /** The due webhooks, signed by Stripe's own library. */
  takeWebhooks(): WebhookDelivery[] {
    return this.#events.splice(0).map((event) => this.signed(event));
  }

  signed(event: JsonObject, secret = this.webhookSecret): WebhookDelivery {
    const payload = JSON.stringify(event);
    const signature = Stripe.webhooks.generateTestHeaderString({ payload, secret });
    return { headers: { "stripe-signature": signature }, body: Buffer.from(payload) };
  }

  #sendWebhook(type: string, object: JsonObject): void {
    this.#serial += 1;
    const created = Math.floor(Date.now() / 1000);
    this.#events.push({
      id: `evt_${this.#serial}`,
      object: "event",
      api_version: Stripe.API_VERSION,
      created,
      type,
      data: { object },
    });
  }

  #respond(request: ProviderRequest): ProviderResponse {
    const key = request.headers.authorization?.replace(/^Bearer /, "");
    if (key !== this.secretKey && key !== this.restrictedKey) {
      return refuse(401, { type: "invalid_request_error", message: "Invalid API Key provided: sk_test_****" });
    }
    if (key === this.restrictedKey) {
      return refuse(403, { type: "invalid_request_error", message: "The provided key does not have the rights." });
    }
    if (request.method === "GET") return this.#read(request);
    if (!request.headers["content-type"]?.startsWith("application/x-www-form-urlencoded")) {
      return refuse(400, { type: "invalid_request_error", message: "Send a form." });
    }
    return this.#once(request, () => this.#change(request));
  }

  #once(request: ProviderRequest, change: () => ProviderResponse): ProviderResponse {
    const key = request.headers["idempotency-key"];
    if (key === undefined) return change();
    const fingerprint = `${request.path}\n${request.body}`;
    const earlier = this.#responses.get(key);
    if (earlier && earlier.fingerprint !== fingerprint) {
      return refuse(400, { type: "idempotency_error", message: "Keys may only be used with the same parameters." });
    }
    if (earlier) return { ...earlier.response, headers: { "idempotent-replayed": "true" } };
    const response = change();
    this.#responses.set(key, { fingerprint, response });
    return response;
  }

  #read({ path, query }: ProviderRequest): ProviderResponse {
    if (path === "/v1/payment_intents/search") {
      const [, wanted] = /^metadata\['reconciliation_id'\]:'([^']+)'$/.exec(query.get("query") ?? "") ?? [];
      const found = [...this.#intents.values()].filter(({ reference }) => this.indexed && reference === wanted);
      const data = found.map((intent) => this.#show(intent, false));
      return ok({ object: "search_result", url: path, has_more: false, data });
    }
    if (path === "/v1/refunds") {
      const data = this.#refunds.filter((refund) => refund.payment_intent === query.get("payment_intent"));
      return ok({ object: "list", url: path, has_more: false, data });
    }
    if (path === "/v1/payment_intents") {
      const after = Number(query.get("created[gte]") ?? 0);
      const found = [...this.#intents.values()].filter(({ created }) => created >= after).reverse();
      const from = found.findIndex(({ id }) => id === query.get("starting_after")) + 1;
      const limit = Number(query.get("limit") ?? 10);
      const page = found.slice(from, from + limit).map((intent) => this.#show(intent, false));
      return ok({ object: "list", url: path, has_more: found.length > from + limit, data: page });
    }
    const id = /^\/v1\/payment_intents\/([^/]+)$/.exec(path)?.[1];
    const intent = id === undefined ? undefined : this.#intents.get(id);
    if (intent) return ok(this.#show(intent, query.get("expand[0]") === "latest_charge"));
    return refuse(404, { type: "invalid_request_error", code: "resource_missing", message: "No such payment_intent" });
  }

  #change(request: ProviderRequest): ProviderResponse {
    const form = readForm(request.body);
    if (request.path === "/v1/payment_intents") return this.#create(form);
    if (request.path === "/v1/refunds") return this.#refund(form);
    const [, id = "", step] = /^\/v1\/payment_intents\/([^/]+)\/(capture|cancel)$/.exec(request.path) ?? [];
    const intent = this.#intents.get(id);
    if (!intent) return refuse(404, { type: "invalid_request_error", code: "resource_missing", message: "None such" });
    return step === "capture" ? this.#capture(intent, form) : this.#cancel(intent, form);
  }

  #create(form: JsonObject): ProviderResponse {
    const unknown =
      unknownKey(form, CREATE) ??
      unknownKey(form.payment_method_options, ["card"]) ??
      unknownKey(objectAt(form, "payment_method_options", "card"), CARD_OPTIONS) ??
      unknownKey(objectAt(form, "payment_method_options", "card", "three_d_secure"), EXTERNAL_3DS);
    if (unknown !== undefined) return unknownParameter(unknown);
    const number = textAt(form, "payment_method_data", "card", "number");
    const amount = Number(form.amount);
    if (!/^[a-z]{3}$/.test(textAt(form, "currency") ?? "")) return refuse(400, invalidRequest("currency"));
    if (!Number.isInteger(amount) || amount < 1)
      return refuse(400, invalidRequest("amount", "parameter_invalid_integer"));
    if (amount < 50) return refuse(400, invalidRequest("amount", "amount_too_small"));
    if (number === undefined || form.confirm !== "true") return refuse(400, invalidRequest("payment_method_data"));
    if (!this.rawCards) {
      return refuse(402, {
        type: "invalid_request_error",
        message: "Sending credit card numbers directly to the Stripe API is generally unsafe. Use test tokens instead.",
      });
    }
    const off = form.off_session === "true";
    const external3ds = textAt(form, "payment_method_options", "card", "three_d_secure", "cryptogram") !== undefined;
    this.#serial += 1;
    const intent: Intent = {
      id: `pi_${String(this.#serial).padStart(24, "3")}`,
      created: Math.floor(Date.now() / 1000),
      amount,
      currency: textAt(form, "currency") ?? "",
      reference: textAt(form, "metadata", "reconciliation_id") ?? "",
      metadata: objectAt(form, "metadata") ?? {},
      number,
      cvc: textAt(form, "payment_method_data", "card", "cvc"),
      manual: form.capture_method === "manual",
      returnUrl: textAt(form, "return_url"),
      external3ds,
      status: "requires_confirmation",
      received: 0,
      refunded: 0,
      rest: 0,
      canceledBecause: null,
      released: false,
      error: null,
    };
    this.#intents.set(intent.id, intent);
    const decline = DECLINES[number];
    if (decline) return this.#declined(intent, decline);
    if (number === CHALLENGED && !external3ds) {
      if (off)
        return this.#declined(intent, { code: "authentication_required", decline_code: "authentication_required" });
      intent.status = "requires_action";
    } else {
      this.#approve(intent);
    }
    return ok(this.#show(intent, expands(form)));
  }

  #approve(intent: Intent): void {
    intent.status = intent.manual ? "requires_capture" : "succeeded";
    this.#record(intent, "authorize", intent.amount);
    if (intent.manual) return;
    intent.received = intent.amount;
    this.#record(intent, "capture", intent.amount);
  }

  #declined(intent: Intent, decline: { code: string; decline_code?: string; network_decline_code?: string }) {
    this.#decline(intent, decline);
    const error = { ...intent.error, payment_intent: this.#show(intent, false) };
    return { status: 402, body: JSON.stringify({ error }) };
  }

  #decline(intent: Intent, decline: { code: string; decline_code?: string; network_decline_code?: string }): void {
    intent.status = "requires_payment_method";
    intent.error = {
      type: "card_error",
      message: "Your card was declined.",
      charge: `ch_${intent.id.slice(3)}`,
      ...decline,
    };
  }

  #capture(intent: Intent, form: JsonObject): ProviderResponse {
    const unknown = unknownKey(form, CAPTURE);
    if (unknown !== undefined) return unknownParameter(unknown);
    if (intent.status !== "requires_capture") return refuse(400, unexpectedState(this.#show(intent, false)));
    const amount = form.amount_to_capture === undefined ? intent.amount : Number(form.amount_to_capture);
    if (!(amount > 0 && amount <= intent.amount))
      return refuse(400, invalidRequest("amount_to_capture", "amount_too_large"));
    intent.status = "succeeded";
    intent.received = amount;
    const rest = intent.amount - amount;
    if (rest > 0 && this.booksRest !== "never") intent.rest = rest;
    if (rest > 0 && this.booksRest === "listed") this.#list(intent, rest, {}, null);
    this.#record(intent, "capture", amount);
    return ok(this.#show(intent, expands(form)));
  }

  /** A refund by the merchant on Stripe's own pages. */
  refundElsewhere(reference: string, amount: number): void {
    const intent = this.#intents.get(this.find(reference) ?? "");
    if (!intent) throw new Error("no such payment");
    intent.refunded += amount;
    this.#record(intent, "refund", amount);
    this.#list(intent, amount, {}, "requested_by_customer");
  }

  #cancel(intent: Intent, form: JsonObject): ProviderResponse {
    const unknown = unknownKey(form, CANCEL);
    if (unknown !== undefined) return unknownParameter(unknown);
    if (intent.status === "succeeded" || intent.status === "canceled") {
      return refuse(400, unexpectedState(this.#show(intent, false)));
    }
    const held = intent.status === "requires_capture";
    intent.status = "canceled";
    intent.canceledBecause = textAt(form, "cancellation_reason") ?? null;
    if (held) {
      intent.released = true;
      this.#record(intent, "void", intent.amount);
    }
    return ok(this.#show(intent, expands(form)));
  }

  #refund(form: JsonObject): ProviderResponse {
    const unknown = unknownKey(form, REFUND);
    if (unknown !== undefined) return unknownParameter(unknown);
    const intent = this.#intents.get(textAt(form, "payment_intent") ?? "");
    if (!intent) return refuse(404, { ...invalidRequest("payment_intent"), code: "resource_missing" });
    const left = intent.received - intent.refunded;
    const amount = form.amount === undefined ? left : Number(form.amount);
    if (left === 0) return refuse(400, invalidRequest("payment_intent", "charge_already_refunded"));
    if (!(amount > 0 && amount <= left)) return refuse(400, invalidRequest("amount"));
    intent.refunded += amount;
    this.#record(intent, "refund", amount);
    return ok(this.#list(intent, amount, objectAt(form, "metadata") ?? {}, textAt(form, "reason") ?? null));
  }

  #list(intent: Intent, amount: number, metadata: JsonObject, reason: string | null): JsonObject {
    this.#serial += 1;
    const refund: JsonObject = {
      id: `re_${String(this.#serial).padStart(24, "3")}`,
      object: "refund",
      amount,
      charge: `ch_${intent.id.slice(3)}`,
      created: intent.created,
      currency: intent.currency,
      metadata,
      payment_intent: intent.id,
      reason,
      status: "succeeded",
    };
    this.#refunds.unshift(refund);
    this.#sendWebhook("refund.created", refund);
    return refund;
  }

  #record(intent: Intent, kind: Movement["kind"], amount: number): void {
    const type = { authorize: "amount_capturable_updated", capture: "succeeded", void: "canceled" } as const;
    if (kind !== "refund") this.#sendWebhook(`payment_intent.${type[kind]}`, this.#show(intent, false));
    this.ledger.record({ kind, amount, payment: intent.id, reference: intent.reference, currency: intent.currency });
  }

  #show(intent: Intent, expanded: boolean): JsonObject {
    // A charge stays with its payment when that is canceled.
    const held = intent.status === "requires_capture" || intent.status === "succeeded" || intent.released;
    const charged = held || intent.error !== null;
    const charge = `ch_${intent.id.slice(3)}`;
    return {
      id: intent.id,
      object: "payment_intent",
      amount: intent.amount,
      amount_capturable: intent.status === "requires_capture" ? intent.amount : 0,
      amount_received: intent.received,
      canceled_at: intent.status === "canceled" ? intent.created : null,
      cancellation_reason: intent.canceledBecause,
      capture_method: intent.manual ? "manual" : "automatic",
      created: intent.created,
      currency: intent.currency,
      last_payment_error: intent.error,
      latest_charge: !charged ? null : expanded ? this.#charge(intent) : charge,
      livemode: false,
      metadata: intent.metadata,
      next_action:
        intent.status === "requires_action"
          ? {
              type: "redirect_to_url",
              redirect_to_url: { url: `${this.url}/3ds/${intent.id}`, return_url: intent.returnUrl ?? null },
            }
          : null,
      payment_method_types: ["card"],
      status: intent.status,
    };
  }

  #charge(intent: Intent): JsonObject {
    const cvc = intent.cvc === undefined ? null : intent.number === CVC_FAILS ? "fail" : "pass";
    return {
      id: `ch_${intent.id.slice(3)}`,
      object: "charge",
      amount: intent.amount,
      amount_captured: intent.received,
      amount_refunded: intent.refunded + intent.rest,
      captured: intent.received > 0,
      created: intent.created,
      currency: intent.currency,
      outcome: {
        network_status: intent.error ? "declined_by_network" : "approved_by_network",
        network_decline_code: textAt(intent.error, "network_decline_code") ?? null,
        type: intent.error ? "issuer_declined" : "authorized",
      },
      payment_intent: intent.id,
      payment_method_details: {
        type: "card",
        card: {
          brand: "visa",
          last4: intent.number.slice(-4),
          exp_month: 12,
          exp_year: 2030,
          checks: { address_line1_check: null, address_postal_code_check: null, cvc_check: cvc },
          network_transaction_id: `90${intent.id.slice(-13)}`,
          authorization_code: "044925",
          three_d_secure:
            intent.number === CHALLENGED || intent.external3ds
              ? {
                  authentication_flow: intent.external3ds ? null : "challenge",
                  result: intent.error ? "failed" : "authenticated",
                  version: "2.2.0",
                }
              : null,
        },
      },
      status: intent.error ? "failed" : "succeeded",
    };
  }
}

function expands(form: JsonObject): boolean {
  return Array.isArray(form.expand) && form.expand.includes("latest_charge");
}

function objectAt(value: Json | undefined, ...steps: readonly string[]): JsonObject | undefined {
  let current = value;
  for (const step of steps) {
    if (typeof current !== "object" || current === null || Array.isArray(current)) return undefined;
    current = current[step];
  }
  return typeof current === "object" && current !== null && !Array.isArray(current) ? current : undefined;
}

function unknownKey(value: Json | undefined, known: readonly string[]): string | undefined {
  const object = objectAt(value);
  return object && Object.keys(object).find((key) => !known.includes(key));
}

function ok(body: JsonObject): ProviderResponse {
  return { status: 200, body: JSON.stringify(body) };
}

function refuse(status: number, error: JsonObject): ProviderResponse {
  return { status, body: JSON.stringify({ error }) };
}

function unknownParameter(name: string): ProviderResponse {
  return refuse(400, {
    type: "invalid_request_error",
    code: "parameter_unknown",
    param: name,
    message: `Received unknown parameter: ${name}`,
  });
}

function invalidRequest(param: string, code = "parameter_missing"): JsonObject {
  return { type: "invalid_request_error", code, param, message: `Invalid ${param}.` };
}

function unexpectedState(intent: JsonObject): JsonObject {
  return {
    type: "invalid_request_error",
    code: "payment_intent_unexpected_state",
    message: "This PaymentIntent's status does not allow this.",
    payment_intent: intent,
  };
}
