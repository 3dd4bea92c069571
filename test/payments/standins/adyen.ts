import { AdyenHmacValidator } from "../../../packages/oracles/index.js";
import type { Json, JsonObject } from "../../../src/base/json.js";
import type { WebhookDelivery } from "../../../src/payments/contract/webhook.js";
import { adyenDescription, type Check } from "./adyen-description.js";
import { at, textAt } from "./form.js";
import { Ledger, type Movement } from "./ledger.js";
import { type ProviderRequest, type ProviderResponse, type ProviderServer, serveProvider } from "./provider-server.js";

let description: { readonly check: Check | undefined } | undefined;

/** Test cards with Adyen's refusal reasons. */
const REFUSALS: Readonly<Record<string, { refusalReasonCode: string; refusalReason: string; raw: string }>> = {
  "4000300011112220": { refusalReasonCode: "2", refusalReason: "Refused", raw: "05 : Do not honor" },
  "4000600011112223": { refusalReasonCode: "12", refusalReason: "Not enough balance", raw: "51 : Insufficient funds" },
};
const CHALLENGED = "4212345678901237";

interface Payment {
  readonly psp: string;
  readonly reference: string;
  readonly value: number;
  readonly currency: string;
  readonly sale: boolean;
  readonly metadata: JsonObject;
  state: "waiting" | "authorised" | "cancelled" | "refused";
  captured: number;
  refunded: number;
  decision: boolean | undefined;
}

/**
 * Adyen's Checkout v71 on loopback: authorizes at once, accepts modifications and reports their outcome by webhook. The
 * same idempotency key gets the same response.
 */
export class AdyenStandIn implements AsyncDisposable {
  readonly ledger = new Ledger();
  readonly apiKey = "AQEyhmfxK4zJStandInStandInStandIn";
  readonly hmacKey = "44782DEF547AAA06C910C43932B1EB0C71FC68D9D0C057550C48EC2ACF6BA056";
  readonly merchantAccount = "CloakroomECOM";
  #server: ProviderServer | undefined;
  readonly #payments = new Map<string, Payment>();
  readonly #responses = new Map<string, ProviderResponse>();
  readonly #events: JsonObject[] = [];
  #serial = 0;

  static async start(): Promise<AdyenStandIn> {
    description ??= { check: adyenDescription() };
    const standIn = new AdyenStandIn();
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

  /** A week passes, and keys expire. */
  forgetKeys(): void {
    this.#responses.clear();
  }

  find(reference: string): string | undefined {
    return [...this.#payments.values()].find((payment) => payment.reference === reference)?.psp;
  }

  /** The buyer's action on the bank's page. Returns the result to submit. */
  decide(reference: string, approves: boolean): string {
    const payment = this.#payments.get(this.find(reference) ?? "");
    if (payment?.state !== "waiting") throw new Error("no buyer is waited for");
    payment.decision = approves;
    return `result-${payment.psp}`;
  }

  takeWebhooks(): WebhookDelivery[] {
    return this.#events.splice(0).map((event) => this.signed(event));
  }

  /** A webhook signed by Adyen's own library. */
  signed(event: JsonObject, hmacKey = this.hmacKey): WebhookDelivery {
    const item = new AdyenHmacValidator();
    const { additionalData } = event;
    // The library's type requires its own enumerations.
    const hmacSignature = item.calculateHmac(dataToSign(event), hmacKey);
    const signedItem = {
      ...event,
      additionalData: { ...(typeof additionalData === "object" ? additionalData : {}), hmacSignature },
    };
    const body = { live: "false", notificationItems: [{ NotificationRequestItem: signedItem }] };
    return { headers: { "content-type": "application/json" }, body: Buffer.from(JSON.stringify(body)) };
  }

  #respond(request: ProviderRequest): ProviderResponse {
    const path = request.path.replace(/^\/v71/, "");
    if (request.headers["x-api-key"] !== this.apiKey) {
      return error(401, "000", "HTTP Status Response - Unauthorized", "security");
    }
    const template = path.replace(
      /^\/payments\/[^/]+\/(captures|cancels|refunds)$/,
      "/payments/{paymentPspReference}/$1",
    );
    const body: JsonObject = JSON.parse(request.body);
    const objection = description?.check?.(template, "request", body);
    if (objection !== undefined) return error(422, "702", objection, "validation");
    if (template !== "/payments/details" && body.merchantAccount !== this.merchantAccount) {
      return error(403, "901", "Invalid Merchant Account", "security");
    }
    const key = request.headers["idempotency-key"];
    const earlier = key === undefined ? undefined : this.#responses.get(key);
    if (earlier) return earlier;
    if (key !== undefined && key.length > 64) return error(422, "702", "Idempotency key is too long", "validation");
    const response = this.#act(template, path.split("/")[2] ?? "", body);
    const complaint =
      response.status < 300 && description?.check?.(template, response.status, JSON.parse(response.body));
    if (complaint) throw new Error(`the stand-in returns what Adyen would not: ${complaint}`);
    if (key !== undefined) this.#responses.set(key, response);
    return response;
  }

  #act(template: string, psp: string, body: JsonObject): ProviderResponse {
    switch (template) {
      case "/paymentMethods":
        return respondWith(200, { paymentMethods: [{ name: "Cards", type: "scheme", brands: ["visa", "mc"] }] });
      case "/payments":
        return this.#pay(body);
      case "/payments/details":
        return this.#details(textAt(body, "details", "redirectResult") ?? "");
      case "/cancels":
        return this.#cancelByReference(body);
      default: {
        const payment = this.#payments.get(psp);
        if (!payment) return error(422, "167", "Original pspReference required for this operation", "validation");
        return this.#modify(template.split("/").at(-1) ?? "", payment, body);
      }
    }
  }

