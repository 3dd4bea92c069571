import type { IncomingMessage } from "node:http";
import { type DescMessage, fromBinary, type Message, toBinary } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { setTrailerStatus } from "@connectrpc/connect/protocol-grpc";
import { trailerFlag, trailerSerialize } from "@connectrpc/connect/protocol-grpc-web";
import { Fault } from "../../base/fault.js";
import { RECURSION_LIMIT } from "../idempotency.js";
import { malformed } from "../json-text.js";
import type { UnaryWire } from "./wire.js";

/** Length prefix of a message: one byte of flags, four of length (gRPC over HTTP/2, "Length-Prefixed-Message"). */
const PREFIX_BYTES = 5;
/** Milliseconds in each unit of grpc-timeout. */
const UNITS: Readonly<Record<string, number>> = { H: 3_600_000, M: 60_000, S: 1_000, m: 1, u: 1e-3, n: 1e-6 };

const request = {
  timeoutHeader: "grpc-timeout",
  timeoutOf(header: string) {
    const [, amount, unit = ""] = /^(\d{1,8})([HMSmun])$/.exec(header) ?? [];
    return amount === undefined ? undefined : Number(amount) * (UNITS[unit] ?? 0);
  },
  overhead: PREFIX_BYTES,
  read: (type: DescMessage, body: Buffer, mostBytes: number) => readBinary(type, onlyMessage(body, mostBytes)),
};

const GRPC: UnaryWire = {
  ...request,
  answer(response, type, message) {
    response.writeHead(200, { "content-type": "application/grpc+proto" });
    response.addTrailers({ "grpc-status": "0" });
    response.end(framed(toBinary(type, message)));
  },
  refuse(response, error) {
    response.writeHead(200, { "content-type": "application/grpc+proto" });
    response.addTrailers(Object.fromEntries(setTrailerStatus(new Headers(), error)));
    response.end();
  },
};

const GOOD_TRAILER = framed(Buffer.from("grpc-status: 0\r\n"), trailerFlag);

const GRPC_WEB: UnaryWire = {
  ...request,
  answer(response, type, message) {
    response.setHeader("content-type", "application/grpc-web+proto");
    response.end(Buffer.concat([framed(toBinary(type, message)), GOOD_TRAILER]));
  },
  refuse(response, error) {
    response.setHeader("content-type", "application/grpc-web+proto");
    response.end(framed(trailerSerialize(setTrailerStatus(new Headers(), error)), trailerFlag));
  },
};

/** gRPC and gRPC-Web with one uncompressed binary message. gRPC itself needs the trailers of HTTP/2. */
export function grpcWireOf({ headers, httpVersionMajor }: IncomingMessage): UnaryWire | undefined {
  if ((headers["grpc-encoding"] ?? "identity") !== "identity") return undefined;
  switch (headers["content-type"]) {
    case "application/grpc":
    case "application/grpc+proto":
      return httpVersionMajor === 2 ? GRPC : undefined;
    case "application/grpc-web":
    case "application/grpc-web+proto":
      return GRPC_WEB;
    default:
      return undefined;
  }
}

/** @throws {Fault} malformed_body */
export function readBinary(type: DescMessage, bytes: Uint8Array): Message {
  try {
    return fromBinary(type, bytes, { recursionLimit: RECURSION_LIMIT });
  } catch {
    throw malformed("must be a valid message");
  }
}

function onlyMessage(body: Buffer, mostBytes: number): Buffer {
  if (body.length === 0) {
    throw new ConnectError("protocol error: missing input message for unary method", Code.Unimplemented);
  }
  if (body.length < PREFIX_BYTES) throw malformed("must be a valid message");
  const end = PREFIX_BYTES + body.readUInt32BE(1);
  if (end > PREFIX_BYTES + mostBytes) {
    throw new Fault("body_too_large", `The message must not be larger than ${mostBytes} bytes.`);
  }
  // Compressed, though no compression was agreed on, or cut short.
  if (body[0] !== 0 || body.length < end) throw malformed("must be a valid message");
  if (body.length > end) {
    throw new ConnectError("protocol error: received extra input message for unary method", Code.Unimplemented);
  }
  return body.subarray(PREFIX_BYTES);
}

function framed(message: Uint8Array, flags = 0): Buffer {
  const frame = Buffer.allocUnsafe(PREFIX_BYTES + message.length);
  frame.writeUInt8(flags, 0);
  frame.writeUInt32BE(message.length, 1);
  frame.set(message, PREFIX_BYTES);
  return frame;
}
