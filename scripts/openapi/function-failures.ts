import type { JsonObject } from "../../src/base/json.js";

/** Methods that return the outcome of a tenant's code, which the policy cannot express. */
const RUNS_CODE: ReadonlySet<string> = new Set(["React", "GetReactorResult"]);

/** The meaning of the published error classes of code, and of a run without an outcome of its own (docs/code.md). */
const THROWN: Readonly<Record<number, string>> = {
  400: "Bad Request, or Invalid Reactor Configuration",
  401: "Authentication Failed",
  402: "Invalid Payment Method",
  403: "Forbidden",
  413: "Reactor Runtime Error: the arguments are too large",
  422: "Invalid Reactor Formula: the code exports no function",
  429: "Rate Limit Exceeded",
  500: "Reactor Runtime Error: the code threw something else, took too long or too much memory",
  503: "Service Unavailable",
};

const TRACE = { "BT-TRACE-ID": { $ref: "#/components/headers/BT-TRACE-ID" } };
const EITHER = {
  anyOf: [{ $ref: "#/components/schemas/Problem" }, { $ref: "#/components/schemas/FunctionProblem" }],
};

/** The failures of a method besides its own: errors thrown by code have their own statuses, in the published format. */
export function functionFailures(method: string): JsonObject {
  if (!RUNS_CODE.has(method)) return {};
  const byStatus = Object.entries(THROWN).map(([status, meaning]) => [
    status,
    {
      description: `The request failed, or the code threw: ${meaning}.`,
      headers: TRACE,
      content: { "application/json": { schema: EITHER } },
    },
  ]);
  return {
    ...Object.fromEntries(byStatus),
    default: {
      description: "Any other failure, or what the code returns in place of a result: CustomHttpResponseError.",
      headers: TRACE,
      content: { "application/json": { schema: {} }, "*/*": { schema: {} } },
    },
  };
}

export const FUNCTION_PROBLEM_SCHEMA: JsonObject = {
  type: "object",
  description: "What the code of a reactor threw, or why it did not end.",
  ...failureShape("reactor_error"),
};

/** The error of code, wherever it ran. */
export function failureShape(code: string, others: JsonObject = {}): JsonObject {
  return {
    required: ["type", "title", "status", "detail", "instance", "code", "errors"],
    properties: {
      type: { type: "string", format: "uri-reference" },
      title: { type: "string" },
      status: { type: "integer", format: "int32" },
      detail: { type: "string" },
      instance: { type: "string", format: "uri", description: "Names the trace: the same as in BT-TRACE-ID." },
      code: { type: "string", enum: [code] },
      errors: { type: "object", additionalProperties: { type: "array", items: { type: "string" } } },
      position: {
        type: "object",
        description: "Where the error was made in the code. Not with the published error classes.",
        required: ["line", "column"],
        properties: { line: { type: "integer", format: "int32" }, column: { type: "integer", format: "int32" } },
      },
      ...others,
    },
  };
}
