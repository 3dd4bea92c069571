import { type Json, type JsonObject, setOwn } from "../base/json.js";

/** Texts by field, as tenant code gave them. */
export type FunctionErrors = Readonly<Record<string, readonly string[]>>;

/**
 * A tenant's code threw, or could not be run to its end. What it said goes to its caller as it is: it is the tenant's own
 * (api-facts 7.3, 8.3).
 */
export class FunctionFailed extends Error {
  override readonly name = "FunctionFailed";
  readonly status: number;
  readonly detail: string;
  readonly errors: FunctionErrors;

  constructor(status: number, detail: string, errors: FunctionErrors) {
    super("a tenant's function failed");
    this.status = status;
    this.detail = detail;
    this.errors = errors;
  }

  toJson(): JsonObject {
    const errors: Record<string, Json> = {};
    for (const [name, texts] of Object.entries(this.errors)) setOwn(errors, name, [...texts]);
    return { status: this.status, detail: this.detail, errors };
  }
}
