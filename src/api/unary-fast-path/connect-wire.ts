import type { IncomingMessage, ServerResponse } from "node:http";
import { type DescMessage, fromJsonString, type Message, toBinary, toJsonString } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { codeToHttpStatus, errorToJsonBytes } from "@connectrpc/connect/protocol-connect";
import { RECURSION_LIMIT } from "../idempotency.js";
import { checkJsonBytes, malformed } from "../json-text.js";
import { faultOf } from "../rpc-refusal.js";
import { readBinary } from "./grpc-wire.js";
import type { UnaryWire } from "./wire.js";

const JSON_OPTIONS = { recursionLimit: RECURSION_LIMIT, ignoreUnknownFields: true };

const call = {
  timeoutHeader: "connect-timeout-ms",
  timeoutOf: (header: string) => (/^\d{1,10}$/.test(header) ? Number(header) : undefined),
  mostBodyBytes: (messageBytes: number) => messageBytes,
  mostMessageBytes: (bodyBytes: number) => bodyBytes,
  refuse(response: ServerResponse, error: ConnectError) {
    for (const [name, value] of error.metadata) response.setHeader(name, value);
    send(response, codeToHttpStatus(error.code), "application/json", errorToJsonBytes(error, undefined));
  },
};

const BINARY: UnaryWire = {
  ...call,
  read: (type, body) => readBinary(type, body),
  answer: (response, type, message) => send(response, 200, "application/proto", toBinary(type, message)),
};

const JSON_TEXT: UnaryWire = {
  ...call,
  read: readJson,
  answer: (response, type, message) =>
    send(response, 200, "application/json", Buffer.from(toJsonString(type, message))),
};

/** Connect calls by POST with an uncompressed message. */
export function connectWireOf({ headers }: IncomingMessage): UnaryWire | undefined {
  if ((headers["content-encoding"] ?? "identity") !== "identity") return undefined;
  switch (headers["content-type"]) {
    case "application/proto":
      return BINARY;
    case "application/json":
      return JSON_TEXT;
    default:
      return undefined;
  }
}

function readJson(type: DescMessage, body: Buffer, mostBytes: number): Message {
  const text = checkJsonBytes(body);
  try {
    return fromJsonString(type, text, JSON_OPTIONS);
  } catch (error) {
    const refusal = ConnectError.from(error, Code.InvalidArgument);
    throw faultOf(refusal, mostBytes) ?? malformed("must be a valid message");
  }
}

function send(response: ServerResponse, status: number, type: string, body: Uint8Array): void {
  response.writeHead(status, { "content-type": type, "content-length": body.byteLength });
  response.end(body);
}
