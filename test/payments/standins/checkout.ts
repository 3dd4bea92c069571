import { createHmac } from "node:crypto";
import type { JsonObject } from "../../../src/base/json.js";
import type { WebhookDelivery } from "../../../src/payments/contract/webhook.js";
import { at, textAt } from "./form.js";
import { Ledger, type Movement } from "./ledger.js";
import { type ProviderRequest, type ProviderResponse, type ProviderServer, serveProvider } from "./provider-server.js";

/** Test cards with their issuers' responses. */
const DECLINES: Readonly<Record<string, readonly [code: string, summary: string]>> = {
  "4544249167673670": ["20005", "Declined - Do Not Honour"],
  "4095254802642505": ["20051", "Insufficient Funds"],
};
const CHALLENGED = "4242424242424242";
/** The allowed fields of a payment request; Checkout.com rejects all others. */
const KNOWN = new Set([
  "source",
  "amount",
  "currency",
  "capture",
  "reference",
  "payment_type",
  "merchant_initiated",
  "previous_payment_id",
  "3ds",
  "processing_channel_id",
  "success_url",
  "failure_url",
  "metadata",
  "customer",
]);

interface Payment {
  readonly id: string;
  readonly reference: string;
  readonly amount: number;
  readonly currency: string;
  readonly sale: boolean;
  readonly hasCvc: boolean;
  readonly decline: readonly [code: string, summary: string] | undefined;
  status: string;
  captured: number;
  refunded: number;
  threeDS: JsonObject | undefined;
  readonly actions: JsonObject[];
}

/**
 * Checkout.com's payments on loopback: authorizes at once, accepts captures, voids and refunds. An idempotency key
 * stores successful responses only.
 */
export class CheckoutStandIn implements AsyncDisposable {
  readonly ledger = new Ledger();
  readonly secretKey = "sk_sbox_abcdefghijklmnopqrstuvwxyz2";
  readonly signatureKey = "stand-in-signature-key-0123456789";
  /** Captures or voids that are accepted and then not executed. */
  readonly declines = new Set<"Capture" | "Void">();
  readonly channel = "pc_zs5fqhybzc2e3jmq3efvybybpq";
  #server: ProviderServer | undefined;
  readonly #payments = new Map<string, Payment>();
  readonly #responses = new Map<string, ProviderResponse>();
  readonly #events: JsonObject[] = [];
  #serial = 0;

  static async start(): Promise<CheckoutStandIn> {
    const standIn = new CheckoutStandIn();
    standIn.#server = await serveProvider((request) => standIn.#respond(request));
    return standIn;
  }

