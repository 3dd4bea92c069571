import { Authenticator } from "../access/authenticate.js";
import { FramePasses } from "../access/frame-passes.js";
import type { OverloadCheck } from "../api/arrival/load-shedder.js";
import type { CallersByKey } from "../api/arrival/turn-gate.js";
import { oncePerSecond } from "../api/observation/once-per-second.js";
import type { OperatorLog } from "../api/observation/operator-log.js";
import { buildPipeline, type Pipeline } from "../api/pipeline/pipeline.js";
import { buildStreamPipeline, type StreamPipeline } from "../api/pipeline/stream-pipeline.js";
import type { InvokeProxy } from "../api/proxy/proxy-route.js";
import { internalCalls } from "../api/rest/internal-calls.js";
import { type RefusedCredential, RefusedCredentials } from "../audit/refused-credentials.js";
import type { Clock } from "../base/clock.js";
import type { Fault } from "../base/fault.js";
import { createGuardedAgents } from "../egress/guarded-agents.js";
import { MemoryBudget } from "../memory/memory-budget.js";
import type { SignInLimits } from "../rate-limits/sign-in-limits.js";
import type { RunQueue } from "../reactors/run-queue.js";
import type { SandboxIncident } from "../sandbox/options.js";
import { createSandbox, type Sandbox } from "../sandbox/sandbox.js";
import type { SharedRunnerAccess } from "../sandbox/shared-runner.js";
import type { ServedMethod } from "../services/call.js";
import { exportingTokens } from "../services/export-tokens.js";
import { followLogs } from "../services/follow-logs.js";
import { revealService } from "../services/reveals.js";
import { tokenizeService } from "../services/tokenize.js";
import { tokenService } from "../services/tokens.js";
import type { Config } from "../settings/config.js";
import type { Database } from "../store/database.js";
import { InvitationAcceptance } from "../tenancy/accept-invitation.js";
import type { BinTable } from "../tokens/types/bin-table.js";
import type { Vault } from "../vault/vault.js";
import type { DeliveryQueue } from "../webhooks/delivery-queue.js";
import type { SigningKey } from "../webhooks/signing-key.js";
import { composeFunctions } from "./compose-functions.js";
import { composePayments, type Payments } from "./compose-payments.js";
import { composePeople, type People } from "./compose-people.js";
import { composeProxies } from "./compose-proxies.js";
import { composeReactors } from "./compose-reactors.js";
import { composeServices } from "./compose-services.js";
import { composeWebhooks } from "./compose-webhooks.js";
import type { EndPart } from "./shutdown.js";

export interface Composition extends AsyncDisposable {
  readonly pipelines: readonly Pipeline[];
  readonly streams: readonly StreamPipeline[];
  readonly invokeProxy: InvokeProxy;
  readonly runs: RunQueue;
  readonly deliveries: DeliveryQueue;
  readonly webhookKey: SigningKey;
  readonly payments: Payments;
  readonly people: People;
  readonly invitations: InvitationAcceptance;
  readonly framePasses: FramePasses;
  readonly sandbox: Pick<Sandbox, "metrics" | "problem">;
  readonly callers: CallersByKey;
  readonly overload: OverloadCheck;
  /** The memory for bodies and large tokens, of all requests together. */
  readonly memory: MemoryBudget;
  /** Stops background work, and waits for work under way. Requests are still served. */
  stopWork(): Promise<void>;
}

export interface CompositionInputs {
  readonly log: OperatorLog;
  readonly clock: Clock;
  readonly bins: BinTable | undefined;
  /** The address at which callers reach the server, once it is known. */
  address(): string;
  readonly endPart: EndPart;
  /** The runner of tenants' code, if the processes of this server share one. */
  readonly sharedRunner: SharedRunnerAccess | undefined;
  readonly signInLimits: SignInLimits;
}

