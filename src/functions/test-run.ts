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
import type { TestHosts, TestOutside } from "./test-hosts.js";

/** What a test needs to run code: the sandbox, and what answers its calls. */
export interface TestSetup {
  readonly runner: TestRunner;
  readonly hosts: TestHosts;
}

/** Sets up a test for a tenant. */
export type SetUpTest = (tenantId: TenantId, outside: TestOutside) => TestSetup;

/** All code that a tenant tests counts as one function, with one circuit breaker. */
export const TESTED_ID: Uuid = uuid("00000000-0000-4000-8000-000000000000");

/** Code that is not saved, as a function. */
export function testedFunction(
  tenantId: TenantId,
  kind: FunctionKind,
  code: string,
  configuration: Readonly<Record<string, string>>,
): TenantFunction {
  return { tenantId, id: TESTED_ID, kind, code, application: undefined, configuration, version: 0 };
}

/** Runs code in the sandbox that all code runs in, with the hosts of a test, and keeps what came of each run. */
export class TestRunner implements FunctionRunner {
  readonly runs: ObservedRun[] = [];
  readonly #runner: FunctionRunner;

  constructor(sandbox: Sandbox, hosts: TestHosts) {
    this.#runner = createFunctionRunner(
      sandbox,
      () => hosts.hostCalls,
      ({ kind }, outcome) => {
        this.runs.push(observedRun(kind, outcome));
      },
    );
  }

  /** Each run has an instance of its own: a version that no other run has keeps it from finding one that is warm. */
  run(fn: TenantFunction, args: Json, signal: AbortSignal): Promise<FunctionResult> {
    return this.#runner.run({ ...fn, version: randomInt(2 ** 47) }, args, signal);
  }
}

function uuid(text: string): Uuid {
  if (!isUuid(text)) throw new Error("not a UUID");
  return text;
}
