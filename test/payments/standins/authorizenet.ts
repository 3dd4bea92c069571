import { createHmac } from "node:crypto";
import { APIContracts } from "../../../packages/oracles/index.js";
import type { Json, JsonObject } from "../../../src/base/json.js";
import type { WebhookDelivery } from "../../../src/payments/contract/webhook.js";
import { at, textAt } from "./form.js";
import { Ledger, type Movement } from "./ledger.js";
import { type ProviderRequest, type ProviderResponse, type ProviderServer, serveProvider } from "./provider-server.js";

/** The order in which the published client writes the properties of a type, which is that of an empty object: that of the schema behind the JSON. */
function orderOf(type: string): readonly string[] {
  const Type = APIContracts[type];
  if (!Type) throw new Error(`the client has no ${type}`);
  return Object.keys(new Type());
}

const ORDERS = {
  transactionRequest: orderOf("TransactionRequestType"),
  creditCard: orderOf("CreditCardType"),
  order: orderOf("OrderType"),
  processingOptions: orderOf("ProcessingOptions"),
  cardholderAuthentication: orderOf("CcAuthenticationType"),
} as const;

const DECLINED = "4222222222222";
/** The longest time for which the service recognizes a duplicate transaction. */
const DUPLICATE_WINDOW_MS = 8 * 3_600_000;
const MAX_LISTING_MS = 31 * 24 * 3_600_000;
const BOM = "\uFEFF";

interface Transaction {
  readonly id: string;
  readonly invoice: string;
  /** Our complete reference, from the description. */
  readonly reference: string;
  readonly type: string;
  readonly cents: number;
  readonly number: string;
  readonly submitted: number;
  status: string;
  settled: number;
  refunded: number;
  /** The batch that settled it. */
  batch: string | undefined;
}

/**
 * Authorize.net's single endpoint on loopback: HTTP 200 for everything; a duplicate window instead of idempotency keys.
 */
export class AuthorizenetStandIn implements AsyncDisposable {
  readonly ledger = new Ledger();
  readonly login = "5KP3u95bQpv";
  readonly transactionKey = "346HZ32z3fP4hTG2";
  readonly signatureKey = "A1B2C3D4E5F60718".repeat(8);
  /** Whether the day's captures are settled: only then can they be refunded. */
  settles = true;
  /** Milliseconds by which the service's clock is ahead of the machine's. */
  ahead = 0;
  /** Whether settlements are listed, or the service is too busy for that. */
  tellsSettlements = true;
  readonly #batches = new Map<string, number>();
  #server: ProviderServer | undefined;
  readonly #transactions = new Map<string, Transaction>();
  readonly #events: JsonObject[] = [];
  #serial = 40_000_000_000;

