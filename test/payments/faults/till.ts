import type { Caller } from "../../../src/access/caller.js";
import { callerTransaction } from "../../../src/access/caller-transaction.js";
import type { Uuid } from "../../../src/base/ids.js";
import type { TenantKeys } from "../../../src/crypto/tenant-keys.js";
import { chooseFormula, connections, replaceConnection } from "../../../src/payments/connections/connection.js";
import type { Connectors } from "../../../src/payments/connections/connectors.js";
import type { Intent } from "../../../src/payments/contract/payment-request.js";
import type { WebhookDelivery } from "../../../src/payments/contract/webhook.js";
import type { Payment } from "../../../src/payments/lifecycle/payment.js";
import type { Refund } from "../../../src/payments/lifecycle/refund.js";
import { TenantPayments } from "../../../src/payments/lifecycle/tenant-payments.js";
import {
  beginCapture,
  beginRefund,
  beginVoid,
  leasePayment,
} from "../../../src/payments/operations/begin-operation.js";
import { createPayment, type PaymentDraft } from "../../../src/payments/operations/create-payment.js";
import type { PaymentCall } from "../../../src/payments/operations/payment-call.js";
import { PaymentRun } from "../../../src/payments/operations/payment-run.js";
import { getPayment, listRefunds } from "../../../src/payments/operations/read-payments.js";
import { InboundCallbacks } from "../../../src/payments/reconciliation/inbound-callbacks.js";
import { type ReconcileParts, reconcile } from "../../../src/payments/reconciliation/reconcile.js";
import { encodeSignedPath } from "../../../src/payments/signed-path.js";
import type { OrdinaryTransaction } from "../../../src/store/transactions/transaction.js";
import { createToken } from "../../../src/tokens/create.js";
import { deleteToken } from "../../../src/tokens/delete.js";
import { prepareToken } from "../../../src/tokens/prepare.js";
import type { TokenDraft } from "../../../src/tokens/token.js";
import type { TokenPatch } from "../../../src/tokens/token-patch.js";
import { updateToken } from "../../../src/tokens/update.js";
import type { Payer } from "./payer.js";
import type { Service } from "./services.js";

/** How far a process gets before it is killed. */
export type Lives = "on" | "until the request is written down" | "until the service has responded";

export type FollowUp = "capture" | "void" | "refund";

/** One connection, and the operations on it. */
export class Till {
  readonly #payer: Payer;
  readonly #caller: Caller;
  readonly #keys: TenantKeys;
  readonly #service: Service;
  readonly #parts: ReconcileParts;
  readonly #incoming: InboundCallbacks;
  readonly #connectionId: Uuid;
  readonly #refused: WebhookDelivery[] = [];

