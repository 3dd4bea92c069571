import { functionProblem, problemJson } from "../api/faults/problem.js";
import { causeFields, tenantFailure } from "../api/observation/log-cause.js";
import { Fault } from "../base/fault.js";
import { newUuid } from "../base/ids.js";
import type { FunctionRunner } from "../functions/function-runner.js";
import { react } from "../reactors/react.js";
import { RunQueue } from "../reactors/run-queue.js";
import type { ReactServiceParts } from "../services/react.js";
import type { CoreParts } from "./core-parts.js";

export interface Reactors {
  readonly runs: RunQueue;
  readonly react: ReactServiceParts["react"];
}

export function composeReactors(core: CoreParts, functions: FunctionRunner): Reactors {
  const { database, keyring, clock, log, bins, authenticator, agents, memory, callApi } = core;
  const reacting = { authenticator, functions, callApi, bins };
  const runs = new RunQueue({
    ...reacting,
    database,
    keyring,
    agents,
    openMemory: (tenantId, applicationId) => memory.openFor(tenantId, applicationId),
    showError: (error) =>
      error instanceof Fault ? problemJson(error, newUuid()) : functionProblem(error, "reactor_error", newUuid()),
    onFailure: tenantFailure(log, "reactor runs", "a reactor's run failed and will be tried again"),
    onUndelivered: (tenantId, { error, attempt, delay }) =>
      log.warn(
        {
          tenant_id: tenantId,
          job: "reactor runs",
          ...causeFields(error),
          attempt,
          ...(delay === undefined ? {} : { next_at: new Date(clock.now() + delay).toISOString() }),
        },
        "reactor callback failed",
      ),
  });
  return { runs, react: (call, run, args) => react(reacting, call, run, args) };
}
