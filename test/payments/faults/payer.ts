import { rmSync } from "node:fs";
import { join } from "node:path";
import type { Caller } from "../../../src/access/caller.js";
import { Grant } from "../../../src/access/grant.js";
import { Refused } from "../../../src/access/refusal.js";
import { type Clock, systemClock } from "../../../src/base/clock.js";
import type { TenantId, Uuid } from "../../../src/base/ids.js";
import { readConfig } from "../../../src/config.js";
import type { TenantKeys } from "../../../src/crypto/tenant-keys.js";
import { writeAddress } from "../../../src/payments/addresses.js";
import { admitPayment, type PaymentDraft } from "../../../src/payments/admit-payment.js";
import { beginCapture, beginRefund, beginVoid } from "../../../src/payments/begin-operation.js";
import { chooseFormula, createConnection, getConnection } from "../../../src/payments/connection.js";
import { Connectors } from "../../../src/payments/connectors.js";
import { Incoming } from "../../../src/payments/incoming.js";
import type { Payment } from "../../../src/payments/payment.js";
import type { Intent } from "../../../src/payments/payment-request.js";
import { perform } from "../../../src/payments/perform.js";
import { providerHttp } from "../../../src/payments/provider-http.js";
import { getPayment, leasePayment, refundsOf } from "../../../src/payments/read-payments.js";
import { type ReconcileParts, reconcile } from "../../../src/payments/reconcile.js";
import type { Refund } from "../../../src/payments/refund.js";
import type { WebhookDelivery } from "../../../src/payments/webhook.js";
import { connect, type Sql } from "../../../src/store/connect.js";
import { noteCheck } from "../../../src/store/connections.js";
import type { Transaction } from "../../../src/store/transaction.js";
import { provisionTenant } from "../../../src/tenancy/provision.js";
import { DEFAULT_SETTINGS } from "../../../src/tenancy/settings.js";
import { createToken } from "../../../src/tokens/create.js";
import { prepareToken } from "../../../src/tokens/prepare.js";
import type { TokenDraft } from "../../../src/tokens/token.js";
import { openVault, type Vault } from "../../../src/vault.js";
import { newDirectory } from "../../support/databases.js";
import { agents } from "../connectors/bench.js";
import type { Service } from "./services.js";

/** How far a process gets before it is killed. */
export type Lives = "on" | "until the request is written down" | "until the service has answered";

export type FollowUp = "capture" | "void" | "refund";

/** Long enough for a stand-in on a busy machine, where dozens of cases wait at once. */
const PATIENCE_MS = 1_500;

/** A vault with one tenant, whose payments are made, sent and looked after by the very code that serves requests. */
export class Payer implements AsyncDisposable {
  readonly vault: Vault;
  readonly tenantId: TenantId;
  readonly clock: Clock;
  readonly #directory: string;
  readonly #sql: Sql;
  readonly #keys: TenantKeys;
  readonly #caller: Caller;

  private constructor(
    directory: string,
    clock: Clock,
    vault: Vault,
    tenantId: TenantId,
    keys: TenantKeys,
    applicationId: Uuid,
  ) {
    this.#directory = directory;
    this.clock = clock;
    this.vault = vault;
    this.tenantId = tenantId;
    this.#keys = keys;
    this.#sql = connect(vault.ownerAddress, { connections: 1, statementTimeout: 10_000 });
    this.#caller = {
      ...{ tenantId, application: { id: applicationId, type: "private" }, session: undefined, revision: 1 },
      grant: new Grant({ permissions: ["token:create", "token:use", "orchestration:transaction:capture"], rules: [] }),
      settings: DEFAULT_SETTINGS,
    };
  }

  static async open(clock: Clock = systemClock): Promise<Payer> {
    const directory = newDirectory();
    const config = readConfig({ CLOAKROOM_DATA_DIR: join(directory, "data") });
    const vault = await openVault({ config, as: "server", announce: () => {}, clock });
    const owner = { name: "Shop", ownerEmail: "owner@example.com" };
    const { tenantId, applicationId } = await provisionTenant(vault.database, vault.rootKey, owner);
    return new Payer(directory, clock, vault, tenantId, await vault.keyring.of(tenantId), applicationId);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#sql.end({ timeout: 5 });
    await this.vault[Symbol.asyncDispose]();
    rmSync(this.#directory, { recursive: true, force: true });
  }

  /** A connection of its own to a service, whose credentials count as checked. */
  async connect(service: Service): Promise<Till> {
    const { connector, currency } = service;
    const fields = Object.entries(service.fields).map(([key, value]) => ({ key, value }));
    const draft = {
      ...{ formula: chooseFormula(connector.formulaId, "card"), fields, displayName: "Shop", active: true },
      ...{ acceptedCountries: ["US"], acceptedCurrencies: [currency] },
    };
    const { id } = await this.run(async (tx) => {
      const made = createConnection(tx, this.#caller, this.#keys, draft);
      tx.tell(noteCheck, { id: made.id, revision: 1, status: "available", checks: 0, check_due_at: null });
      return made;
    });
    const http = (tenantId: TenantId) => providerHttp(agents, tenantId, PATIENCE_MS);
    const connectors = new Connectors([connector], http, this.clock);
    return new Till(this, this.#caller, this.#keys, service, connectors, id);
  }

  async run<T>(work: (tx: Transaction) => Promise<T | Refused>): Promise<T> {
    const done = await this.vault.database.fast.run(this.tenantId, "unguarded", work);
    if (done instanceof Refused) throw done.fault;
    return done;
  }

  /** The time passes for which a process that is gone had the payment reserved. */
  async lapse(id: Uuid): Promise<void> {
    await this.#sql.begin(async (tx) => {
      await tx`select set_config('app.tenant_id', ${this.tenantId}, true)`;
      await tx`update payments set lease_until = created_at where tenant_id = ${this.tenantId} and id = ${id}`;
    });
  }
}

