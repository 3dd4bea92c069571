import { type DescMessage, fromBinary, type MessageShape } from "@bufbuild/protobuf";
import type { AttemptError } from "../errors.js";
import { BadRequestSchema, ErrorInfoSchema } from "../proto/google/rpc/error_details_pb.js";
import { StatusSchema } from "../proto/google/rpc/status_pb.js";
import { refusal } from "../response-errors.js";

/** One byte of flags and four of length before each message. */
export const PREFIX_BYTES = 5;

/** Fills the prefix that was left free before a message. */
export function frame(message: Buffer): Buffer {
  message.writeUInt8(0, 0);
  message.writeUInt32BE(message.length - PREFIX_BYTES, 1);
  return message;
}

/** The one message of a unary response; undefined if the body is incomplete, compressed or longer than its length says. */
export function messageIn(body: Buffer): Buffer | undefined {
  if (body.length < PREFIX_BYTES || body.readUInt8(0) !== 0) return undefined;
  return body.readUInt32BE(1) === body.length - PREFIX_BYTES ? body.subarray(PREFIX_BYTES) : undefined;
}

/** Statuses of gRPC by their number. */
const STATUSES = [
  ...["ok", "canceled", "unknown", "invalid_argument", "deadline_exceeded", "not_found", "already_exists"],
  ...["permission_denied", "resource_exhausted", "failed_precondition", "aborted", "out_of_range", "unimplemented"],
  ...["internal", "unavailable", "data_loss", "unauthenticated"],
];

/** What a status other than `ok` says; undefined for that one. */
export function statusError(status: string, headers: Readonly<Record<string, string>>): AttemptError | undefined {
  if (status === "0") return undefined;
  const details = detailsIn(headers["grpc-status-details-bin"]);
  const info = find(details, ErrorInfoSchema);
  return refusal({
    rpcCode: STATUSES[Number(status)] ?? "unknown",
    message: decodeText(headers["grpc-message"] ?? ""),
    reason: info?.reason,
    metadata: info?.metadata,
    violations: find(details, BadRequestSchema)?.fieldViolations,
    headers,
  });
}

type Details = MessageShape<typeof StatusSchema>["details"];

function detailsIn(base64: string | undefined): Details {
  if (base64 === undefined) return [];
  try {
    return fromBinary(StatusSchema, Buffer.from(base64, "base64")).details;
  } catch {
    // The status counts without them.
    return [];
  }
}

function find<Desc extends DescMessage>(details: Details, schema: Desc): MessageShape<Desc> | undefined {
  const any = details.find(({ typeUrl }) => typeUrl.endsWith(`/${schema.typeName}`));
  return any && fromBinary(schema, any.value);
}

/** Percent-encoded UTF-8 (gRPC over HTTP/2, "Status-Message"). */
function decodeText(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
