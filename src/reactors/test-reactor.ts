import type { TenantId } from "../base/ids.js";
import { isJsonObject, type Json } from "../base/json.js";
import { FunctionFailed } from "../functions/function-failed.js";
import type { FunctionResponse } from "../functions/function-runner.js";
import type { ObservedRun } from "../functions/observed-run.js";
import { type TestRunner, testedFunction } from "../functions/test-run.js";
import { returnedObject } from "./react.js";

export interface ReactorSample {
  readonly code: string;
  readonly args: Json;
  readonly configuration: Readonly<Record<string, string>>;
  /** Whether args have values in place of expressions, as in a call. */
  readonly isEvaluated: boolean;
}

export interface ReactorTest {
  readonly run: ObservedRun | undefined;
  /** The error that callers would get: the code failed, or returned an invalid result. */
  readonly failure: FunctionFailed | undefined;
  readonly returned: Json | undefined;
  readonly response: FunctionResponse | undefined;
  /** Differences that callers of such a reactor would notice. */
  readonly warnings: readonly string[];
}

/** Runs code as a reactor would. @throws {Fault} unavailable if it could not run now. */
export async function testReactor(
  runner: TestRunner,
  tenantId: TenantId,
  { code, args, configuration, isEvaluated }: ReactorSample,
  signal: AbortSignal,
): Promise<ReactorTest> {
  const fn = testedFunction(tenantId, "reactor", code, configuration);
  const nothing = { failure: undefined, returned: undefined, response: undefined };
  const isUnresolved = !isEvaluated && JSON.stringify(args).includes("{{");
  const unresolved = isUnresolved
    ? ["The expressions in args reached the code as they are. A reactor that is called gets the values of the tokens."]
    : [];
  try {
    const result = await runner.run(fn, args, signal);
    const run = runner.runs.at(-1);
    if (result.kind === "answered") return { ...nothing, run, response: result.response, warnings: unresolved };
    const warnings = [...unresolved, ...warningsOf(result.value)];
    return { ...nothing, run, failure: returnedFailure(result.value), returned: result.value, warnings };
  } catch (error) {
    const run = runner.runs.at(-1);
    if (!(error instanceof FunctionFailed)) throw error;
    return { ...nothing, run, failure: run?.failure ?? error, warnings: unresolved };
  }
}

function returnedFailure(value: Json): FunctionFailed | undefined {
  try {
    returnedObject(value);
    return undefined;
  } catch (error) {
    if (error instanceof FunctionFailed) return error;
    throw error;
  }
}

const MAX_NAMES = 10;

function warningsOf(value: Json): string[] {
  if (!isJsonObject(value)) return [];
  const others = Object.keys(value).filter((name) => name !== "raw" && name !== "tokenize");
  const names = [...others.slice(0, MAX_NAMES), ...(others.length > MAX_NAMES ? ["..."] : [])].join(", ");
  const hasResponse = value.raw !== undefined || value.tokenize !== undefined;
  return [
    ...(hasResponse ? [] : ["Callers get {}: of what code returns they get raw, and the tokens made of tokenize."]),
    ...(others.length > 0 ? [`Callers do not get: ${names}. Put it into raw.`] : []),
    ...(value.tokenize === undefined ? [] : ["A test makes no tokens. Callers get tokens in place of tokenize."]),
  ];
}
