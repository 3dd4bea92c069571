import type { IncomingMessage, ServerResponse } from "node:http";
import { type DescMessage, type Message, toBinary, toJsonString } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { codeToHttpStatus, errorToJsonBytes } from "@connectrpc/connect/protocol-connect";
import { Fault } from "../../../base/fault.js";
import type { Json } from "../../../base/json.js";
import { countMembers } from "../../../base/json-structure.js";
import { isLarge, yieldToEventLoop } from "../../../base/yield-to-event-loop.js";
import { checkJsonBytes, malformed, readJsonBytes } from "../../messages/json-text.js";
import { readMessageJson } from "../../messages/json-type-faults.js";
import { readLargeJson } from "../../messages/large-message.js";
import { RECURSION_LIMIT } from "../../messages/message-structure.js";
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
  async answer(response, type, message) {
    const text = toJsonString(type, message);
    if (isLarge(text.length)) await yieldToEventLoop(text.length);
    send(response, 200, "application/json", Buffer.from(text));
  },
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

async function readJson(type: DescMessage, body: Buffer, mostBytes: number): Promise<Message> {
  try {
    return isLarge(body.length)
      ? await parseLarge(type, body)
      : readMessageJson(type, checkJsonBytes(body), body.length, JSON_OPTIONS);
  } catch (error) {
    if (error instanceof Fault) throw error;
    const refusal = ConnectError.from(error, Code.InvalidArgument);
    throw faultOf(refusal, mostBytes) ?? malformed("must be a valid message");
  }
}

/**
 * The same as `fromJsonString` in several turns of the event loop, without its walk through the text for names that
 * repeat, which it refuses: 40 ms for 5 MB of them.
 */
async function parseLarge(type: DescMessage, body: Buffer): Promise<Message> {
  const json = await readJsonBytes(body);
  if (membersOf(json) !== countMembers(body)) throw malformed("must be a valid message");
  await yieldToEventLoop(body.length);
  return readLargeJson(type, json, body.length, JSON_OPTIONS);
}

function membersOf(json: Json): number {
  if (typeof json !== "object" || json === null) return 0;
  const values = Object.values(json);
  return values.reduce<number>((sum, value) => sum + membersOf(value), Array.isArray(json) ? 0 : values.length);
}

function send(response: ServerResponse, status: number, type: string, body: Uint8Array): void {
  response.writeHead(status, { "content-type": type, "content-length": body.byteLength });
  response.end(body);
}