/** Builds the parts bottom-up: each gets the parts it uses and does not know the others. */
export function compose(vault: Vault, config: Config, inputs: CompositionInputs): Composition {
  const { log, clock, bins, address, endPart, signInLimits: limits } = inputs;
  const { database, keyring, tenants } = vault;
  const refusals = composeRefusals(vault, inputs);
  const authenticator = new Authenticator(database, keyring, clock, refusals.ofKey);
  const framePasses = new FramePasses(database, keyring, clock);
  const agents = createGuardedAgents(config.egress);
  const people = composePeople({ vault, config, clock, agents, address, limits, onRefused: refusals.ofSignIn });
  const { visits } = people;
  const memory = new MemoryBudget(config.bodyLimit);
  const admission = { authenticator, people: people.authenticator, framePasses, database };
  const pipelinesOf = (methods: readonly ServedMethod[]) =>
    methods.map((method) => buildPipeline(method, { ...admission, keyring, log, visits }));
  const tokens = pipelinesOf([
    ...tokenService({ clock, bins, bodyLimit: config.bodyLimit }),
    ...tokenizeService({ clock, bins }),
    ...revealService({ bins }),
  ]);

  const sandbox = openSandbox(config, inputs);
  const callApi = internalCalls(tokens, authenticator, memory);
  const core = { database, keyring, tenants, clock, log, bins, authenticator, agents, sandbox, memory, callApi };
  const { functions, failedRuns, setUpTest } = composeFunctions(core);
  const invoke = composeProxies(core, functions, refusals.ofKey);
  const { runs, react } = composeReactors(core, functions);
  const payments = composePayments({ vault, agents, clock, log, address, addresses: config.paymentAddresses });
  const { deliveries, webhookKey } = composeWebhooks(core);
  const services = composeServices(core, config, { invoke, react, runs, deliveries, setUpTest });

  const stopWork = async () => {
    await Promise.all([runs.stop(), deliveries.stop(), payments.stop()]);
  };
  return {
    pipelines: [...tokens, ...pipelinesOf([...services, ...payments.methods, ...people.methods])],
    streams: [followLogs(), exportingTokens(bins)].map((stream) =>
      buildStreamPipeline(stream, { ...admission, keyring, clock }),
    ),
    invokeProxy: invoke,
    runs,
    deliveries,
    webhookKey,
    payments,
    people,
    sandbox,
    memory,
    stopWork,
    framePasses,
    invitations: new InvitationAcceptance(tenants),
    callers: { tenantOf: (apiKey) => authenticator.tenantOfSecret(apiKey) },
    overload: { overloadFault: (apiKey) => overloadFault(database, authenticator, apiKey) },
    async [Symbol.asyncDispose]() {
      await endPart("runs, deliveries and payments in the background", stopWork);
      await endPart("the sandbox's runner", () => sandbox.close());
      await endPart("failed runs being stored", () => failedRuns.settle());
      await endPart("log rows of refused keys", () => refusals.settle());
      agents.close();
    },
  };
}

/** A secret key proves the tenant's back end. All other callers have the queue of its pages. */
function overloadFault({ shared }: Database, authenticator: Authenticator, apiKey: string): Fault | undefined {
  const tenantId = shared.isBusy ? authenticator.presentedTenant(apiKey) : undefined;
  if (!tenantId) return undefined;
  return shared.overloadFault(tenantId, authenticator.tenantOfSecret(apiKey) ? "back end" : "pages");
}

/** Keys and sign-ins have caps of their own: made-up keys must not displace the rows of sign-ins. */
function composeRefusals(vault: Vault, inputs: CompositionInputs) {
  const keys = rowsOfRefused("application_key", vault, inputs);
  const signIns = rowsOfRefused("sign_in", vault, inputs);
  return {
    ofKey: (refused: RefusedCredential) => keys.note(refused),
    ofSignIn: (refused: RefusedCredential) => signIns.note(refused),
    settle: () => Promise.all([keys.settle(), signIns.settle()]),
  };
}

/** Credentials of tenants that do not exist are for the operator: no tenant has a log for them. */
function rowsOfRefused(
  entityType: "application_key" | "sign_in",
  { database, keyring }: Vault,
  { clock, log }: CompositionInputs,
): RefusedCredentials {
  const what = entityType === "sign_in" ? "refused sign-ins" : "refused keys";
  const tell = (text: string) => oncePerSecond((refusals) => log.warn({ reason: `${refusals} ${what}` }, text));
  return new RefusedCredentials({
    entityType,
    database,
    keyring,
    clock,
    onLost: tell("denied requests could not be logged to their tenant"),
    onUnknown: tell(`${what} of tenants that do not exist`),
  });
}

function openSandbox(config: Config, { log, sharedRunner }: CompositionInputs): Sandbox {
  return createSandbox({
    ...config.sandbox,
    sharedRunner,
    onIncident: (incident) => log.warn(incidentFields(incident), "sandbox incident"),
  });
}

function incidentFields(incident: SandboxIncident) {
  return "tenantId" in incident
    ? { reason: incident.type, tenant_id: incident.tenantId }
    : {
        reason: `${incident.type}: ${incident.reason}`,
        ...(incident.cause === undefined ? {} : { cause: incident.cause }),
      };
}
