import { FAULT_TABLE } from "../../src/api/faults/fault-table.js";
import { PROBLEM_TYPE, problemDetails } from "../../src/api/faults/problem.js";
import { Fault, invalid, notFound, permissionDenied } from "../../src/base/fault.js";
import type { JsonObject } from "../../src/base/json.js";

/** The properties of a method that decide how it can fail. */
export interface Fallible {
  /** The request has fields that can be invalid. */
  readonly hasInput: boolean;
  readonly hasBody: boolean;
  readonly namesResource: boolean;
  /** It needs permissions, or changes something: without permissions it may still refuse the kind of key used. */
  readonly isGuarded: boolean;
  readonly isIdempotent: boolean;
}

/** The statuses that follow from a method's policy and shape. All others are `default`. */
function statusesOf({ hasInput, hasBody, namesResource, isGuarded, isIdempotent }: Fallible): number[] {
  return [
    ...(hasInput ? [400] : []),
    401,
    ...(isGuarded ? [403] : []),
    ...(namesResource ? [404] : []),
    ...(isIdempotent ? [409] : []),
    ...(hasBody ? [413, 415] : []),
    429,
    503,
  ];
}

/** The responses of a method that fails, by status. */
export function problemResponses(method: Fallible): JsonObject {
  const byStatus = statusesOf(method).map((status) => [String(status), referTo(`Problem${status}`)]);
  return { ...Object.fromEntries(byStatus), default: referTo("Problem") };
}

/** One example for each status that operations list. */
const EXAMPLES: readonly Fault[] = [
  invalid("data.number", "must be a string of 13 to 19 digits with a valid check digit"),
  new Fault("unauthenticated", "Send an application key in the header BT-API-KEY."),
  permissionDenied("token:create"),
  notFound("token"),
  new Fault("idempotency_in_flight", "The first request with this idempotency key has not ended yet."),
  new Fault("body_too_large", "The body must not be larger than 5242880 bytes."),
  new Fault("unsupported_media_type", "Send this request with Content-Type application/json."),
  new Fault("rate_limited", "Too many requests. Try again after the time in Retry-After."),
  new Fault("unavailable", "The service cannot answer right now. Try again shortly."),
];
const EXAMPLE_TRACE_ID = "01980f72-7c8d-7e9f-a0b1-c2d3e4f50617";
const WITH_RETRY_AFTER = [429, 503];

/** Every response that `problemResponses` refers to. */
export const PROBLEM_RESPONSES: JsonObject = {
  Problem: problemResponse("Any other failure.", [], new Fault("internal", "Something went wrong on our side.")),
  ...Object.fromEntries(
    EXAMPLES.map((fault) => {
      const { http: status } = FAULT_TABLE[fault.code];
      return [`Problem${status}`, problemResponse(codesOf(status), headersOf(status), fault)];
    }),
  ),
};

export const PROBLEM_SCHEMA: JsonObject = {
  type: "object",
  description: "What went wrong (RFC 9457). Programs decide by `code`.",
  required: ["type", "title", "status", "detail", "instance", "code"],
  properties: {
    type: { type: "string", format: "uri-reference" },
    title: { type: "string" },
    status: { type: "integer", format: "int32" },
    detail: { type: "string" },
    instance: { type: "string", format: "uri", description: "Names the trace: the same as in BT-TRACE-ID." },
    code: { type: "string", enum: Object.keys(FAULT_TABLE) },
    errors: {
      type: "object",
      description: "What is wrong with which field, by its path: `data.number`, `rules[0].container`.",
      additionalProperties: { type: "array", items: { type: "string" } },
    },
  },
};

/** The possible meanings of a status. */
function codesOf(status: number): string {
  const entries = Object.entries(FAULT_TABLE).filter(([, { http }]) => http === status);
  return entries.map(([code, { title }]) => `\`${code}\`: ${title.replace(/\.$/, "")}.`).join(" ");
}

function headersOf(status: number): string[] {
  if (status === 401) return ["WWW-Authenticate"];
  const wait = WITH_RETRY_AFTER.includes(status) ? ["Retry-After"] : [];
  return status === 429 ? [...wait, "RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset"] : wait;
}

function problemResponse(description: string, headers: readonly string[], fault: Fault): JsonObject {
  return {
    description,
    headers: Object.fromEntries(
      ["BT-TRACE-ID", ...headers].map((name) => [name, { $ref: `#/components/headers/${name}` }]),
    ),
    content: {
      [mediaTypeOf(PROBLEM_TYPE)]: {
        schema: { $ref: "#/components/schemas/Problem" },
        example: JSON.parse(JSON.stringify(problemDetails(fault, EXAMPLE_TRACE_ID))),
      },
    },
  };
}

function mediaTypeOf(contentType: string): string {
  return contentType.split(";", 1)[0] ?? contentType;
}

function referTo(name: string): JsonObject {
  return { $ref: `#/components/responses/${name}` };
}