  get server(): ProviderServer {
    if (!this.#server) throw new Error("not started");
    return this.#server;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.server[Symbol.asyncDispose]();
  }

  /** The buyer's action on the bank's page. */
  decide(reference: string, approves: boolean): string {
    const payment = [...this.#payments.values()].find((each) => each.reference === reference);
    if (payment?.status !== "Pending") throw new Error("no buyer is waited for");
    payment.threeDS = { challenged: true, version: "2.2.0", authentication_response: approves ? "Y" : "N" };
    if (approves) this.#approve(payment);
    else this.#refuse(payment, ["20153", "Authentication failed"]);
    return payment.id;
  }

  /** A day passes, and keys expire. */
  forgetKeys(): void {
    this.#responses.clear();
  }

  takeWebhooks(): WebhookDelivery[] {
    return this.#events.splice(0).map((event) => this.signed(event));
  }

  signed(event: JsonObject, key = this.signatureKey): WebhookDelivery {
    const body = Buffer.from(JSON.stringify(event));
    return { headers: { "cko-signature": createHmac("sha256", key).update(body).digest("hex") }, body };
  }

  #respond(request: ProviderRequest): ProviderResponse {
    if (request.headers.authorization !== `Bearer ${this.secretKey}`) return { status: 401, body: "" };
    if (request.method === "GET") return this.#read(request);
    const key = request.headers["cko-idempotency-key"];
    const earlier = key === undefined ? undefined : this.#responses.get(key);
    if (earlier) return earlier;
    const response = this.#change(request);
    if (key !== undefined && response.status < 300) this.#responses.set(key, response);
    return response;
  }

  #read({ path, query }: ProviderRequest): ProviderResponse {
    if (path === "/payments") {
      const found = [...this.#payments.values()].filter(({ reference }) => reference === query.get("reference"));
      return respondWith(200, {
        limit: 10,
        skip: 0,
        total_count: found.length,
        data: found.map((each) => this.#show(each)),
      });
    }
    const [, id = "", part] = /^\/payments\/([^/]+)(\/actions)?$/.exec(path) ?? [];
    const payment = this.#payments.get(id);
    if (!payment) return { status: 404, body: "" };
    return part ? { status: 200, body: JSON.stringify(payment.actions) } : respondWith(200, this.#show(payment));
  }

  #change({ path, body: text }: ProviderRequest): ProviderResponse {
    const body: JsonObject = JSON.parse(text);
    if (path === "/payments") return this.#pay(body);
    const [, id = "", step] = /^\/payments\/([^/]+)\/(captures|voids|refunds)$/.exec(path) ?? [];
    const payment = this.#payments.get(id);
    if (!payment) return { status: 404, body: "" };
    const amount = Number(body.amount);
    const reference = textAt(body, "reference") ?? payment.reference;
    if (step === "captures") return this.#capture(payment, amount, reference);
    if (step === "voids") return this.#void(payment, reference);
    return this.#refund(payment, amount, reference);
  }

  #pay(body: JsonObject): ProviderResponse {
    const unknown = Object.keys(body).find((name) => !KNOWN.has(name));
    const number = textAt(body, "source", "number") ?? "";
    const month = at(body, "source", "expiry_month");
    if (unknown !== undefined) return invalid(`${unknown}_invalid`);
    if (body.processing_channel_id !== this.channel) return invalid("processing_channel_id_required");
    if (!/^\d{13,19}$/.test(number)) return invalid("card_number_invalid");
    if (typeof month !== "number" || typeof at(body, "source", "expiry_year") !== "number")
      return invalid("card_expiry_month_invalid");
    if (!Number.isInteger(body.amount) || Number(body.amount) < 0) return invalid("amount_invalid");
    if (typeof body.merchant_initiated !== "boolean" || typeof body.capture !== "boolean")
      return invalid("capture_invalid");
    this.#serial += 1;
    const payment: Payment = {
      id: `pay_${String(this.#serial).padStart(26, "a")}`,
      reference: textAt(body, "reference") ?? "",
      amount: Number(body.amount),
      currency: textAt(body, "currency") ?? "",
      sale: body.capture,
      hasCvc: textAt(body, "source", "cvv") !== undefined,
      decline: DECLINES[number],
      status: "Pending",
      captured: 0,
      refunded: 0,
      threeDS: undefined,
      actions: [],
    };
    this.#payments.set(payment.id, payment);
    const external = textAt(body, "3ds", "cryptogram") !== undefined;
    if (number === CHALLENGED && at(body, "3ds", "enabled") === true && !external) {
      return respondWith(202, this.#show(payment));
    }
    const shown = payment.decline ? this.#refuse(payment, payment.decline) : this.#approve(payment);
    return respondWith(201, shown);
  }

  /** The immediate response: a sale is only authorized at that time. */
  #approve(payment: Payment): JsonObject {
    payment.status = "Authorized";
    payment.actions.unshift(this.#action("Authorization", payment.amount, payment.reference));
    this.#record(payment, "authorize", payment.amount);
    this.#sendWebhook(payment, "payment_approved", payment.amount, payment.reference);
    const shown = this.#show(payment);
    if (payment.sale) this.#capture(payment, payment.amount, payment.reference);
    return shown;
  }

  #refuse(payment: Payment, [code, summary]: readonly [string, string]): JsonObject {
    payment.status = "Declined";
    payment.actions.unshift({
      ...this.#action("Authorization", payment.amount, payment.reference),
      response_code: code,
      response_summary: summary,
    });
    this.#sendWebhook(payment, "payment_declined", payment.amount, payment.reference);
    return { ...this.#show(payment), response_code: code, response_summary: summary };
  }

  #capture(payment: Payment, amount: number, reference: string): ProviderResponse {
    if (payment.status !== "Authorized") return { status: 403, body: "" };
    if (amount > payment.amount) return invalid("capture_value_greater_than_authorized");
    if (this.declines.has("Capture"))
      return this.#declined(payment, "Capture", "payment_capture_declined", amount, reference);
    payment.captured = amount;
    payment.status = amount < payment.amount ? "Partially Captured" : "Captured";
    return this.#taken(payment, "capture", "Capture", "payment_captured", amount, reference);
  }

  #void(payment: Payment, reference: string): ProviderResponse {
    if (payment.status !== "Authorized") return { status: 403, body: "" };
    if (this.declines.has("Void"))
      return this.#declined(payment, "Void", "payment_void_declined", payment.amount, reference);
    payment.status = "Voided";
    return this.#taken(payment, "void", "Void", "payment_voided", payment.amount, reference);
  }