/** One connection, and what can be done with it. */
export class Till {
  readonly #payer: Payer;
  readonly #caller: Caller;
  readonly #keys: TenantKeys;
  readonly #service: Service;
  readonly #parts: ReconcileParts;
  readonly #incoming: Incoming;
  readonly #connectionId: Uuid;
  readonly #refused: WebhookDelivery[] = [];

  constructor(payer: Payer, caller: Caller, keys: TenantKeys, service: Service, connectors: Connectors, id: Uuid) {
    this.#payer = payer;
    this.#caller = caller;
    this.#keys = keys;
    this.#service = service;
    this.#connectionId = id;
    const { database, keyring } = payer.vault;
    this.#parts = {
      ...{ database, keyring, connectors, clock: payer.clock },
      returnUrl: () => "https://vault.example.com/orchestration/approvals/abc",
      onDefect: () => {
        throw new Error("a connector broke");
      },
    };
    this.#incoming = new Incoming(this.#parts);
  }

  async pay(intent: Intent, lives: Lives = "on"): Promise<Uuid> {
    const data = { number: this.#service.card, expiration_month: 3, expiration_year: 2030, cvc: "737" };
    const card: TokenDraft = {
      ...{ id: undefined, type: "card", data, attributes: {}, containers: [] },
      ...{ deduplicate: undefined, expiresAt: undefined },
    };
    const prepared = prepareToken(this.#caller, this.#keys, card, new Date());
    const { id: tokenId } = await this.#payer.run((tx) => createToken(tx, this.#caller, this.#keys, prepared));
    const order: PaymentDraft["order"] = {
      ...{ amount: 1234, currency: this.#service.currency, country: undefined, intent, metadata: undefined },
      ...{ externalIdentifier: undefined, previousSchemeTransactionId: undefined },
      ...{ paymentSource: "ecommerce", isMerchantInitiated: false, isSubsequentPayment: false },
    };
    const wanted = { connectionId: this.#connectionId, tokenId, order, threeDSSessionId: undefined };
    const admitted = await this.#payer.run((tx) => admitPayment(tx, this.#caller, this.#keys, wanted));
    const { payment, connection } = admitted;
    await this.#live(lives, (parts) =>
      perform(parts, this.#keys, this.#payer.tenantId, payment, connection, admitted.card),
    );
    return payment.id;
  }

  /** Captures or refunds 500, or voids. */
  async follow(id: Uuid, operation: FollowUp, lives: Lives = "on"): Promise<void> {
    const { payment, connection } = await this.#payer.run((tx) => {
      switch (operation) {
        case "capture":
          return beginCapture(tx, this.#caller, this.#keys, id, 500);
        case "void":
          return beginVoid(tx, this.#caller, this.#keys, id);
        case "refund":
          return beginRefund(tx, this.#caller, this.#keys, id, 500, "broken");
      }
    });
    await this.#live(lives, (parts) =>
      perform(parts, this.#keys, this.#payer.tenantId, payment, connection, undefined),
    );
  }

  /** What `POST /orchestration/transactions/{id}/sync` and the reconciling job do. */
  async sync(id: Uuid): Promise<Payment> {
    await this.#payer.lapse(id);
    const leased = await this.#payer.run((tx) => leasePayment(tx, this.#caller, this.#keys, id));
    return reconcile(this.#parts, this.#keys, this.#payer.tenantId, leased);
  }

  /** Delivers a forged webhook, and then all that are due, twice. What is not taken is due again. */
  async hear(order: "last to first" | "first to last" = "last to first"): Promise<void> {
    const forged = await this.deliver(this.#service.forged());
    if (forged !== "unverified") throw new Error(`a forged webhook was answered with ${forged}`);
    const told = [...this.#refused.splice(0), ...this.#service.webhooks()];
    const due = order === "last to first" ? told.reverse() : told;
    for (const delivery of [...due, ...due]) {
      const kind = await this.deliver(delivery);
      if (kind === "later") this.#refused.push(delivery);
      else if (kind !== "receipt") throw new Error(`a webhook of the service was answered with ${kind}`);
    }
  }

  /** Brings a webhook to the connection's address. Answers what became of it. */
  async deliver(delivery: WebhookDelivery): Promise<string> {
    const address = writeAddress(this.#keys, "payment-webhook", this.#payer.tenantId, this.#connectionId);
    return (await this.#incoming.webhook(address, delivery)).kind;
  }

  read(id: Uuid): Promise<Payment> {
    return this.#payer.run((tx) => getPayment(tx, this.#caller, this.#keys, id));
  }

  async connectionStatus(): Promise<string> {
    const id = this.#connectionId;
    return (await this.#payer.run((tx) => getConnection(tx, this.#caller, this.#keys, id))).status;
  }

  refunds(id: Uuid): Promise<readonly Refund[]> {
    return this.#payer.run((tx) => refundsOf(tx, this.#caller, this.#keys, id));
  }

  /** A process that is killed writes nothing down any more. */
  async #live(lives: Lives, send: (parts: ReconcileParts) => Promise<Payment>): Promise<void> {
    switch (lives) {
      case "on":
        await send(this.#parts);
        return;
      case "until the request is written down":
        return;
      case "until the service has answered": {
        const killed = new Error("killed");
        const { database } = this.#parts;
        const gone = {
          ...database,
          fast: Object.create(database.fast, { run: { value: () => Promise.reject(killed) } }),
        };
        await send({ ...this.#parts, database: gone }).catch((error: unknown) => {
          if (error !== killed) throw error;
        });
      }
    }
  }
}
