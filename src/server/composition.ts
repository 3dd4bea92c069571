import { Authenticator } from "../access/authenticate.js";
import { FramePasses } from "../access/frame-passes.js";
import { oncePerSecond } from "../api/observation/once-per-second.js";
import type { OperatorLog } from "../api/observation/operator-log.js";
import { buildPipeline } from "../api/pipeline/pipeline.js";
import { buildStreamPipeline } from "../api/pipeline/stream-pipeline.js";
import { internalCalls } from "../api/rest/internal-calls.js";
import { type RefusedCredential, RefusedCredentials } from "../audit/refused-credentials.js";
import type { Clock } from "../base/clock.js";
import type { Fault } from "../base/fault.js";
import { createGuardedAgents } from "../egress/guarded-agents.js";
import { MemoryBudget } from "../memory/memory-budget.js";
import type { SignInLimits } from "../rate-limits/sign-in-limits.js";
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
import { composeFunctions } from "./compose-functions.js";
import { composePayments } from "./compose-payments.js";
import { composePeople } from "./compose-people.js";
import { composeProxies } from "./compose-proxies.js";
import { composeReactors } from "./compose-reactors.js";
import { composeServices } from "./compose-services.js";
import { composeWebhooks } from "./compose-webhooks.js";
import type { EndPart } from "./shutdown.js";

export type Composition = ReturnType<typeof compose>;

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
export function compose(vault: Vault, config: Config, inputs: CompositionInputs) {
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
    /** The memory for bodies and large tokens, of all requests together. */
    memory,
    /** Stops background work, and waits for work under way. Requests are still served. */
    stopWork,
    framePasses,
    invitations: new InvitationAcceptance(tenants),
    callers: { tenantOf: (apiKey: string) => authenticator.tenantOfSecret(apiKey) },
    overload: { overloadFault: (apiKey: string) => overloadFault(database, authenticator, apiKey) },
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
