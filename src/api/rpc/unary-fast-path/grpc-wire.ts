import type { IncomingHttpHeaders } from "node:http";
import { type DescMessage, type Message, toBinary } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { setTrailerStatus } from "@connectrpc/connect/protocol-grpc";
import { trailerFlag, trailerSerialize } from "@connectrpc/connect/protocol-grpc-web";
import { Fault } from "../../../base/fault.js";
import type { ArrivedRequest } from "../../connection/exchange.js";
import { malformedJson } from "../../messages/json-text.js";
import { COMPRESSED, MAX_FRAMES, PREFIX_BYTES } from "../framing.js";
import { fromBase64, maxBase64Bytes } from "../grpc-web-text.js";
import { readBinaryMessage } from "../read-message.js";
import { grpcTimeoutMs } from "../rpc-deadline.js";
import type { UnaryWire } from "./wire.js";

const request = (trailerFlag: number) => ({
  timeoutHeader: "grpc-timeout",
  timeoutOf: grpcTimeoutMs,
  maxBodyBytes: (messageBytes: number) => PREFIX_BYTES + messageBytes,
  maxMessageBytes: (bodyBytes: number) => bodyBytes - PREFIX_BYTES,
  read: (type: DescMessage, body: Buffer, maxBytes: number) => readOnly(type, body, maxBytes, trailerFlag),
});

const GRPC: UnaryWire = {
  ...request(0),
  respond(response, type, message) {
    const body = framed(toBinary(type, message));
    response.writeHead(200, { "content-type": "application/grpc+proto" });
    response.addTrailers({ "grpc-status": "0" });
    response.end(body);
  },
  refuse(response, error) {
    const trailers = Object.fromEntries(setTrailerStatus(new Headers(), error));
    response.writeHead(200, { "content-type": "application/grpc+proto" });
    response.addTrailers(trailers);
    response.end();
  },
};

const GOOD_TRAILER = framed(Buffer.from("grpc-status: 0\r\n"), trailerFlag);

const GRPC_WEB: UnaryWire = {
  ...request(trailerFlag),
  respond(response, type, message) {
    response.setHeader("content-type", "application/grpc-web+proto");
    response.end(webResponse(type, message));
  },
  refuse(response, error) {
    response.setHeader("content-type", "application/grpc-web+proto");
    response.end(webRefusal(error));
  },
};

/** The same as base64, for browsers that read only text. It is the default of Google's client for the web. */
const GRPC_WEB_TEXT: UnaryWire = {
  ...GRPC_WEB,
  maxBodyBytes: (messageBytes) => maxBase64Bytes(GRPC_WEB.maxBodyBytes(messageBytes)),
  maxMessageBytes: (bodyBytes) => GRPC_WEB.maxMessageBytes(3 * Math.floor(bodyBytes / 4)),
  read: (type, body, maxBytes) => GRPC_WEB.read(type, fromBase64(body), maxBytes),
  respond(response, type, message) {
    response.setHeader("content-type", "application/grpc-web-text+proto");
    response.end(webResponse(type, message).toString("base64"));
  },
  refuse(response, error) {
    response.setHeader("content-type", "application/grpc-web-text+proto");
    response.end(webRefusal(error).toString("base64"));
  },
};

function webResponse(type: DescMessage, message: Message): Buffer {
  return Buffer.concat([framed(toBinary(type, message)), GOOD_TRAILER]);
}

function webRefusal(error: ConnectError): Buffer {
  return framed(trailerSerialize(setTrailerStatus(new Headers(), error)), trailerFlag);
}

/** Whether a call uses gRPC with binary messages. */
export function isGrpc({ "content-type": type }: IncomingHttpHeaders): boolean {
  return type === "application/grpc" || type === "application/grpc+proto";
}

/** gRPC and gRPC-Web with one uncompressed binary message. gRPC itself needs the trailers of HTTP/2. */
export function chooseGrpcWire({ headers, httpVersionMajor }: ArrivedRequest): UnaryWire | undefined {
  if ((headers["grpc-encoding"] ?? "identity") !== "identity") return undefined;
  if (isGrpc(headers)) return httpVersionMajor === 2 ? GRPC : undefined;
  switch (headers["content-type"]) {
    case "application/grpc-web":
    case "application/grpc-web+proto":
      return GRPC_WEB;
    case "application/grpc-web-text":
    case "application/grpc-web-text+proto":
      return GRPC_WEB_TEXT;
    default:
      return undefined;
  }
}

/**
 * The message of a body with exactly one. Of several problems it reports the first.
 * @param trailerFlag marks frames without a message. Zero if the protocol has no such frames.
 */
async function readOnly(type: DescMessage, body: Buffer, maxBytes: number, trailerFlag: number): Promise<Message> {
  if (isOneMessage(body, maxBytes)) return readBinaryMessage(type, body.subarray(PREFIX_BYTES));
  const messages: Message[] = [];
  for (const { flags, data } of framesIn(body, maxBytes)) {
    // Compressed, although no compression was negotiated.
    if (flags & COMPRESSED) throw malformedJson("must be a valid message");
    if (flags & trailerFlag) continue;
    messages.push(await readBinaryMessage(type, data));
    if (messages.length > 1) throw unimplemented("received extra input message for unary method");
  }
  const [message] = messages;
  if (!message) throw unimplemented("missing input message for unary method");
  return message;
}

/** Nearly every body. */
function isOneMessage(body: Buffer, maxBytes: number): boolean {
  const bytes = body.length - PREFIX_BYTES;
  return bytes >= 0 && bytes <= maxBytes && body[0] === 0 && body.readUInt32BE(1) === bytes;
}

function* framesIn(body: Buffer, maxBytes: number): Generator<{ readonly flags: number; readonly data: Buffer }> {
  let frames = 0;
  for (let start = 0; start < body.length; frames += 1) {
    if (frames === MAX_FRAMES) throw malformedJson("must be a valid message");
    const from = start + PREFIX_BYTES;
    if (body.length < from) throw malformedJson("must be a valid message");
    const to = from + body.readUInt32BE(start + 1);
    if (to - from > maxBytes) {
      throw new Fault("body_too_large", `The message must not be larger than ${maxBytes} bytes.`);
    }
    if (body.length < to) throw malformedJson("must be a valid message");
    yield { flags: body.readUInt8(start), data: body.subarray(from, to) };
    start = to;
  }
}

/** In the words of Connect's handlers. */
function unimplemented(problem: string): ConnectError {
  return new ConnectError(`protocol error: ${problem}`, Code.Unimplemented);
}

function framed(message: Uint8Array, flags = 0): Buffer {
  const frame = Buffer.allocUnsafe(PREFIX_BYTES + message.length);
  frame.writeUInt8(flags, 0);
  frame.writeUInt32BE(message.length, 1);
  frame.set(message, PREFIX_BYTES);
  return frame;
}