  #pay(body: JsonObject): ProviderResponse {
    const number = textAt(body, "paymentMethod", "number") ?? "";
    if (!/^\d{12,19}$/.test(number)) return error(422, "101", `Invalid card number: ${number}`, "validation");
    const payment: Payment = {
      psp: this.#psp(),
      reference: textAt(body, "reference") ?? "",
      value: Number(at(body, "amount", "value")),
      currency: textAt(body, "amount", "currency") ?? "",
      sale: body.captureDelayHours === 0,
      metadata: Object(body.metadata ?? {}),
      state: "waiting",
      captured: 0,
      refunded: 0,
      decision: undefined,
    };
    this.#payments.set(payment.psp, payment);
    const refusal = REFUSALS[number];
    if (refusal) return respondWith(200, this.#refuse(payment, refusal));
    const mpi = body.mpiData !== undefined;
    if (number === CHALLENGED && !mpi) {
      if (at(body, "authenticationData", "threeDSRequestData", "nativeThreeDS") !== "disabled" || !body.browserInfo) {
        return respondWith(
          200,
          this.#refuse(payment, { refusalReasonCode: "38", refusalReason: "Authentication required", raw: "1A" }),
        );
      }
      const action = {
        type: "redirect",
        method: "GET",
        paymentMethodType: "scheme",
        url: `${this.server.url}/3ds/${payment.psp}`,
      };
      return respondWith(200, { pspReference: payment.psp, resultCode: "RedirectShopper", action });
    }
    this.#authorise(payment);
    return respondWith(200, this.#authorised(payment, textAt(body, "paymentMethod", "cvc") !== undefined));
  }

  #authorised(payment: Payment, hasCvc: boolean, more: JsonObject = {}): JsonObject {
    return {
      pspReference: payment.psp,
      resultCode: "Authorised",
      amount: { value: payment.value, currency: payment.currency },
      merchantReference: payment.reference,
      additionalData: {
        authCode: "044925",
        cvcResult: hasCvc ? "1 Matches" : "6 No CVC/CVV provided",
        avsResult: "4 AVS not supported for this card type",
        refusalReasonRaw: "AUTHORISED",
        networkTxReference: `84${payment.psp.slice(-13)}`,
        ...more,
      },
    };
  }

