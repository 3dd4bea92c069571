import { Authenticator } from "./access/authenticate.js";
import { internalCalls } from "./api/internal-calls.js";
import type { Overload } from "./api/load-shedder.js";
import { causeFields, tenantFailure } from "./api/log-cause.js";
import type { OperatorLog } from "./api/operator-log.js";
import { buildPipeline, type Pipeline } from "./api/pipeline.js";
import type { InvokeProxy } from "./api/proxy-route.js";
import { functionProblem, problemJson } from "./api/rest/problem.js";
import type { Clock } from "./base/clock.js";
import { Fault } from "./base/fault.js";
import { newUuid } from "./base/ids.js";
import { composePayments, type Payments } from "./compose-payments.js";
import type { Config } from "./config.js";
import { createGuardedAgents } from "./egress/guarded-agents.js";
import type { CompileFor } from "./functions/code.js";
import { FailedRuns } from "./functions/failed-runs.js";
import { createFunctionRunner } from "./functions/function-runner.js";
import { createTokenFor, guardedFetch, hostCallsOver } from "./functions/host-calls.js";
import { TestHosts } from "./functions/test-hosts.js";
import { type SetUpTest, TestRunner } from "./functions/test-run.js";
import { invokeProxy } from "./proxy/invoke.js";
import { ProxyLoader } from "./proxy/load-proxy.js";
import { runReactorStep } from "./proxy/reactor-step.js";
import { RunTransforms } from "./proxy/run-transforms.js";
import { react } from "./reactors/react.js";
import { RunQueue } from "./reactors/run-queue.js";
import type { SandboxIncident } from "./sandbox/options.js";
import { createSandbox, type Sandbox } from "./sandbox/sandbox.js";
import type { SharedRunnerPlace } from "./sandbox/shared-runner.js";
import { applicationKeyService, applicationService, permissionService } from "./services/applications.js";
import type { ServedMethod } from "./services/call.js";
import { failedRunService } from "./services/failed-runs.js";
import { functionTestService } from "./services/function-tests.js";
import { invitationService } from "./services/invitations.js";
import { logService } from "./services/logs.js";
import { memberService } from "./services/members.js";
import { proxyService } from "./services/proxies.js";
import { reactService } from "./services/react.js";
import { reactorFormulaService } from "./services/reactor-formulas.js";
import { reactorService } from "./services/reactors.js";
import { sessionService } from "./services/sessions.js";
import { tenantService } from "./services/tenants.js";
import { tokenizeService } from "./services/tokenize.js";
import { tokenService } from "./services/tokens.js";
import type { EndPart } from "./shutdown.js";
import { InvitationDesk } from "./tenancy/accept-invitation.js";
import type { BinTable } from "./tokens/types/bin-table.js";
import type { Vault } from "./vault.js";

/** Everything that serves requests, put together. */
export interface Composition extends AsyncDisposable {
  readonly pipelines: readonly Pipeline[];
  readonly invokeProxy: InvokeProxy;
  readonly runs: RunQueue;
  readonly payments: Payments;
  readonly invitations: InvitationDesk;
  readonly sandbox: Pick<Sandbox, "metrics">;
  readonly overload: Overload;
  /** Begins nothing more that nobody waits for, and waits for what is under way. Requests are served on. */
  rest(): Promise<void>;
}

/** What everything is put together with, beside the vault and its settings. */
export interface Surroundings {
  readonly log: OperatorLog;
  readonly clock: Clock;
  readonly bins: BinTable | undefined;
  /** How callers reach the server, once that is known. */
  address(): string;
  readonly endPart: EndPart;
  /** The runner of tenants' code, where the processes of this server share one. */
  readonly sharedRunner: SharedRunnerPlace | undefined;
}

