import { causeFields, tenantFailure } from "../api/observation/log-cause.js";
import type { OperatorLog } from "../api/observation/operator-log.js";
import type { Clock } from "../base/clock.js";
import { expandUuid } from "../base/compact-uuid.js";
import type { TenantId, Uuid } from "../base/ids.js";
import type { TenantKeys } from "../crypto/tenant-keys.js";
import type { GuardedAgents } from "../egress/guarded-agents.js";
import type { Job } from "../jobs/schedule.js";
import { tenantWorkJob } from "../jobs/tenant-work.js";
import { checkConnections } from "../payments/connections/check-credentials.js";
import { Connectors } from "../payments/connections/connectors.js";
import { realConnectors } from "../payments/connections/providers.js";
import type { FormulaId } from "../payments/contract/formula.js";
import { providerHttp } from "../payments/contract/provider-http.js";
import { PaymentEngine } from "../payments/payment-engine.js";
import { InboundCallbacks } from "../payments/reconciliation/inbound-callbacks.js";
import type { ReconcileParts } from "../payments/reconciliation/reconcile.js";
import { SimulatorWebhooks } from "../payments/reconciliation/simulated-webhooks.js";
import { encodeSignedPath } from "../payments/signed-path.js";
import { SimulatedApprovals } from "../payments/simulator/approve.js";
import { type SendWebhook, Simulator } from "../payments/simulator/simulator.js";
import { SimulatorStore } from "../payments/simulator/simulator-store.js";
import { TenantWorkers } from "../payments/tenant-workers.js";
import { SimulatedChallenges } from "../payments/three-ds/challenges.js";
import { simulatedDirectory } from "../payments/three-ds/directory.js";
import type { ServedMethod } from "../services/call.js";
import { connectionService } from "../services/connections.js";
import { threeDSService } from "../services/three-ds.js";
import { transactionService } from "../services/transactions.js";
import { hasChecksDue } from "../store/payments/connections.js";
import { hasPaymentsDue } from "../store/payments/payments.js";
import type { Vault } from "../vault/vault.js";

export interface PaymentsParts {
  readonly vault: Vault;
  readonly agents: GuardedAgents;
  readonly clock: Clock;
  /** Replace the public addresses of payment services. */
  readonly addresses: ReadonlyMap<FormulaId, string>;
  readonly log: OperatorLog;
  /** The address at which callers reach this server. Known once it listens. */
  readonly address: () => string;
}

export function composePayments(parts: PaymentsParts) {
  const { vault, agents, clock, log, addresses } = parts;
  const { database, tenants } = vault;
  const simulatorStore = new SimulatorStore(database);
  const post = new SimulatorWebhooks({
    tenants,
    async deliver(address, delivery) {
      const endpoint = await incoming.endpoint(address);
      if (endpoint) await incoming.webhook(endpoint, delivery);
    },
    onFailure: tenantFailure(log, "simulator webhooks", "a webhook of the simulator was lost"),
  });
  const sendWebhook: SendWebhook = (tenantId, change) => post.schedule(tenantId, change);
  const connectors = new Connectors(
    [new Simulator(simulatorStore, approvalPageOf(parts), sendWebhook), ...realConnectors(addresses)],
    (tenantId) =>
      providerHttp(agents, tenantId, (error) =>
        log.warn({ tenant_id: tenantId, ...causeFields(error) }, "a payment service did not respond"),
      ),
    clock,
  );
  const checks = new TenantWorkers(
    (tenantId, signal) => checkConnections({ tenants, connectors }, tenantId, signal),
    tenantFailure(log, "credentials checks", "the credentials of a connection could not be checked"),
  );
  const reconciling: ReconcileParts = {
    tenants,
    connectors,
    clock,
    returnUrl: (keys, { id }) =>
      `${parts.address()}/orchestration/approvals/${encodeSignedPath(keys, "payment-return", id)}`,
    onDefect: tenantFailure(log, "payments", "connector defect; the payment will be reconciled"),
  };
  const incoming = new InboundCallbacks(reconciling);
  const engine = new PaymentEngine({
    ...reconciling,
    database,
    onFailure: tenantFailure(log, "payments", "reconciling a tenant's payments failed and will be tried again"),
  });
  return {
    methods: methodsOf(parts, connectors, engine, checks),
    jobs: jobsOf(parts, engine, checks),
    incoming,
    challenges: new SimulatedChallenges(tenants, simulatedDirectory),
    approvals: new SimulatedApprovals(simulatorStore, tenants, clock, sendWebhook),
    stop: async () => {
      post.stop();
      await Promise.all([checks.stop(), engine.stop()]);
    },
  };
}

/** The address where the simulator sends a buyer for approval. */
function approvalPageOf({ vault, address }: PaymentsParts) {
  return async (tenantId: TenantId, reference: string) => {
    const id = expandUuid(reference);
    if (!id) throw new Error("a payment has a malformed reference");
    const { keys } = await vault.tenants.of(tenantId);
    return `${address()}/simulator/approvals/${encodeSignedPath(keys, "simulator-approval", id)}`;
  };
}

function methodsOf(
  { address }: PaymentsParts,
  connectors: Connectors,
  engine: PaymentEngine,
  checks: TenantWorkers,
): ServedMethod[] {
  const webhookUrl = (keys: TenantKeys, connectionId: Uuid) =>
    `${address()}/orchestration/webhooks/${encodeSignedPath(keys, "payment-webhook", connectionId)}`;
  return [
    ...connectionService({ webhookUrl, checkSoon: (tenantId) => checks.wake(tenantId) }),
    ...transactionService({ engine, hosts: connectors }),
    ...threeDSService({
      directory: simulatedDirectory,
      challengeUrl: (keys, id) => `${address()}/3ds/challenges/${SimulatedChallenges.addressOf(keys, id)}`,
    }),
  ];
}

function jobsOf({ vault, clock, log }: PaymentsParts, engine: PaymentEngine, checks: TenantWorkers): Job[] {
  const { database } = vault;
  return [
    tenantWorkJob({
      name: "payments",
      kind: "payment",
      database,
      clock,
      isPending: hasPaymentsDue,
      wake: (tenantId) => engine.wake(tenantId),
      onFailure: tenantFailure(
        log,
        "payments",
        "a finished minute of due payments was not deleted; this is tried again",
      ),
    }),
    tenantWorkJob({
      name: "credentials checks",
      kind: "connection_check",
      database,
      clock,
      isPending: hasChecksDue,
      wake: (tenantId) => checks.wake(tenantId),
      onFailure: tenantFailure(
        log,
        "credentials checks",
        "a finished minute of due credentials checks was not deleted; this is tried again",
      ),
    }),
  ];
}