  static async start(): Promise<AuthorizenetStandIn> {
    const standIn = new AuthorizenetStandIn();
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

  /**
   * The daily settlement: captures and refunds move from the list into a batch, and so do transactions without effect.
   */
  settleDay(): void {
    this.#serial += 1;
    const batch = String(this.#serial);
    this.#batches.set(batch, this.#now());
    for (const each of this.#transactions.values()) {
      if (each.batch !== undefined || each.status === "authorizedPendingCapture") continue;
      each.batch = batch;
      each.status = SETTLED[each.status] ?? each.status;
    }
  }

  /** The sum of the transactions under a reference, by the merchant or the service. */
  become(reference: string, status: string): void {
    for (const each of this.#transactions.values()) if (each.reference === reference) each.status = status;
  }

  /** Days pass, with their settlements: duplicates are forgotten. */
  forgetKeys(): void {
    this.settleDay();
    this.ahead += 8 * 24 * 3_600_000;
  }

  #now(): number {
    return Date.now() + this.ahead;
  }

  takeWebhooks(): WebhookDelivery[] {
    return this.#events.splice(0).map((event) => this.signed(event));
  }

  signed(event: JsonObject, key = this.signatureKey): WebhookDelivery {
    const body = Buffer.from(JSON.stringify(event));
    const digest = createHmac("sha512", key).update(body).digest("hex").toUpperCase();
    return { headers: { "x-anet-signature": `sha512=${digest}` }, body };
  }

  #respond({ body }: ProviderRequest): ProviderResponse {
    const envelope: JsonObject = JSON.parse(body);
    const [name = ""] = Object.keys(envelope);
    const request: JsonObject = Object(envelope[name]);
    if (Object.keys(request)[0] !== "merchantAuthentication")
      return message("E00003", "merchantAuthentication must come first");
    const { name: login, transactionKey }: JsonObject = Object(request.merchantAuthentication);
    if (login !== this.login || transactionKey !== this.transactionKey) {
      return message("E00007", "User authentication failed due to invalid authentication values.");
    }
    switch (name) {
      case "authenticateTestRequest":
        return ok({});
      case "getTransactionDetailsRequest":
        return this.#details(textAt(request, "transId") ?? "");
      case "getUnsettledTransactionListRequest":
        return listed("transactions", this.#list(undefined));
      case "getSettledBatchListRequest":
        return this.#settlements(request);
      case "getTransactionListRequest":
        return listed("transactions", this.#list(textAt(request, "batchId") ?? ""));
      case "createTransactionRequest":
        return this.#create(request);
      default:
        return message("E00003", `unknown element ${name}`);
    }
  }

  #create(request: JsonObject): ProviderResponse {
    const transaction: JsonObject = Object(request.transactionRequest);
    const objection = outOfOrder(transaction);
    if (objection !== undefined) return message("E00003", objection);
    if ((textAt(request, "refId") ?? "").length > 20) return message("E00003", "refId is too long");
    switch (transaction.transactionType) {
      case "authOnlyTransaction":
      case "authCaptureTransaction":
        return this.#pay(transaction);
      case "priorAuthCaptureTransaction":
        return this.#capture(transaction);
      case "voidTransaction":
        return this.#void(transaction);
      case "refundTransaction":
        return this.#refund(transaction);
      default:
        return message("E00003", "unknown transactionType");
    }
  }

  #pay(request: JsonObject): ProviderResponse {
    const number = textAt(request, "payment", "creditCard", "cardNumber") ?? "";
    if (!/^\d{13,16}$/.test(number)) return message("E00003", `The value '${number}' of cardNumber is invalid.`);
    const type = textAt(request, "transactionType") ?? "";
    const cents = centsOf(request);
    const invoice = textAt(request, "order", "invoiceNumber") ?? "";
    if (this.#isDuplicate(invoice, cents, type)) return refusal(...DUPLICATE);
    const transaction = this.#open(request, type, cents, number);
    if (number === DECLINED) {
      transaction.status = "declined";
      return refusal("2", "2", "This transaction has been declined.", transaction.id);
    }
    const isSale = type === "authCaptureTransaction";
    transaction.status = isSale ? "capturedPendingSettlement" : "authorizedPendingCapture";
    transaction.settled = isSale ? cents : 0;
    this.#record(transaction, "authorize", cents);
    if (isSale) this.#record(transaction, "capture", cents);
    this.#sendWebhook(transaction, isSale ? "authcapture" : "authorization", cents);
    const hasCvc = textAt(request, "payment", "creditCard", "cardCode") !== undefined;
    return approved(transaction.id, {
      avsResultCode: "Y",
      cvvResultCode: hasCvc ? "M" : "P",
      networkTransId: `0TN${transaction.id.slice(-12)}`,
    });
  }

  #capture(request: JsonObject): ProviderResponse {
    const transaction = this.#transactions.get(textAt(request, "refTransId") ?? "");
    const cents = centsOf(request);
    if (!transaction) return refusal("3", "16", "The transaction cannot be found.");
    if (transaction.settled > 0) return refusal("3", "311", "This transaction has already been captured.");
    if (transaction.status !== "authorizedPendingCapture")
      return refusal("3", "310", "This transaction has already been voided.");
    if (cents > transaction.cents)
      return refusal(
        "3",
        "47",
        "The amount requested for settlement may not be greater than the original amount authorized.",
      );
    transaction.status = "capturedPendingSettlement";
    transaction.settled = cents;
    this.#record(transaction, "capture", cents);
    this.#sendWebhook(transaction, "priorAuthCapture", cents);
    return approved(transaction.id);
  }

  #void(request: JsonObject): ProviderResponse {
    const transaction = this.#transactions.get(textAt(request, "refTransId") ?? "");
    if (!transaction) return refusal("3", "16", "The transaction cannot be found.");
    if (transaction.status === "voided") return refusal("3", "310", "This transaction has already been voided.");
    if (transaction.batch !== undefined) return refusal("3", "16", "The transaction cannot be found.");
    transaction.status = "voided";
    this.#record(transaction, "void", transaction.cents);
    this.#sendWebhook(transaction, "void", transaction.cents);
    return approved(transaction.id);
  }

