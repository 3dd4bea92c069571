import { create } from "@bufbuild/protobuf";
import { ConnectError } from "@connectrpc/connect";
import { BadRequestSchema, ErrorInfoSchema, RetryInfoSchema } from "../../gen/google/rpc/error_details_pb.js";
import type { Fault } from "../base/fault.js";
import { FAULT_TABLE } from "./fault-table.js";

/** A fault as gRPC and Connect show it: ErrorInfo with our code, BadRequest with the fields, RetryInfo with the wait. */
export function connectErrorOf(fault: Fault, traceId: string): ConnectError {
  const details = [
    {
      desc: ErrorInfoSchema,
      value: create(ErrorInfoSchema, { reason: fault.code, domain: "cloakroom", metadata: { trace_id: traceId } }),
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
  const metadata = new Headers({ "bt-trace-id": traceId });
  if (fault.retryAfter !== undefined) metadata.set("retry-after", String(fault.retryAfter));
  return new ConnectError(fault.message, FAULT_TABLE[fault.code].rpc, metadata, details);
}

function badRequestOf(fields: Fault["fields"]) {
  const fieldViolations = Object.entries(fields ?? {}).flatMap(([field, texts]) =>
    texts.map((description) => ({ field, description })),
  );
  return create(BadRequestSchema, { fieldViolations });
}
