import { randomInt } from "node:crypto";
import { isUuid, type TenantId, type Uuid } from "../base/ids.js";
import type { Json } from "../base/json.js";
import type { FunctionKind } from "../sandbox/limits.js";
import type { Sandbox } from "../sandbox/sandbox.js";
import {
  createFunctionRunner,
  type FunctionResult,
  type FunctionRunner,
  type TenantFunction,
} from "./function-runner.js";
import { type ObservedRun, observedRun } from "./observed-run.js";
import type { StubbedHostCalls, TestStubs } from "./test-stubs.js";

/** Parts that run code in a test: the sandbox, and the responses to its calls. */
export interface TestSetup {
  readonly runner: TestRunner;
  readonly hosts: StubbedHostCalls;
}

export type SetUpTest = (tenantId: TenantId, outside: TestStubs) => TestSetup;

/** Function id of all tested code of a tenant: it shares one circuit breaker. */
export const TESTED_ID: Uuid = uuid("00000000-0000-4000-8000-000000000000");

export function testedFunction(
  tenantId: TenantId,
  kind: FunctionKind,
  code: string,
  configuration: Readonly<Record<string, string>>,
): TenantFunction {
  return { tenantId, id: TESTED_ID, kind, code, application: undefined, configuration, version: 0 };
}

/** Runs code in the same sandbox as all code, with the hosts of a test, and records each run. */
export class TestRunner implements FunctionRunner {
  readonly runs: ObservedRun[] = [];
  readonly #runner: FunctionRunner;

  constructor(sandbox: Sandbox, hosts: StubbedHostCalls) {
    this.#runner = createFunctionRunner(
      sandbox,
      () => hosts.hostCalls,
      ({ kind }, outcome) => {
        this.runs.push(observedRun(kind, outcome));
      },
    );
  }

  /** A unique version gives each run an instance of its own instead of a warm one. */
  run(fn: TenantFunction, args: Json, signal: AbortSignal): Promise<FunctionResult> {
    return this.#runner.run({ ...fn, version: randomInt(2 ** 47) }, args, signal);
  }
}

function uuid(text: string): Uuid {
  if (!isUuid(text)) throw new Error("not a UUID");
  return text;
}