  #refund(request: JsonObject): ProviderResponse {
    const original = this.#transactions.get(textAt(request, "refTransId") ?? "");
    const cents = centsOf(request);
    const lastFour = textAt(request, "payment", "creditCard", "cardNumber");
    if (!original) return refusal("3", "16", "The transaction cannot be found.");
    if (!this.settles || original.settled === 0 || original.number.slice(-4) !== lastFour) {
      this.#open(request, "refundTransaction", cents, original.number).status = "generalError";
      return refusal("3", "54", "The referenced transaction does not meet the criteria for issuing a credit.");
    }
    if (original.refunded + cents > original.settled) {
      this.#open(request, "refundTransaction", cents, original.number).status = "generalError";
      return refusal("3", "55", "The sum of credits exceeds the original debit amount.");
    }
    const invoice = textAt(request, "order", "invoiceNumber") ?? "";
    if (this.#isDuplicate(invoice, cents, "refundTransaction")) return refusal(...DUPLICATE);
    original.refunded += cents;
    const refund = this.#open(request, "refundTransaction", cents, original.number);
    refund.status = "refundPendingSettlement";
    this.#record(original, "refund", cents);
    this.#sendWebhook(refund, "refund", cents);
    return approved(refund.id);
  }

  /** The same kind of request within the duplicate window that every request sets. */
  #isDuplicate(invoice: string, cents: number, type: string): boolean {
    return [...this.#transactions.values()].some(
      (each) =>
        each.invoice === invoice &&
        each.cents === cents &&
        each.type === type &&
        each.status !== "declined" &&
        each.status !== "generalError" &&
        this.#now() - each.submitted < DUPLICATE_WINDOW_MS,
    );
  }

  #open(request: JsonObject, type: string, cents: number, number: string): Transaction {
    this.#serial += 1;
    const transaction: Transaction = {
      id: String(this.#serial),
      invoice: textAt(request, "order", "invoiceNumber") ?? "",
      reference: textAt(request, "order", "description") ?? "",
      type,
      cents,
      number,
      submitted: this.#now(),
      status: "",
      settled: 0,
      refunded: 0,
      batch: undefined,
    };
    this.#transactions.set(transaction.id, transaction);
    return transaction;
  }

  /** The transactions of a batch; without one, those not settled yet. */
  #list(batch: string | undefined): Json[] {
    const rows = [...this.#transactions.values()].filter((each) => each.batch === batch).reverse();
    return rows.map(({ id, invoice, status, submitted }) => ({
      transId: id,
      invoiceNumber: invoice,
      transactionStatus: status,
      submitTimeUTC: new Date(submitted).toISOString(),
    }));
  }

  #settlements(request: JsonObject): ProviderResponse {
    if (!this.tellsSettlements) return message("E00053", "The server is too busy to service your request.");
    const keys = Object.keys(request).slice(1);
    if (keys.join() !== "firstSettlementDate,lastSettlementDate") return message("E00003", "elements out of order");
    const [since = Number.NaN, until = Number.NaN] = keys.map((key) => Date.parse(textAt(request, key) ?? ""));
    if (!(until - since >= 0 && until - since <= MAX_LISTING_MS)) return message("E00004", "The dates are invalid.");
    const within = [...this.#batches].filter(([, at]) => at >= since && at <= until + 1_000);
    return listed(
      "batchList",
      within.map(([batchId, at]) => ({
        batchId,
        settlementTimeUTC: new Date(at).toISOString(),
        settlementState: "settledSuccessfully",
        paymentMethod: "creditCard",
      })),
    );
  }

  #details(id: string): ProviderResponse {
    const found = this.#transactions.get(id);
    if (!found) return message("E00040", "The record cannot be found.");
    const isDeclined = found.status === "declined";
    return ok({
      transaction: {
        transId: found.id,
        submitTimeUTC: new Date(found.submitted).toISOString(),
        transactionType: found.type,
        transactionStatus: found.status,
        responseCode: isDeclined ? 2 : 1,
        responseReasonCode: isDeclined ? 2 : 1,
        responseReasonDescription: isDeclined ? "Decline" : "Approval",
        order: { invoiceNumber: found.invoice, description: found.reference },
        authAmount: found.cents / 100,
        settleAmount: found.settled / 100,
        payment: {
          creditCard: { cardNumber: `XXXX${found.number.slice(-4)}`, expirationDate: "XXXX", cardType: "Visa" },
        },
      },
    });
  }

  #record({ id, reference }: Transaction, kind: Movement["kind"], amount: number): void {
    this.ledger.record({ kind, amount, payment: id, reference, currency: "USD" });
  }

  #sendWebhook({ id, invoice }: Transaction, event: string, cents: number): void {
    this.#serial += 1;
    this.#events.push({
      notificationId: `d0e8e7fe-c3e7-4add-a480-${this.#serial}0`,
      eventType: `net.authorize.payment.${event}.created`,
      eventDate: new Date().toISOString(),
      payload: { responseCode: 1, authAmount: cents, entityName: "transaction", id, invoiceNumber: invoice },
    });
  }
}

