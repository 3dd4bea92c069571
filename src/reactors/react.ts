import type { Authenticator } from "../access/authenticate.js";
import { actingThrough, type Caller } from "../access/caller.js";
import type { CallerTransaction } from "../access/caller-transaction.js";
import { notFound } from "../base/fault.js";
import type { Uuid } from "../base/ids.js";
import { isJsonObject, type Json, type JsonObject } from "../base/json.js";
import type { TenantKeys } from "../crypto/tenant-keys.js";
import { FunctionFailed } from "../functions/function-failed.js";
import type { FunctionRunner } from "../functions/function-runner.js";
import type { CallApi } from "../functions/serve-host-calls.js";
import { type FormulaRow, readFormula } from "../store/functions/reactor-formulas.js";
import { type ReactorRow, readReactor } from "../store/functions/reactors.js";
import { detokenize, findTokens, openTokens, referencedTokens } from "../tokens/detokenize.js";
import type { ReadableToken } from "../tokens/read.js";
import type { BinTable } from "../tokens/types/bin-table.js";
import { openFormula } from "./formula.js";
import { checkArguments } from "./formula-contract.js";
import type { CreatedTokens, ReactOutcome } from "./outcome.js";
import { openReactor } from "./reactor.js";
import { reactorApplication, reactorFunction } from "./reactor-function.js";

export interface ReactParts {
  readonly authenticator: Authenticator;
  readonly functions: FunctionRunner;
  readonly callApi: CallApi;
  readonly bins: BinTable | undefined;
}

/** A run that may start: the reactor and its arguments' tokens, loaded and logged. */
export interface AuthorizedRun {
  readonly reactor: ReactorRow;
  readonly formula: FormulaRow | undefined;
  readonly tokens: ReadonlyMap<string, ReadableToken>;
}

export interface ReactCall {
  readonly caller: Caller;
  readonly keys: TenantKeys;
  readonly signal: AbortSignal;
}

/** @throws {Fault} validation_failed naming places below args. */
export function tokensOfArgs(args: Json): string[] {
  return referencedTokens(args, "args");
}

/** Checks rights, loads the tokens and writes the log rows, in one transaction. */
export async function authorizeRun(
  tx: CallerTransaction,
  id: Uuid,
  tokenIds: readonly string[],
): Promise<AuthorizedRun> {
  const reactor = await tx.query(readReactor, id);
  if (!reactor) throw notFound("reactor");
  const formula = reactor.formula_id ? await tx.query(readFormula, reactor.formula_id) : null;
  if (reactor.formula_id && !formula) throw notFound("reactor formula");
  const tokens = await findTokens(tx.actingAs(actingThrough(tx.caller, { type: "reactor", id })), tokenIds, "use");
  tx.log("reactor", id, "invoke");
  return { reactor, formula: formula ?? undefined, tokens };
}

/**
 * Runs a reactor: values replace references with their types, and tokens replace the returned `tokenize`.
 * @throws {FunctionFailed} by the code or its limits; {Fault} for arguments that the formula does not accept.
 */
export async function react(
  parts: ReactParts,
  { caller, keys, signal }: ReactCall,
  { reactor: row, formula: formulaRow, tokens }: AuthorizedRun,
  args: Json,
): Promise<ReactOutcome> {
  const { tenantId } = caller;
  const reactor = openReactor(keys, row);
  const formula = formulaRow && openFormula(keys, formulaRow);
  const values = detokenize(args, "args", await openTokens(keys, tokens, parts.bins));
  if (formula) checkArguments(formula, values);
  const application = await reactorApplication(parts.authenticator, tenantId, reactor, caller);
  const result = await parts.functions.run(reactorFunction(tenantId, reactor, formula, application), values, signal);
  if (result.kind === "answered") return result;
  const { raw, tokenize } = returnedObject(result.value);
  // Tokens belong to the application of the code, or to the caller if it has none.
  const made = tokenize === undefined ? undefined : await tokenizeAs(parts, application ?? caller, tokenize, signal);
  return { kind: "result", tokens: made, raw };
}

/** @throws {FunctionFailed} for anything but an object. */
export function returnedObject(value: Json): JsonObject {
  if (isJsonObject(value)) return value;
  throw new FunctionFailed(500, "Reactor Runtime Error", {
    error: ["The code must return an object, with raw or tokenize or both."],
  });
}

async function tokenizeAs(
  { callApi }: ReactParts,
  owner: Caller,
  body: Json,
  signal: AbortSignal,
): Promise<CreatedTokens> {
  const { status, body: response, lasting } = await callApi(owner, "tokenize", body, signal);
  if (status < 400) return { shown: response, kept: lasting() };
  const { detail, errors } = isJsonObject(response) ? response : {};
  const texts = isJsonObject(errors)
    ? Object.fromEntries(
        Object.entries(errors).map(([field, list]) => [
          `tokenize.${field}`,
          Array.isArray(list) ? list.map(String) : [],
        ]),
      )
    : {};
  throw new FunctionFailed(status, typeof detail === "string" ? detail : "The result could not be tokenized.", texts);
}