  #refuse(
    payment: Payment,
    { raw, ...refusal }: { refusalReasonCode: string; refusalReason: string; raw: string },
  ): JsonObject {
    payment.state = "refused";
    this.#sendWebhook(payment, "AUTHORISATION", payment.psp, undefined, false, refusal.refusalReason);
    const { psp: pspReference, reference: merchantReference } = payment;
    return {
      pspReference,
      resultCode: "Refused",
      merchantReference,
      ...refusal,
      additionalData: { refusalReasonRaw: raw },
    };
  }

  #authorise(payment: Payment): void {
    payment.state = "authorised";
    this.#record(payment, "authorize", payment.value);
    this.#sendWebhook(payment, "AUTHORISATION", payment.psp, undefined, true);
    if (!payment.sale) return;
    payment.captured = payment.value;
    this.#record(payment, "capture", payment.value);
  }

  #details(redirectResult: string): ProviderResponse {
    const payment = this.#payments.get(redirectResult.replace(/^result-/, ""));
    if (payment?.decision === undefined || !redirectResult.startsWith("result-")) {
      return error(422, "101", "Invalid redirectResult", "validation");
    }
    const { decision } = payment;
    const version = { "threeds2.threeDS2ResponseData.messageVersion": "2.2.0" };
    if (!decision) {
      return respondWith(
        200,
        this.#refuse(payment, { refusalReasonCode: "11", refusalReason: "3D Not Authenticated", raw: "N" }),
      );
    }
    this.#authorise(payment);
    return respondWith(200, this.#authorised(payment, true, { threeDAuthenticated: "true", ...version }));
  }

  #cancelByReference(body: JsonObject): ProviderResponse {
    const reference = textAt(body, "paymentReference") ?? "";
    const psp = this.#psp();
    const payment = this.#payments.get(this.find(reference) ?? "");
    if (payment) this.#cancel(payment, psp, "TECHNICAL_CANCEL", textAt(body, "reference"));
    return respondWith(201, {
      merchantAccount: this.merchantAccount,
      paymentReference: reference,
      reference: textAt(body, "reference") ?? "",
      pspReference: psp,
      status: "received",
    });
  }

  #modify(kind: string, payment: Payment, body: JsonObject): ProviderResponse {
    const psp = this.#psp();
    const reference = textAt(body, "reference") ?? payment.reference;
    const value = Number(at(body, "amount", "value"));
    if (kind === "captures") this.#capture(payment, psp, value, reference);
    else if (kind === "cancels") this.#cancel(payment, psp, "CANCELLATION", reference);
    else this.#refund(payment, psp, value, reference);
    return respondWith(201, {
      merchantAccount: this.merchantAccount,
      paymentPspReference: payment.psp,
      pspReference: psp,
      reference,
      status: "received",
      ...(kind === "cancels" ? {} : { amount: { value, currency: payment.currency } }),
    });
  }

  #capture(payment: Payment, psp: string, value: number, reference: string): void {
    const fits = payment.state === "authorised" && payment.captured === 0;
    const reason = fits ? "Insufficient balance on payment" : "Transaction is not in status authorised";
    const succeeds = fits && value <= payment.value;
    if (succeeds) {
      payment.captured = value;
      this.#record(payment, "capture", value);
    }
    this.#sendWebhook(payment, "CAPTURE", psp, value, succeeds, succeeds ? "" : reason, reference);
  }

  #cancel(payment: Payment, psp: string, eventCode: string, reference: string | undefined): void {
    const succeeds = payment.state === "authorised" && payment.captured === 0;
    if (succeeds) {
      payment.state = "cancelled";
      this.#record(payment, "void", payment.value);
    }
    this.#sendWebhook(
      payment,
      eventCode,
      psp,
      undefined,
      succeeds,
      succeeds ? "" : "Transaction has already been captured",
      reference,
    );
  }

  #refund(payment: Payment, psp: string, value: number, reference: string): void {
    const succeeds = payment.refunded + value <= payment.captured;
    if (succeeds) {
      payment.refunded += value;
      this.#record(payment, "refund", value);
    }
    this.#sendWebhook(
      payment,
      "REFUND",
      psp,
      value,
      succeeds,
      succeeds ? "" : "Insufficient balance on payment",
      reference,
    );
  }

  #psp(): string {
    this.#serial += 1;
    return `99361789${String(this.#serial).padStart(8, "0")}`;
  }

  #record({ psp, reference, currency }: Payment, kind: Movement["kind"], amount: number): void {
    this.ledger.record({ kind, amount, payment: psp, reference, currency });
  }

  #sendWebhook(
    payment: Payment,
    eventCode: string,
    pspReference: string,
    value = payment.value,
    success = true,
    reason = "",
    merchantReference = payment.reference,
  ): void {
    const own = pspReference === payment.psp;
    const metadata = Object.entries(payment.metadata).map(([key, text]): [string, Json] => [`metadata.${key}`, text]);
    this.#events.push({
      amount: { currency: payment.currency, value },
      eventCode,
      eventDate: new Date().toISOString(),
      merchantAccountCode: this.merchantAccount,
      merchantReference,
      ...(own ? {} : { originalReference: payment.psp }),
      paymentMethod: "visa",
      pspReference,
      reason,
      success: String(success),
      additionalData: own ? Object.fromEntries(metadata) : {},
    });
  }
}

/** As Adyen documents it, in the library's own order; the library signs the text. */
function dataToSign(event: JsonObject): string {
  const { pspReference, originalReference = "", merchantAccountCode, merchantReference, eventCode, success } = event;
  const amount = [at(event, "amount", "value"), at(event, "amount", "currency")];
  return [pspReference, originalReference, merchantAccountCode, merchantReference, ...amount, eventCode, success].join(
    ":",
  );
}

function respondWith(status: number, body: JsonObject): ProviderResponse {
  return { status, body: JSON.stringify(body) };
}

function error(status: number, errorCode: string, message: string, errorType: string): ProviderResponse {
  return respondWith(status, { status, errorCode, message, errorType });
}