const SETTLED: Readonly<Record<string, string>> = {
  capturedPendingSettlement: "settledSuccessfully",
  refundPendingSettlement: "refundSettledSuccessfully",
};

const DUPLICATE = ["3", "11", "A duplicate transaction has been submitted."] as const;

function centsOf(request: JsonObject): number {
  return Math.round(Number(request.amount) * 100);
}

/** The property that is in a place where the schema has none, or is missing there. */
function outOfOrder(transaction: JsonObject): string | undefined {
  const parts = {
    transactionRequest: transaction,
    creditCard: at(transaction, "payment", "creditCard"),
    order: transaction.order,
    processingOptions: transaction.processingOptions,
    cardholderAuthentication: transaction.cardholderAuthentication,
  };
  for (const [name, order] of Object.entries(ORDERS)) {
    const part = Object.entries(parts).find(([key]) => key === name)?.[1];
    const places = Object.keys(Object(part ?? {})).map((key) => order.indexOf(key));
    if (places.includes(-1)) return `${name} has an element that is not in the schema`;
    if (places.some((place, index) => place < (places[index - 1] ?? -1)))
      return `${name} has its elements out of order`;
  }
  return undefined;
}

function ok(body: JsonObject): ProviderResponse {
  return respondWith({ ...body, messages: { resultCode: "Ok", message: [{ code: "I00001", text: "Successful." }] } });
}

/** A list; absent if it has no rows. */
function listed(key: string, rows: Json[]): ProviderResponse {
  if (rows.length > 0) return ok({ totalNumInResultSet: rows.length, [key]: rows });
  return respondWith({ messages: { resultCode: "Ok", message: [{ code: "I00004", text: "No records found." }] } });
}

function message(code: string, text: string): ProviderResponse {
  return respondWith({ messages: { resultCode: "Error", message: [{ code, text }] } });
}

function approved(transId: string, more: JsonObject = {}): ProviderResponse {
  const messages = [{ code: "1", description: "This transaction has been approved." }];
  return ok({ transactionResponse: { responseCode: "1", authCode: "HW617E", transId, ...more, messages } });
}

function refusal(responseCode: string, errorCode: string, errorText: string, transId = "0"): ProviderResponse {
  return respondWith({
    transactionResponse: { responseCode, transId, errors: [{ errorCode, errorText }] },
    messages: { resultCode: "Error", message: [{ code: "E00027", text: "The transaction was unsuccessful." }] },
  });
}

function respondWith(body: JsonObject): ProviderResponse {
  return { status: 200, body: BOM + JSON.stringify(body) };
}
