import { toBinary, toJsonString } from "@bufbuild/protobuf";
import type { ConnectError } from "@connectrpc/connect";
import { codeToHttpStatus, errorToJsonBytes } from "@connectrpc/connect/protocol-connect";
import { isLarge, yieldToEventLoop } from "../../../base/yield-to-event-loop.js";
import type { ArrivedRequest, WholeResponse } from "../../connection/exchange.js";
import { readBinaryMessage, readJsonMessage } from "../read-message.js";
import { connectTimeoutMs } from "../rpc-deadline.js";
import type { UnaryWire } from "./wire.js";

const call = {
  timeoutHeader: "connect-timeout-ms",
  timeoutOf: connectTimeoutMs,
  maxBodyBytes: (messageBytes: number) => messageBytes,
  maxMessageBytes: (bodyBytes: number) => bodyBytes,
  refuse(response: WholeResponse, error: ConnectError) {
    for (const [name, value] of error.metadata) response.setHeader(name, value);
    send(response, codeToHttpStatus(error.code), "application/json", errorToJsonBytes(error, undefined));
  },
};

const BINARY: UnaryWire = {
  ...call,
  read: (type, body) => readBinaryMessage(type, body),
  respond: (response, type, message) => send(response, 200, "application/proto", toBinary(type, message)),
};

const JSON_TEXT: UnaryWire = {
  ...call,
  read: readJsonMessage,
  async respond(response, type, message) {
    const text = toJsonString(type, message);
    if (isLarge(text.length)) await yieldToEventLoop(text.length);
    send(response, 200, "application/json", Buffer.from(text));
  },
};

/** Connect calls by POST with an uncompressed message. */
export function chooseConnectWire({ headers }: ArrivedRequest): UnaryWire | undefined {
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

function send(response: WholeResponse, status: number, type: string, body: Uint8Array): void {
  response.writeHead(status, { "content-type": type, "content-length": body.byteLength });
  response.end(body);
}
