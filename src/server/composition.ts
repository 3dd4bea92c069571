import { Authenticator } from "../access/authenticate.js";
import { FramePasses } from "../access/frame-passes.js";
import type { OverloadCheck } from "../api/load-shedder.js";
import { oncePerSecond } from "../api/observation/once-per-second.js";
import type { OperatorLog } from "../api/observation/operator-log.js";
import { buildPipeline, type Pipeline } from "../api/pipeline/pipeline.js";
import { buildStreamPipeline, type StreamPipeline } from "../api/pipeline/stream-pipeline.js";
import type { InvokeProxy } from "../api/proxy/proxy-route.js";
import { internalCalls } from "../api/rest/internal-calls.js";
import { type RefusedKey, RefusedKeys } from "../audit/refused-keys.js";
import type { Clock } from "../base/clock.js";
import { createGuardedAgents } from "../egress/guarded-agents.js";
import { MemoryBudget } from "../memory/memory-budget.js";
import type { SignInLimits } from "../rate-limits/sign-in-limits.js";
import type { RunQueue } from "../reactors/run-queue.js";
import type { SandboxIncident } from "../sandbox/options.js";
import { createSandbox, type Sandbox } from "../sandbox/sandbox.js";
import type { SharedRunnerPlace } from "../sandbox/shared-runner.js";
import type { ServedMethod } from "../services/call.js";
import { followLogs } from "../services/follow-logs.js";
import { revealService } from "../services/reveals.js";
import { tokenizeService } from "../services/tokenize.js";
import { tokenService } from "../services/tokens.js";
import type { Config } from "../settings/config.js";
import { InvitationAcceptance } from "../tenancy/accept-invitation.js";
import type { BinTable } from "../tokens/types/bin-table.js";
import type { Vault } from "../vault/vault.js";
import { composeFunctions } from "./compose-functions.js";
import { composePayments, type Payments } from "./compose-payments.js";
import { composePeople, type People } from "./compose-people.js";
import { composeProxies } from "./compose-proxies.js";
import { composeReactors } from "./compose-reactors.js";
import { composeServices } from "./compose-services.js";
import type { EndPart } from "./shutdown.js";

/** All parts that serve requests. */
export interface Composition extends AsyncDisposable {
  readonly pipelines: readonly Pipeline[];
  readonly streams: readonly StreamPipeline[];
  readonly invokeProxy: InvokeProxy;
  readonly runs: RunQueue;
  readonly payments: Payments;
  readonly people: People;
  readonly invitations: InvitationAcceptance;
  readonly framePasses: FramePasses;
  readonly sandbox: Pick<Sandbox, "metrics">;
  readonly overload: OverloadCheck;
  /** The memory for bodies and large tokens, of all requests together. */
  readonly memory: MemoryBudget;
  /** Stops background work, and waits for work under way. Requests are still served. */
  rest(): Promise<void>;
}

/** The inputs of the composition besides the vault and its settings. */
export interface CompositionInputs {
  readonly log: OperatorLog;
  readonly clock: Clock;
  readonly bins: BinTable | undefined;
  /** The address at which callers reach the server, once it is known. */
  address(): string;
  readonly endPart: EndPart;
  /** The runner of tenants' code, if the processes of this server share one. */
  readonly sharedRunner: SharedRunnerPlace | undefined;
  readonly signInLimits: SignInLimits;
}

/** Builds the parts bottom-up: each gets the parts it uses and does not know the others. */
export function compose(vault: Vault, config: Config, inputs: CompositionInputs): Composition {
  const { log, clock, bins, address, endPart, signInLimits: limits } = inputs;
  const { database, keyring } = vault;
  const refusedKeys = noteRefusedKeys(vault, inputs);
  const onRefused = (refused: RefusedKey) => refusedKeys.note(refused);
  const authenticator = new Authenticator(database, keyring, clock, onRefused);
  const framePasses = new FramePasses(database, keyring, clock);
  const agents = createGuardedAgents(config.egress);
  const people = composePeople({ vault, config, clock, agents, address, limits });
  const { visits } = people;
  const memory = new MemoryBudget(config.bodyLimit);
  const admission = { authenticator, people: people.authenticator, framePasses, database };
  const pipelinesOf = (methods: readonly ServedMethod[]) =>
    methods.map((method) => buildPipeline(method, { ...admission, keyring, log, visits }));
  const tokens = pipelinesOf([
    ...tokenService({ keyring, clock, bins, bodyLimit: config.bodyLimit }),
    ...tokenizeService({ keyring, clock, bins }),
    ...revealService({ keyring, bins }),
  ]);

  const sandbox = openSandbox(config, inputs);
  const callApi = internalCalls(tokens, authenticator, memory);
  const core = { database, keyring, clock, log, bins, authenticator, agents, sandbox, memory, callApi };
  const { functions, failedRuns, setUpTest } = composeFunctions(core);
  const invoke = composeProxies(core, functions, onRefused);
  const { runs, react } = composeReactors(core, functions);
  const payments = composePayments({ vault, agents, clock, log, address, addresses: config.paymentAddresses });
  const services = composeServices(core, config, { invoke, react, runs, setUpTest });

  const rest = async () => {
    await Promise.all([runs.stop(), payments.stop()]);
  };
  return {
    pipelines: [...tokens, ...pipelinesOf([...services, ...payments.methods, ...people.methods])],
    streams: [buildStreamPipeline(followLogs(keyring), admission)],
    invokeProxy: invoke,
    ...{ runs, payments, people, sandbox, memory, rest },
    framePasses,
    invitations: new InvitationAcceptance(database, keyring),
    overload: {
      overloadFault(apiKey) {
        const tenantId = database.shared.isBusy ? authenticator.tenantOf(apiKey) : undefined;
        return tenantId && database.shared.overloadFault(tenantId);
      },
    },
    async [Symbol.asyncDispose]() {
      await endPart("runs and payments in the background", rest);
      await endPart("the sandbox's runner", () => sandbox.close());
      await endPart("failed runs being stored", () => failedRuns.settle());
      await endPart("log rows of refused keys", () => refusedKeys.settle());
      agents.close();
    },
  };
}

/** Keys of tenants that do not exist are for the operator: no tenant has a log for them. */
function noteRefusedKeys({ database, keyring }: Vault, { clock, log }: CompositionInputs): RefusedKeys {
  const tell = (text: string) => oncePerSecond((refusals) => log.warn({ reason: `${refusals} refused keys` }, text));
  return new RefusedKeys({
    ...{ database, keyring, clock },
    onLost: tell("denied requests could not be logged to their tenant"),
    onUnknown: tell("refused keys of tenants that do not exist"),
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
    : { reason: `${incident.type}: ${incident.reason}` };
}
