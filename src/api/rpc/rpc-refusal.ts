import type { IncomingMessage, ServerResponse } from "node:http";
import { Code, ConnectError } from "@connectrpc/connect";
import { encodeEnvelope, type UniversalServerResponse } from "@connectrpc/connect/protocol";
import {
  codeToHttpStatus,
  endStreamFlag,
  endStreamFromJson,
  endStreamToJson,
  errorFromJsonBytes,
  errorToJsonBytes,
} from "@connectrpc/connect/protocol-connect";
import { findTrailerError, setTrailerStatus } from "@connectrpc/connect/protocol-grpc";
import { trailerFlag, trailerParse, trailerSerialize } from "@connectrpc/connect/protocol-grpc-web";
import { BadRequestSchema, ErrorInfoSchema, RetryInfoSchema } from "../../../gen/google/rpc/error_details_pb.js";
import { Fault, invalid, isFaultCode } from "../../base/fault.js";
import type { FieldFaults } from "../../base/field-faults.js";
import { setOwnProperty } from "../../base/json.js";
import { malformedJson } from "../messages/json-text.js";
import { PREFIX_BYTES } from "./framing.js";

const CONNECT_STREAM = "application/connect+";

export interface RpcRefusal {
  readonly error: ConnectError;
  /** The same response with another error. */
  rewrite(error: ConnectError): UniversalServerResponse;
}

/** The response that refuses a call, in the protocol of its content type. */
export function refusalIn(type: string, error: ConnectError): UniversalServerResponse {
  const header = new Headers({ "content-type": type });
  if (type.startsWith("application/grpc-web")) {
    const frame = trailerFrame(error);
    const isText = type.startsWith("application/grpc-web-text");
    return { status: 200, header, body: once(isText ? Buffer.from(Buffer.from(frame).toString("base64")) : frame) };
  }
  if (type.startsWith("application/grpc")) {
    return { status: 200, header, trailer: setTrailerStatus(new Headers(), error) };
  }
  if (type.startsWith(CONNECT_STREAM)) return { status: 200, header, body: once(endFrame(error)) };
  const body = errorToJsonBytes(error, undefined);
  header.set("content-type", "application/json");
  header.set("content-length", String(body.byteLength));
  return { status: codeToHttpStatus(error.code), header, body: once(body) };
}

/** Responds to a call that Connect does not see with an error, in the protocol of its content type. */
export async function sendRefusal({ headers }: IncomingMessage, response: ServerResponse, error: ConnectError) {
  const { status, header, trailer, body } = refusalIn(headers["content-type"] ?? "", error);
  response.writeHead(status, Object.fromEntries(header ?? []));
  if (trailer) response.addTrailers(Object.fromEntries(trailer));
  for await (const bytes of body ?? []) response.write(bytes);
  response.end();
}

/** Reads a response that Connect made before our method was called. Its body must be unread. */
export async function readRefusal(response: UniversalServerResponse): Promise<RpcRefusal> {
  const header = response.header ?? new Headers();
  const type = header.get("content-type") ?? "";
  const unknown = new ConnectError("the request could not be read", Code.InvalidArgument);
  if (type.startsWith("application/grpc-web")) {
    const error = findTrailerError(trailerParse((await readAll(response)).subarray(PREFIX_BYTES))) ?? unknown;
    return {
      error,
      rewrite: (other) => ({ ...response, body: once(trailerFrame(other)) }),
    };
  }
  if (type.startsWith("application/grpc")) {
    return {
      error: findTrailerError(response.trailer ?? header) ?? unknown,
      rewrite: (other) => ({ ...response, trailer: setTrailerStatus(new Headers(), other) }),
    };
  }
  if (type.startsWith(CONNECT_STREAM)) {
    const { error } = endStreamFromJson((await readAll(response)).subarray(PREFIX_BYTES));
    return { error: error ?? unknown, rewrite: (other) => ({ ...response, body: once(endFrame(other)) }) };
  }
  const error = errorFromJsonBytes(await readAll(response), undefined, unknown);
  return {
    error,
    rewrite(other) {
      const body = errorToJsonBytes(other, undefined);
      header.set("content-length", String(body.byteLength));
      return { ...response, header, status: codeToHttpStatus(other.code), body: once(body) };
    },
  };
}

/**
 * A refusal by Connect in our words: its own quote the message, and call a malformed one an internal error. Undefined
 * for errors that the protocols define themselves, such as an unknown compression.
 */
export function refusalFault(error: ConnectError, messageBytes: number): Fault | undefined {
  const [info] = error.findDetails(ErrorInfoSchema);
  if (info && isFaultCode(info.reason)) {
    const [retry] = error.findDetails(RetryInfoSchema);
    const wait = retry?.retryDelay ? { retryAfter: Number(retry.retryDelay.seconds) } : {};
    const fields = faultFields(error);
    return new Fault(info.reason, error.rawMessage, { ...(Object.keys(fields).length > 0 ? { fields } : {}), ...wait });
  }
  if (error.code === Code.Unimplemented) return undefined;
  if (error.code === Code.ResourceExhausted) {
    return new Fault("body_too_large", `The message must not be larger than ${messageBytes} bytes.`);
  }
  const deadline = /^protocol error: invalid (grpc|connect) timeout value: /.exec(error.rawMessage)?.[1];
  if (deadline === "grpc") return invalid("grpc-timeout", "must be up to 8 digits and one of H, M, S, m, u, n");
  if (deadline === "connect") return invalid("connect-timeout-ms", "must be up to 10 digits");
  const field = /^cannot decode field [\w.]*?(\w+) from JSON: /.exec(error.rawMessage)?.[1];
  return field ? invalid(field, "must be of the type that its proto states") : malformedJson("must be a valid message");
}

function faultFields(error: ConnectError): FieldFaults {
  const fields: Record<string, string[]> = {};
  for (const { field, description } of error.findDetails(BadRequestSchema).flatMap((item) => item.fieldViolations)) {
    const known = Object.hasOwn(fields, field) ? (fields[field] ?? []) : [];
    setOwnProperty(fields, field, [...known, description]);
  }
  return fields;
}

/** The last message of a stream over Connect. */
function endFrame(error: ConnectError): Uint8Array {
  return encodeEnvelope(endStreamFlag, Buffer.from(JSON.stringify(endStreamToJson(new Headers(), error, undefined))));
}

function trailerFrame(error: ConnectError): Uint8Array {
  return encodeEnvelope(trailerFlag, trailerSerialize(setTrailerStatus(new Headers(), error)));
}

async function readAll({ body }: UniversalServerResponse): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of body ?? []) chunks.push(chunk);
  return Buffer.concat(chunks);
}

export async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}