  constructor(payer: Payer, caller: Caller, keys: TenantKeys, service: Service, connectors: Connectors, id: Uuid) {
    this.#payer = payer;
    this.#caller = caller;
    this.#keys = keys;
    this.#service = service;
    this.#connectionId = id;
    const { tenants } = payer.vault;
    this.#parts = {
      ...{ tenants, connectors, clock: payer.clock },
      returnUrl: () => "https://vault.example.com/orchestration/approvals/abc",
      onDefect: () => {
        throw new Error("a connector broke");
      },
    };
    this.#incoming = new InboundCallbacks(this.#parts);
  }

  /** Stores a card. Returns the token's id: the given one if there is one. */
  async store(number: string, id?: string): Promise<string> {
    const data = { number, expiration_month: 3, expiration_year: 2030, cvc: "737" };
    const card: TokenDraft = {
      ...{ id, type: "card", data, attributes: {}, containers: [], deduplicate: undefined, expiresAt: undefined },
    };
    const prepared = prepareToken({ caller: this.#caller, keys: this.#keys, now: new Date() }, card);
    return (await this.#payer.run((tx) => createToken(callerTransaction(tx, this.#keys, this.#caller), prepared))).id;
  }

  /** What `PATCH /tokens/{id}` does. */
  async patch(tokenId: string, patch: TokenPatch): Promise<void> {
    const received = { patch, bodyBytes: 1_000, maxBytes: 1_000_000 };
    await this.#payer.run((tx) => updateToken(callerTransaction(tx, this.#keys, this.#caller), tokenId, received));
  }

  /** What `DELETE /tokens/{id}` does. */
  async forget(tokenId: string): Promise<void> {
    await this.#payer.run((tx) => deleteToken(callerTransaction(tx, this.#keys, this.#caller), tokenId));
  }

  async pay(intent: Intent, lives: Lives = "on", number: string = this.#service.card): Promise<Uuid> {
    const tokenId = await this.store(number);
    const order: PaymentDraft["order"] = {
      ...{ amount: 1234, currency: this.#service.currency, country: undefined, intent, metadata: undefined },
      ...{ externalIdentifier: undefined, previousSchemeTransactionId: undefined },
      ...{ paymentSource: "ecommerce", isMerchantInitiated: false, isSubsequentPayment: false },
    };
    const wanted = { connectionId: this.#connectionId, tokenId, order, threeDSSessionId: undefined };
    const admitted = await this.#payer.run((tx) => createPayment(this.#callIn(tx), wanted));
    const { payment, connection } = admitted;
    await this.#live(lives, payment.id, (payments) =>
      new PaymentRun(this.#parts, payments, connection).send(payment, admitted.card),
    );
    return payment.id;
  }

  /** Captures or refunds 500, or voids. */
  async follow(id: Uuid, operation: FollowUp, lives: Lives = "on"): Promise<void> {
    const { payment, connection } = await this.#payer.run((tx) => {
      switch (operation) {
        case "capture":
          return beginCapture(this.#callIn(tx), id, 500);
        case "void":
          return beginVoid(this.#callIn(tx), id);
        case "refund":
          return beginRefund(this.#callIn(tx), id, 500, "broken");
      }
    });
    await this.#live(lives, payment.id, (payments) => new PaymentRun(this.#parts, payments, connection).send(payment));
  }

  #callIn(tx: OrdinaryTransaction): PaymentCall {
    return { tx: callerTransaction(tx, this.#keys, this.#caller), hosts: this.#parts.connectors };
  }

  /** What `POST /orchestration/transactions/{id}/sync` and the reconciliation job do. */
  async sync(id: Uuid): Promise<Payment> {
    const leased = await this.#payer.run((tx) => leasePayment(this.#callIn(tx), id));
    return reconcile(this.#parts, this.#payments(), leased);
  }

  /** Delivers a forged webhook, and then all that are due, twice. A rejected one is due again. */
  async deliverWebhooks(order: "last to first" | "first to last" = "last to first"): Promise<void> {
    const forged = await this.deliver(this.#service.forged());
    if (forged !== "unverified") throw new Error(`a forged webhook got ${forged}`);
    const told = [...this.#refused.splice(0), ...this.#service.webhooks()];
    const due = order === "last to first" ? told.reverse() : told;
    for (const delivery of [...due, ...due]) {
      const kind = await this.deliver(delivery);
      if (kind === "later") this.#refused.push(delivery);
      else if (kind !== "receipt") throw new Error(`a webhook of the service got ${kind}`);
    }
  }

  /** Delivers a webhook to the connection's address. Returns the outcome. */
  async deliver(delivery: WebhookDelivery): Promise<string> {
    const address = encodeSignedPath(this.#keys, "payment-webhook", this.#connectionId);
    const endpoint = await this.#incoming.endpoint(address);
    return endpoint ? (await this.#incoming.webhook(endpoint, delivery)).kind : "not_found";
  }

  /** The buyer returns with the query that the bank's page added. */
  async comeBack(id: Uuid, query: URLSearchParams): Promise<Payment | undefined> {
    const address = encodeSignedPath(this.#keys, "payment-return", id);
    return this.#incoming.approval(address, query);
  }

  read(id: Uuid): Promise<Payment> {
    return this.#payer.run((tx) => getPayment(callerTransaction(tx, this.#keys, this.#caller), id));
  }

  async connectionStatus(): Promise<string> {
    const id = this.#connectionId;
    return (await this.#payer.run((tx) => connections.get(callerTransaction(tx, this.#keys, this.#caller), id))).status;
  }

  /** What `PUT /orchestration/connections/{id}` does with other fields. */
  async refit(values: Readonly<Record<string, string>>): Promise<void> {
    const { connector, currency } = this.#service;
    const fields = Object.entries(values).map(([key, value]) => ({ key, value }));
    const draft = {
      ...{ formula: chooseFormula(connector.formulaId, "card"), fields, displayName: "Shop", active: true },
      ...{ acceptedCountries: ["US"], acceptedCurrencies: [currency] },
    };
    await this.#payer.run((tx) =>
      replaceConnection(callerTransaction(tx, this.#keys, this.#caller), this.#connectionId, draft),
    );
  }

  refunds(id: Uuid): Promise<readonly Refund[]> {
    return this.#payer.run((tx) => listRefunds(callerTransaction(tx, this.#keys, this.#caller), id));
  }

  #payments(): TenantPayments {
    return new TenantPayments(this.#payer.vault.tenants.withKeys(this.#keys));
  }

  /** A killed process writes nothing any more, and its reservations expire after a while. */
  async #live(lives: Lives, id: Uuid, send: (payments: TenantPayments) => Promise<Payment>): Promise<void> {
    switch (lives) {
      case "on":
        await send(this.#payments());
        return;
      case "until the request is written down":
        await this.#payer.lapse(id);
        return;
      case "until the service has responded": {
        const killed = new Error("killed");
        const payments = this.#payments();
        payments.change = () => Promise.reject(killed);
        await send(payments).catch((error: unknown) => {
          if (error !== killed) throw error;
        });
        await this.#payer.lapse(id);
      }
    }
  }
}