  #refund(payment: Payment, amount: number, reference: string): ProviderResponse {
    if (payment.captured === 0) return { status: 403, body: "" };
    if (payment.refunded + amount > payment.captured) return invalid("refund_amount_exceeds_balance");
    payment.refunded += amount;
    payment.status = payment.refunded < payment.captured ? "Partially Refunded" : "Refunded";
    return this.#taken(payment, "refund", "Refund", "payment_refunded", amount, reference);
  }

  /** Accepted all the same: the payment stays unchanged, and its actions show it. */
  #declined(payment: Payment, type: string, event: string, amount: number, reference: string): ProviderResponse {
    const refusal = { response_code: "20005", response_summary: "Declined - Do Not Honour" };
    const action = { ...this.#action(type, amount, reference), ...refusal };
    payment.actions.unshift(action);
    this.#sendWebhook(payment, event, amount, reference, action.id, refusal);
    return respondWith(202, { action_id: action.id, reference });
  }

  #taken(
    payment: Payment,
    kind: Movement["kind"],
    type: string,
    event: string,
    amount: number,
    reference: string,
  ): ProviderResponse {
    const action = this.#action(type, amount, reference);
    payment.actions.unshift(action);
    this.#record(payment, kind, amount);
    this.#sendWebhook(payment, event, amount, reference, action.id);
    return respondWith(202, { action_id: action.id, reference });
  }

  #action(type: string, amount: number, reference: string) {
    this.#serial += 1;
    const id = `act_${String(this.#serial).padStart(26, "a")}`;
    const processed_on = new Date().toISOString();
    return { id, type, amount, reference, processed_on, response_code: "10000", response_summary: "Approved" };
  }

  #sendWebhook(
    payment: Payment,
    type: string,
    amount: number,
    reference: string,
    action_id?: string,
    refusal?: JsonObject,
  ): void {
    this.#serial += 1;
    const { id, currency } = payment;
    const declined = payment.decline && {
      response_code: payment.decline[0],
      response_summary: payment.decline[1],
    };
    const told = refusal ?? declined ?? { response_code: "10000", response_summary: "Approved" };
    this.#events.push({
      id: `evt_${String(this.#serial).padStart(26, "a")}`,
      type,
      version: "1.0.29",
      timestamp: new Date().toISOString(),
      data: { id, ...(action_id ? { action_id } : {}), reference, amount, currency, ...told },
    });
  }

  #record({ id, reference, currency }: Payment, kind: Movement["kind"], amount: number): void {
    this.ledger.record({ kind, amount, payment: id, reference, currency });
  }

  #show(payment: Payment): JsonObject {
    const { id, amount, currency, reference, status, threeDS, captured, refunded } = payment;
    const approved = status !== "Pending" && status !== "Declined";
    const latest = payment.actions.at(-1);
    return {
      id,
      amount,
      currency,
      reference,
      status,
      approved,
      ...(status === "Pending"
        ? { _links: { redirect: { href: `${this.server.url}/sessions-interceptor/${id}` } } }
        : {}),
      ...(approved
        ? {
            scheme_id: `638284${id.slice(-9)}`,
            auth_code: "044925",
            response_code: "10000",
            response_summary: "Approved",
          }
        : {}),
      ...(latest && !approved
        ? {
            actions: [
              {
                id: latest.id ?? "",
                response_code: latest.response_code ?? "",
                response_summary: latest.response_summary ?? "",
              },
            ],
          }
        : {}),
      ...(threeDS ? { "3ds": threeDS } : {}),
      source: { type: "card", last4: "4242", scheme: "Visa", cvv_check: payment.hasCvc ? "Y" : "N", avs_check: "G" },
      balances: {
        total_authorized: approved ? amount : 0,
        total_voided: status === "Voided" ? amount : 0,
        total_captured: captured,
        total_refunded: refunded,
      },
      processed_on: new Date().toISOString(),
    };
  }
}

function respondWith(status: number, body: JsonObject): ProviderResponse {
  return { status, body: JSON.stringify(body) };
}

function invalid(code: string): ProviderResponse {
  return respondWith(422, { request_id: "0HL80RJLS76I7", error_type: "request_invalid", error_codes: [code] });
}
