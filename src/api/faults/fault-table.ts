import { Code } from "@connectrpc/connect";
import type { FaultCode } from "../../base/fault.js";

/** The form of a fault on each protocol. Every error response comes from this table. */
export interface FaultEntry {
  readonly http: number;
  readonly rpc: Code;
  readonly title: string;
}

export const FAULT_TABLE: Readonly<Record<FaultCode, FaultEntry>> = {
  malformed_body: { http: 400, rpc: Code.InvalidArgument, title: "The request could not be read." },
  validation_failed: { http: 400, rpc: Code.InvalidArgument, title: "One or more validation errors occurred." },
  unauthenticated: { http: 401, rpc: Code.Unauthenticated, title: "Unauthorized" },
  permission_denied: { http: 403, rpc: Code.PermissionDenied, title: "Forbidden" },
  second_factor_required: { http: 403, rpc: Code.PermissionDenied, title: "Forbidden" },
  reason_required: { http: 403, rpc: Code.PermissionDenied, title: "Forbidden" },
  reason_invalid: { http: 400, rpc: Code.InvalidArgument, title: "The reason is not valid." },
  not_found: { http: 404, rpc: Code.NotFound, title: "Not Found" },
  method_not_allowed: { http: 405, rpc: Code.Unimplemented, title: "Method Not Allowed" },
  destination_timeout: { http: 408, rpc: Code.DeadlineExceeded, title: "The destination did not respond in time." },
  already_exists: { http: 409, rpc: Code.AlreadyExists, title: "Already Exists" },
  conflict: { http: 409, rpc: Code.Aborted, title: "Conflict" },
  // A retry does not help, unlike after a conflict.
  wrong_state: { http: 409, rpc: Code.FailedPrecondition, title: "Conflict" },
  idempotency_in_flight: { http: 409, rpc: Code.Aborted, title: "The first request with this key is still running." },
  body_too_large: { http: 413, rpc: Code.ResourceExhausted, title: "The request is too large." },
  headers_too_large: { http: 431, rpc: Code.ResourceExhausted, title: "The headers are too large." },
  request_timeout: { http: 408, rpc: Code.DeadlineExceeded, title: "The request did not arrive in time." },
  unsupported_media_type: { http: 415, rpc: Code.InvalidArgument, title: "Unsupported Media Type" },
  expectation_failed: { http: 417, rpc: Code.InvalidArgument, title: "Expectation Failed" },
  unprocessable: { http: 422, rpc: Code.FailedPrecondition, title: "Unprocessable" },
  rate_limited: { http: 429, rpc: Code.ResourceExhausted, title: "Too Many Requests" },
  internal: { http: 500, rpc: Code.Internal, title: "Internal Server Error" },
  destination_unreachable: { http: 502, rpc: Code.Unavailable, title: "The destination could not be reached." },
  unavailable: { http: 503, rpc: Code.Unavailable, title: "Service Unavailable" },
};