/** Puts the parts together, from the bottom up: each is given what it uses, and knows nothing of the rest. */
export function compose(
  vault: Vault,
  config: Config,
  { log, clock, bins, address, endPart, sharedRunner }: Surroundings,
): Composition {
  const { database, keyring } = vault;
  const authenticator = new Authenticator(database, keyring, clock);
  const pipelinesOf = (methods: readonly ServedMethod[]) =>
    methods.map((method) => buildPipeline(method, { authenticator, database, keyring, log }));

  const tokens = pipelinesOf([...tokenService({ keyring, clock, bins }), ...tokenizeService({ keyring, clock, bins })]);

  const policy = config.egress;
  const agents = createGuardedAgents(policy);
  const sandbox = createSandbox({
    ...config.sandbox,
    sharedRunner,
    onIncident: (incident) => log.warn(incidentFields(incident), "the sandbox had to act"),
  });
  const callApi = internalCalls(tokens, authenticator);
  const failedRuns = new FailedRuns({
    ...{ database, keyring, clock },
    onFailure: (tenantId) => log.warn({ tenant_id: tenantId }, "a failed run could not be kept for its tenant"),
  });
  const functions = createFunctionRunner(sandbox, hostCallsOver(callApi, agents), (fn, outcome) =>
    failedRuns.observe(fn, outcome),
  );
  const setUpTest: SetUpTest = (tenantId, outside) => {
    const hosts = new TestHosts(outside, guardedFetch(agents, tenantId));
    return { hosts, runner: new TestRunner(sandbox, hosts) };
  };

  const loader = new ProxyLoader(database, keyring);
  const transforms = new RunTransforms({
    functions,
    async application(tenantId, { proxy }) {
      return proxy.applicationId ? authenticator.application(tenantId, proxy.applicationId) : undefined;
    },
    createToken: (application, request, signal) => createTokenFor(callApi, application, request, signal),
    runReactor: runReactorStep({ database, keyring, authenticator, functions }),
  });
  const invoke: InvokeProxy = (call) =>
    invokeProxy({ database, keyring, authenticator, loader, agents, transforms, bins }, call);

  const reacting = { authenticator, functions, callApi, bins };
  const runs = new RunQueue({
    ...reacting,
    ...{ database, keyring, agents },
    showError: (error) =>
      error instanceof Fault ? problemJson(error, newUuid()) : functionProblem(error, "reactor_error", newUuid()),
    onFailure: tenantFailure(log, "reactor runs", "a reactor's run failed and will be tried again"),
    onUndelivered: (tenantId, { error, attempt, delay }) =>
      log.warn(
        {
          ...{ tenant_id: tenantId, job: "reactor runs", ...causeFields(error), attempt },
          ...(delay === undefined ? {} : { next_at: new Date(clock.now() + delay).toISOString() }),
        },
        "a reactor's result was not taken by its callback address",
      ),
  });

  const payments = composePayments({ vault, agents, clock, log, address, addresses: config.paymentAddresses });

  const compileFor: CompileFor = (tenantId) => (code) => sandbox.compile(tenantId, code);
  const others = pipelinesOf([
    ...applicationService(keyring),
    ...applicationKeyService(keyring),
    ...permissionService(),
    ...tenantService({
      ...{ includedMonthlyActiveTokens: config.includedMonthlyActiveTokens, keyring },
      onRemoved: ({ tenantId, application }) =>
        log.warn({ tenant_id: tenantId, application_id: application.id }, "a tenant was deleted"),
    }),
    ...memberService({ keyring }),
    ...invitationService({ keyring }),
    ...sessionService(keyring),
    ...logService(keyring),
    ...proxyService({ keyring, policy, compileFor, invoke }),
    ...reactorService({ keyring, compileFor }),
    ...functionTestService({ setUpTest, agents }),
    ...failedRunService(keyring),
    ...reactorFormulaService({ keyring, compileFor }),
    ...reactService({
      ...{ keyring, policy },
      react: (caller, keys, run, args, signal) => react(reacting, caller, keys, run, args, signal),
      wake: (tenantId) => runs.wake(tenantId),
    }),
    ...payments.methods,
  ]);
  const rest = async () => {
    await Promise.all([runs.stop(), payments.stop()]);
  };
  return {
    pipelines: [...tokens, ...others],
    invokeProxy: invoke,
    runs,
    payments,
    invitations: new InvitationDesk(database, keyring),
    sandbox,
    overload: {
      refusalOf(apiKey) {
        const tenantId = database.fast.isBusy ? authenticator.tenantOf(apiKey) : undefined;
        return tenantId && database.fast.refusalOf(tenantId);
      },
    },
    rest,
    async [Symbol.asyncDispose]() {
      await endPart("runs and payments in the background", rest);
      await endPart("the sandbox's runner", () => sandbox.close());
      await endPart("failed runs being stored", () => failedRuns.settle());
      agents.close();
    },
  };
}

function incidentFields(incident: SandboxIncident) {
  return "tenantId" in incident
    ? { reason: incident.type, tenant_id: incident.tenantId }
    : { reason: `${incident.type}: ${incident.reason}` };
}
