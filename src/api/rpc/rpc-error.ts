import { create } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { BadRequestSchema, ErrorInfoSchema, RetryInfoSchema } from "../../../gen/google/rpc/error_details_pb.js";
import { FAULT_CODES, type Fault } from "../../base/fault.js";
import type { FunctionFailed } from "../../functions/function-failed.js";
import { FAULT_TABLE } from "../faults/fault-table.js";

/**
 * A fault for gRPC and Connect: ErrorInfo with our code, BadRequest with the fields, RetryInfo with the wait. The trace
 * id is absent before the call is known.
 */
export function toConnectError(fault: Fault, traceId?: string): ConnectError {
  const trace = traceId === undefined ? {} : { trace_id: traceId };
  const details = [
    {
      desc: ErrorInfoSchema,
      value: create(ErrorInfoSchema, { reason: fault.code, domain: "cloakroom", metadata: trace }),
    },
    ...(fault.fields ? [{ desc: BadRequestSchema, value: badRequestOf(fault.fields) }] : []),
    ...(fault.retryAfter === undefined
      ? []
      : [
          {
            desc: RetryInfoSchema,
            value: create(RetryInfoSchema, { retryDelay: { seconds: BigInt(fault.retryAfter) } }),
          },
        ]),
  ];
  const metadata = fault.retryAfter === undefined ? {} : { "retry-after": String(fault.retryAfter) };
  return new ConnectError(fault.message, FAULT_TABLE[fault.code].rpc, metadata, details);
}

/**
 * A failure of tenants' code, by its status (docs/code.md, Fail).
 * @param reason reactor_error, or proxy_error for a transform.
 */
export function connectErrorOfFunction(
  { status, detail, errors }: FunctionFailed,
  reason: string,
  traceId: string,
): ConnectError {
  const metadata = { trace_id: traceId, status: String(status) };
  const info = create(ErrorInfoSchema, { reason, domain: "cloakroom", metadata });
  const details = [
    { desc: ErrorInfoSchema, value: info },
    { desc: BadRequestSchema, value: badRequestOf(errors) },
  ];
  return new ConnectError(detail, codeOfStatus(status), {}, details);
}

function codeOfStatus(status: number): Code {
  const fault = FAULT_CODES.map((code) => FAULT_TABLE[code]).find(({ http }) => http === status);
  return fault?.rpc ?? (status < 500 ? Code.FailedPrecondition : Code.Internal);
}

/**
 * Byte limit of invalid fields. Over gRPC the details are one trailer, in base64; clients accept 8 KiB of trailers (the
 * default of gRPC's C core and Java), and Node resets the stream for more than 64 KiB.
 */
const MAX_BYTES = 4_500;
/** Tags and lengths around a field and its text. */
const FRAMING_BYTES = 8;

/** Omits what does not fit, from the end. */
function badRequestOf(fields: Fault["fields"]) {
  const fieldViolations: { field: string; description: string }[] = [];
  const told = Object.entries(fields ?? {}).flatMap(([field, texts]) => texts.map((text) => [field, text] as const));
  let room = MAX_BYTES;
  for (const [field, text] of told) {
    room -= FRAMING_BYTES + Buffer.byteLength(field);
    if (room <= 0) break;
    const description = cut(text, room);
    fieldViolations.push({ field, description });
    room -= Buffer.byteLength(description);
  }
  return create(BadRequestSchema, { fieldViolations });
}

/** The start of a text that fits, in whole characters. */
function cut(text: string, bytes: number): string {
  const encoded = Buffer.from(text);
  return encoded.length <= bytes ? text : new TextDecoder().decode(encoded.subarray(0, bytes), { stream: true });
}
