import { FailedRuns } from "../functions/failed-runs.js";
import { FairFetchLimiter } from "../functions/fair-fetch-limiter.js";
import { FetchedBytes } from "../functions/fetched-bytes.js";
import { createFunctionRunner, type FunctionRunner } from "../functions/function-runner.js";
import { guardedFetch, hostCallsOver } from "../functions/serve-host-calls.js";
import { type SetUpTest, TestRunner } from "../functions/test-run.js";
import { StubbedHostCalls } from "../functions/test-stubs.js";
import type { CoreParts } from "./core-parts.js";

export interface Functions {
  readonly functions: FunctionRunner;
  readonly failedRuns: FailedRuns;
  readonly setUpTest: SetUpTest;
}

export function composeFunctions({ tenants, clock, log, agents, sandbox, callApi }: CoreParts): Functions {
  const failedRuns = new FailedRuns({
    tenants,
    clock,
    onFailure: (tenantId) => log.warn({ tenant_id: tenantId }, "a failed run could not be kept for its tenant"),
  });
  const fetching = { agents, turns: new FairFetchLimiter(), fetched: new FetchedBytes() };
  const functions = createFunctionRunner(sandbox, hostCallsOver(callApi, fetching), (fn, outcome) =>
    failedRuns.observe(fn, outcome),
  );
  return {
    functions,
    failedRuns,
    setUpTest(tenantId, outside) {
      const hosts = new StubbedHostCalls(outside, guardedFetch(fetching, tenantId));
      return { hosts, runner: new TestRunner(sandbox, hosts) };
    },
  };
}
