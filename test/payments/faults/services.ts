import { createHmac } from "node:crypto";
import type { TenantId } from "../../../src/base/ids.js";
import type { Connector } from "../../../src/payments/contract/connector.js";
import type { WebhookDelivery } from "../../../src/payments/contract/webhook.js";
import { Simulator } from "../../../src/payments/simulator/simulator.js";
import { SimulatorStore } from "../../../src/payments/simulator/simulator-store.js";
import type { Database } from "../../../src/store/database.js";
import type { Bench } from "../connectors/bench.js";
import { BENCHES } from "../connectors/benches.js";
import type { ServiceFault } from "../standins/provider-server.js";

export const KINDS = ["authorize", "capture", "void", "refund"] as const;
export type Kind = (typeof KINDS)[number];
/** Money that moved, as the service itself recorded it. */
export type Moved = Readonly<Record<Kind, readonly number[]>>;

/** A payment service that can be made to fail, and that shows what really happened. */
export interface Service extends AsyncDisposable {
  readonly connector: Connector;
  readonly fields: Readonly<Record<string, string>>;
  readonly card: string;
  readonly currency: string;
  /** The next requests of a kind meet these faults, one each. */
  fail(kind: Kind | "look up", ...faults: readonly ServiceFault[]): void;
  /** Whether a request that is to come gets no response. */
  willBeSilent(): boolean;
  moved(reference: string): Promise<Moved>;
  /** All webhooks due so far, each once. */
  webhooks(): WebhookDelivery[];
  /** A webhook with another party's signature. */
  forged(): WebhookDelivery;
}

export type OpenService = (database: Database, tenantId: TenantId) => Promise<Service>;

export const SERVICES: readonly (readonly [name: string, open: OpenService])[] = [
  ["simulator-card", async (database, tenantId) => simulated(database, tenantId)],
  ...BENCHES.map(([name, open]) => [name, async () => standingIn(await open())] as const),
];

/** Read requests. Adyen has none for a payment, and Authorize.net's look like all others. */
const LOOK_UPS = /^GET \/(v1\/payment_intents|payments)/;

/** What a stand-in simulates. */
export function standingIn(bench: Bench): Service {
  const { connector, fields, currency, ledger, server } = bench;
  return {
    ...{ connector, fields, currency, card: bench.cards.approved },
    fail: (kind, ...faults) => server.fail(kind === "look up" ? LOOK_UPS : bench.routes[kind], ...faults),
    willBeSilent: () => server.willBeSilent(),
    moved: async (reference) => {
      const amounts = (kind: Kind) => ledger.of(reference, kind).map(({ amount }) => amount);
      return {
        ...{ authorize: amounts("authorize"), capture: amounts("capture") },
        ...{ void: amounts("void"), refund: amounts("refund") },
      };
    },
    webhooks: () => bench.webhooks(),
    forged: () => bench.forged(),
    [Symbol.asyncDispose]: () => bench[Symbol.asyncDispose](),
  };
}

const SECRET = "simulated-secret";

/** The simulator is called directly: faults of its responses are injected before our code sees them. */
function simulated(database: Database, tenantId: TenantId): Service {
  const books = new SimulatorStore(database);
  const simulator = new Simulator(
    books,
    async () => "https://vault.example.com/simulator",
    () => {},
  );
  const planned = new Map<string, ServiceFault[]>();
  const references: string[] = [];
  const suffer = async <T>(kind: Kind | "look up", reference: string, act: () => Promise<T>) => {
    references.push(reference);
    const fault = planned.get(kind)?.shift();
    if (!fault) return act();
    if (fault.acted) await act();
    const codes = { rawCode: String(fault.response) };
    return fault.response === 429 ? ({ kind: "busy", codes } as const) : ({ kind: "unknown", codes } as const);
  };
  const limited = { errorCode: "service_rate_limit" } as const;
  const connector: Connector = {
    formulaId: simulator.formulaId,
    hostOf: () => simulator.hostOf(),
    async authorize(context, request) {
      const end = await suffer("authorize", request.reconciliationId, () => simulator.authorize(context, request));
      return end.kind === "busy" ? { ...limited, kind: "failed", codes: end.codes } : end;
    },
    async capture(context, request) {
      const { reconciliationId } = request.payment;
      const end = await suffer("capture", reconciliationId, () => simulator.capture(context, request));
      return end.kind === "busy" ? { ...limited, kind: "refused", as: "failed", codes: end.codes } : end;
    },
    async void(context, request) {
      const { reconciliationId } = request.payment;
      const end = await suffer("void", reconciliationId, () => simulator.void(context, request));
      return end.kind === "busy" ? { ...limited, kind: "refused", as: "failed", codes: end.codes } : end;
    },
    async refund(context, request) {
      const { reconciliationId } = request.payment;
      const end = await suffer("refund", reconciliationId, () => simulator.refund(context, request));
      return end.kind === "busy" ? { ...limited, kind: "refused", as: "failed", codes: end.codes } : end;
    },
    async lookUp(context, payment) {
      const end = await suffer("look up", payment.reconciliationId, () => simulator.lookUp(context, payment));
      return end.kind === "busy" ? { kind: "unknown", codes: end.codes } : end;
    },
    finishApproval: (context, approval) => simulator.finishApproval(context, approval),
    checkCredentials: (context) => simulator.checkCredentials(context),
    readWebhook: (context, delivery) => simulator.readWebhook(context, delivery),
  };
  return {
    ...{ connector, fields: { merchant_id: "shop", webhook_secret: SECRET } },
    ...{ card: "4242424242424242", currency: "USD" },
    fail: (kind, ...faults) => planned.set(kind, [...(planned.get(kind) ?? []), ...faults]),
    // Without a connection there is nothing to wait for.
    willBeSilent: () => false,
    moved: async (reference) => {
      const entries = (await books.find(tenantId, reference))?.entries ?? [];
      const amounts = (kind: string) => entries.filter((entry) => entry.kind === kind).map(({ amount }) => amount);
      return {
        ...{ authorize: amounts("authorization"), capture: amounts("capture") },
        ...{ void: amounts("void"), refund: amounts("refund") },
      };
    },
    webhooks: () => references.splice(0).map((reference, index) => signed(`evt-${index}`, reference, SECRET)),
    forged: () => signed("evt-forged", "0AAAAAAAAAAAAAAAAAAAAA", "another secret"),
    [Symbol.asyncDispose]: async () => {},
  };
}

function signed(id: string, reference: string, secret: string): WebhookDelivery {
  const body = Buffer.from(JSON.stringify({ id, payment: `sim_${reference}` }));
  return { headers: { "simulator-signature": createHmac("sha256", secret).update(body).digest("hex") }, body };
}
