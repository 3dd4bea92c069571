import type { Authenticator } from "../access/authenticate.js";
import { type Caller, loggedActor } from "../access/caller.js";
import type { AuditContext } from "../audit/audit-context.js";
import { logEntry } from "../audit/log-entry.js";
import type { ServedTenant } from "../audit/tenant-database.js";
import { Fault } from "../base/fault.js";
import type { TenantId, Uuid } from "../base/ids.js";
import { isJsonObject, type Json, type JsonObject } from "../base/json.js";
import { unusableResult } from "../functions/function-failed.js";
import type { FunctionResult, FunctionRunner } from "../functions/function-runner.js";
import { openFormula } from "../reactors/formula.js";
import { checkArguments } from "../reactors/formula-contract.js";
import { openReactor } from "../reactors/reactor.js";
import { reactorApplication, reactorFunction } from "../reactors/reactor-function.js";
import { readFormula } from "../store/functions/reactor-formulas.js";
import { readReactor } from "../store/functions/reactors.js";
import type { Tenants } from "../tenancy/tenants.js";
import type { ReactorStep } from "./proxy.js";

export type TransformKind = "request_transform" | "response_transform";

export interface ReactorStepCall {
  readonly tenantId: TenantId;
  readonly caller: Caller | undefined;
  readonly context: AuditContext;
  /** That the transaction of the call has confirmed. */
  readonly revision: number;
  readonly kind: TransformKind;
}

/**
 * Runs a reactor as a transform, the form that preceded transforms with code: the reactor gets body and headers as
 * `args` and returns both in `raw`. It acts as its own application, with its own configuration.
 * @throws {FunctionFailed} by the code, or for an invalid result; {Fault} if the reactor or its application was
 * deleted: the request must not pass without its change.
 */
export type RunReactorStep = (
  call: ReactorStepCall,
  step: ReactorStep,
  args: JsonObject,
  signal: AbortSignal,
) => Promise<FunctionResult>;

export interface ReactorStepParts {
  readonly tenants: Tenants;
  readonly authenticator: Authenticator;
  readonly functions: FunctionRunner;
}

export function runReactorStep({ tenants, authenticator, functions }: ReactorStepParts): RunReactorStep {
  return async ({ tenantId, caller, context, revision, kind }, { reactorId }, args, signal) => {
    const tenant = await tenants.of(tenantId);
    const { row, formulaRow } = await readStep(tenant, { caller, context }, reactorId);
    const { reactor, formula } = await tenant.open((keys) => ({
      reactor: openReactor(keys, row),
      formula: formulaRow ? openFormula(keys, formulaRow) : undefined,
    }));
    if (formula) checkArguments(formula, args);
    const application = await reactorApplication(authenticator, tenantId, reactor, { context, revision });
    // The limits of a transform, which sees bodies of up to 5 MB.
    const result = await functions.run(
      { ...reactorFunction(tenantId, reactor, formula, application), kind },
      args,
      signal,
    );
    return result.kind === "answered" ? result : { kind: "returned", value: messageIn(result.value) };
  };
}

/** Read for each call, so changes to the reactor apply at once. Logs the run. */
function readStep(
  tenant: ServedTenant,
  { caller, context }: Pick<ReactorStepCall, "caller" | "context">,
  reactorId: Uuid,
) {
  return tenant.shared(async (tx) => {
    const row = await tx.query(readReactor, reactorId);
    const formulaRow = row?.formula_id ? await tx.query(readFormula, row.formula_id) : null;
    if (!row || (row.formula_id && !formulaRow)) throw goneReactor();
    tx.record(logEntry("reactor", reactorId, "invoke", { actor: caller && loggedActor(caller), context }));
    return { row, formulaRow };
  });
}

function goneReactor(): Fault {
  return new Fault(
    "unprocessable",
    "The reactor of this proxy does not exist any more. Give the proxy another one, or none.",
  );
}

function messageIn(returned: Json): Json {
  const { raw, tokenize } = isJsonObject(returned) ? returned : {};
  if (!isJsonObject(raw))
    throw unusableResult("A reactor of a proxy must return raw, an object with body and headers.");
  if (tokenize !== undefined) {
    throw unusableResult(
      "A reactor of a proxy must not return tokenize: no caller would get its tokens. Use bt.tokenize instead.",
    );
  }
  return raw;
}
