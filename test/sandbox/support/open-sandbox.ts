import type { Json, JsonObject } from "../../../src/base/json.js";
import type { HostCalls } from "../../../src/sandbox/host-calls.js";
import type { RunLimits } from "../../../src/sandbox/limits.js";
import type { SandboxIncident, SandboxOptions } from "../../../src/sandbox/options.js";
import type { CompileProblem, InstanceKey, RunOutcome } from "../../../src/sandbox/run.js";
import { createSandbox, type Sandbox } from "../../../src/sandbox/sandbox.js";

export interface CallOptions {
  readonly args?: JsonObject;
  readonly key?: Partial<InstanceKey>;
  readonly limits?: Partial<RunLimits>;
  readonly hosts?: Partial<HostCalls>;
  readonly signal?: AbortSignal;
}

/** A sandbox with a real runner process, and shortcuts for using it. */
export interface OpenSandbox extends AsyncDisposable {
  readonly sandbox: Sandbox;
  readonly incidents: readonly SandboxIncident[];
  run(code: string, options?: CallOptions): Promise<RunOutcome>;
  compile(code: string, tenantId?: string): Promise<CompileProblem | undefined>;
  /** The value that the code returns. Fails the test if the code throws. */
  value(code: string, options?: CallOptions): Promise<Json>;
  /** The texts of the error that it throws. Fails the test if the code returns. */
  thrown(code: string, options?: CallOptions): Promise<readonly string[]>;
}

export const tenant: InstanceKey = {
  tenantId: "0198c0de-0000-7000-8000-000000000001",
  functionId: "0198c0de-0000-7000-8000-0000000000f1",
  applicationId: null,
  configurationVersion: 1,
  kind: "reactor",
};

const noHosts: HostCalls = {
  fetch: () => Promise.reject(new Error("this test has no network")),
};

export function openSandbox(options: SandboxOptions = {}): OpenSandbox {
  const incidents: SandboxIncident[] = [];
  const sandbox = createSandbox({ threads: 4, ...options, onIncident: (incident) => incidents.push(incident) });
  const run = (code: string, { args = {}, key, limits, hosts, signal }: CallOptions = {}) => {
    const request = { key: { ...tenant, ...key }, code, args, hasApplication: hosts?.bt !== undefined, limits };
    return sandbox.run(request, { ...noHosts, ...hosts }, signal);
  };
  return {
    sandbox,
    incidents,
    run,
    compile: (code, tenantId = tenant.tenantId) => sandbox.compile(tenantId, code),
    async value(code, callOptions) {
      const outcome = await run(code, callOptions);
      if (outcome.kind === "returned") return outcome.value;
      throw new Error(`the code did not return: ${JSON.stringify(outcome)}`);
    },
    async thrown(code, callOptions) {
      const outcome = await run(code, callOptions);
      if (outcome.kind === "threw" && outcome.error.type !== "custom_http_response")
        return outcome.error.errors.error ?? [];
      throw new Error(`the code did not throw: ${JSON.stringify(outcome)}`);
    },
    [Symbol.asyncDispose]: () => sandbox.close(),
  };
}

/** `module.exports` of one expression: `req => ...` in most tests. */
export function exporting(expression: string): string {
  return `module.exports = ${expression};`;
}
