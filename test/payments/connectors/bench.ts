import { randomUUID } from "node:crypto";
import { toBase62 } from "../../../src/base/base-n.js";
import { newTenantId, newUuid } from "../../../src/base/ids.js";
import { Sensitive } from "../../../src/crypto/sensitive.js";
import { EgressPolicy } from "../../../src/egress/egress-policy.js";
import { createGuardedAgents, type GuardedAgents } from "../../../src/egress/guarded-agents.js";
import type { Card } from "../../../src/payments/contract/card.js";
import type { Connector, ConnectorContext } from "../../../src/payments/contract/connector.js";
import type { ErrorCode } from "../../../src/payments/contract/error-code.js";
import type { AuthorizationRequest } from "../../../src/payments/contract/payment-request.js";
import { providerHttp } from "../../../src/payments/contract/provider-http.js";
import type { WebhookDelivery } from "../../../src/payments/contract/webhook.js";
import type { Ledger } from "../standins/ledger.js";
import type { ProviderServer } from "../standins/provider-server.js";

/** What the suites need to know of one payment service's stand-in. */
export interface Bench extends AsyncDisposable {
  readonly connector: Connector;
  readonly server: ProviderServer;
  readonly ledger: Ledger;
  readonly fields: Readonly<Record<string, string>>;
  /** Fields with credentials that the service rejects. */
  readonly refusedFields: Readonly<Record<string, string>>;
  /** Values that must never show. */
  readonly secrets: readonly string[];
  /** Method and path of each operation. */
  readonly routes: Readonly<Record<"authorize" | "capture" | "void" | "refund", RegExp>>;
  readonly cards: {
    readonly approved: string;
    readonly declined: { readonly number: string; readonly errorCode: ErrorCode; readonly rawCode: string };
    /** Absent: the service does not distinguish a lack of funds from other declines. */
    readonly poor?: string;
    /** Absent: the service has no page of its own. */
    readonly challenged?: string;
  };
  readonly currency: string;
  /** A currency and amount that it cannot express exactly; absent: there is none among its currencies. */
  readonly inexpressible?: { readonly amount: number; readonly currency: string };
  /** The buyer's decision on the page; returns the query with which the page redirects back. */
  decide(reference: string, approves: boolean): URLSearchParams;
  /** Enough time passes for the service to forget idempotency keys. */
  forgetKeys(): void;
  /** All webhooks due so far, each once. */
  webhooks(): WebhookDelivery[];
  /** A webhook with another party's signature. */
  forged(): WebhookDelivery;
}

export const agents: GuardedAgents = createGuardedAgents(new EgressPolicy({ allow: "127.0.0.1" }));

export function contextOf(bench: Bench, fields = bench.fields): ConnectorContext {
  const tenantId = newTenantId();
  return {
    tenantId,
    fields: new Map(Object.entries(fields).map(([key, value]) => [key, new Sensitive(value)])),
    send: providerHttp(agents, tenantId, () => {}),
    now: new Date(),
  };
}

export function newReference(): string {
  return toBase62(Buffer.from(newUuid().replaceAll("-", ""), "hex"), 22);
}

export function card(number: string, more: Partial<Card> = {}): Sensitive<Card> {
  return new Sensitive({ number, expirationMonth: 3, expirationYear: 2030, cvc: "737", ...more });
}

export function authorization(bench: Bench, more: Partial<AuthorizationRequest> = {}): AuthorizationRequest {
  const reconciliationId = more.reconciliationId ?? newReference();
  return {
    idempotencyKey: `${reconciliationId}-auth`,
    reconciliationId,
    money: { amount: 1234, currency: bench.currency },
    intent: "authorize",
    card: card(bench.cards.approved),
    country: undefined,
    externalIdentifier: `order-${randomUUID()}`,
    paymentSource: "ecommerce",
    isMerchantInitiated: false,
    isSubsequentPayment: false,
    previousSchemeTransactionId: undefined,
    threeDS: undefined,
    metadata: { basket: "42", nested: { not: "passed on" } },
    returnUrl: "https://vault.example.com/orchestration/return/abc",
    ...more,
  };
}
