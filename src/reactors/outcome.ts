import { Fault, isFaultCode } from "../base/fault.js";
import { isJsonObject, type Json, type JsonObject } from "../base/json.js";
import { FunctionFailed, readErrors, readFunctionFailed } from "../functions/function-failed.js";
import type { FunctionResponse } from "../functions/function-runner.js";

export interface CreatedTokens {
  readonly shown: Json;
  /** Without verification codes, which live for an hour, because results are kept for a day. */
  readonly kept: Json;
}

export type ReactOutcome =
  | { readonly kind: "result"; readonly tokens: CreatedTokens | undefined; readonly raw: Json | undefined }
  /** The code answers the caller itself: CustomHttpResponseError. */
  | { readonly kind: "answered"; readonly response: FunctionResponse };

export type RunEnd =
  | ReactOutcome
  | { readonly kind: "failed"; readonly failure: FunctionFailed }
  | { readonly kind: "refused"; readonly fault: Fault };

/** A run without an end, which starts again. */
export type Interruption =
  /** There was no room for it, or the server stops. */
  | { readonly kind: "postponed" }
  /** By a defect, which counts against the run. */
  | { readonly kind: "broken_off"; readonly defect: unknown };

/** What follows a run that threw. Callers see faults and errors of their code, and no defects. */
export function afterThrow(error: unknown, isStopping: boolean): RunEnd | Interruption {
  if (isStopping || (error instanceof Fault && error.code === "unavailable")) return { kind: "postponed" };
  if (error instanceof FunctionFailed) return { kind: "failed", failure: error };
  return error instanceof Fault ? { kind: "refused", fault: error } : { kind: "broken_off", defect: error };
}

/** The result that a waiting caller would get. @throws {FunctionFailed | Fault} if it is an error. */
export function toRunOutcome(end: RunEnd): ReactOutcome {
  if (end.kind === "failed") throw end.failure;
  if (end.kind === "refused") throw end.fault;
  return end;
}

/** The REST body that a waiting caller would get. */
export function reactBody(end: RunEnd, show: (error: Fault | FunctionFailed) => Json): Json {
  switch (end.kind) {
    case "result":
      return resultJson(end.tokens?.shown, end.raw);
    case "answered":
      return end.response.body;
    case "failed":
      return show(end.failure);
    case "refused":
      return show(end.fault);
  }
}

function resultJson(tokens: Json | undefined, raw: Json | undefined): JsonObject {
  return { ...(tokens === undefined ? {} : { tokens }), ...(raw === undefined ? {} : { raw }) };
}

export function writeEnd(end: RunEnd): JsonObject {
  switch (end.kind) {
    case "result":
      return { kind: end.kind, ...resultJson(end.tokens?.kept, end.raw) };
    case "answered": {
      const { status, headers, body } = end.response;
      return { kind: end.kind, status, headers: { ...headers }, body };
    }
    case "failed":
      return { kind: end.kind, ...end.failure.toJson() };
    case "refused": {
      const { code, message, fields } = end.fault;
      return { kind: end.kind, code, message, ...(fields ? { fields: textsJson(fields) } : {}) };
    }
  }
}

export function readRunResult(stored: Json): RunEnd {
  if (!isJsonObject(stored)) throw new Error("the end of a run is not an object");
  const { kind } = stored;
  if (kind === "result") {
    const { tokens, raw } = stored;
    return { kind, tokens: tokens === undefined ? undefined : { shown: tokens, kept: tokens }, raw };
  }
  if (kind === "answered") {
    const headers = Object.fromEntries(
      Object.entries(objectOf(stored.headers)).map(([name, text]) => [name, String(text)]),
    );
    return { kind, response: { status: Number(stored.status), headers, body: stored.body ?? null } };
  }
  if (kind === "failed") return { kind, failure: readFunctionFailed(stored) };
  const code = String(stored.code);
  if (kind !== "refused" || !isFaultCode(code)) throw new Error("the end of a run has an unknown kind");
  const fields = stored.fields === undefined ? {} : { fields: readErrors(stored.fields) };
  return { kind, fault: new Fault(code, String(stored.message), fields) };
}

function textsJson(texts: Readonly<Record<string, readonly string[]>>): JsonObject {
  return Object.fromEntries(Object.entries(texts).map(([name, list]) => [name, [...list]]));
}

function objectOf(json: Json | undefined): JsonObject {
  return isJsonObject(json) ? json : {};
}
