import { isJsonObject, type Json, type JsonObject, setOwnProperty } from "../base/json.js";
import type { SourcePosition } from "../sandbox/source-position.js";

/** Texts by field, from tenants' code. */
export type FunctionErrors = Readonly<Record<string, readonly string[]>>;

/**
 * A tenant's code threw, or could not finish. Its texts go to the caller unchanged, because they are the tenant's own.
 */
export class FunctionFailed extends Error {
  override readonly name = "FunctionFailed";
  readonly status: number;
  readonly detail: string;
  readonly errors: FunctionErrors;
  /** Where the tenant's code created the error, if known. */
  readonly position: SourcePosition | undefined;

  constructor(status: number, detail: string, errors: FunctionErrors, position?: SourcePosition) {
    super("a tenant's function failed");
    this.status = status;
    this.detail = detail;
    this.errors = errors;
    this.position = position;
  }

  toJson(): JsonObject {
    const errors: Record<string, Json> = {};
    for (const [name, texts] of Object.entries(this.errors)) setOwnProperty(errors, name, [...texts]);
    const { status, detail, position } = this;
    return { status, detail, errors, ...(position ? { position: { ...position } } : {}) };
  }
}

/** What code that a proxy runs returned, and the proxy cannot use. */
export function unusableResult(text: string): FunctionFailed {
  return new FunctionFailed(500, "Reactor Runtime Error", { error: [text] });
}

/** Parses the result of {@link FunctionFailed.toJson}. */
export function readFunctionFailed({ status, detail, errors, position }: JsonObject): FunctionFailed {
  const at = isJsonObject(position) ? { line: Number(position.line), column: Number(position.column) } : undefined;
  return new FunctionFailed(Number(status), String(detail), readErrors(errors), at);
}

export function readErrors(json: Json | undefined): Record<string, string[]> {
  const entries = Object.entries(isJsonObject(json) ? json : {});
  return Object.fromEntries(
    entries.map(([field, texts]) => [field, Array.isArray(texts) ? texts.map(String) : [String(texts)]]),
  );
}
