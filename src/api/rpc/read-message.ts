import { type DescMessage, fromBinary, type Message } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { Fault } from "../../base/fault.js";
import type { Json } from "../../base/json.js";
import { countMembers } from "../../base/json-structure.js";
import { isLarge, yieldToEventLoop } from "../../base/yield-to-event-loop.js";
import { checkJsonBytes, malformedJson, readJsonBytes } from "../messages/json-text.js";
import { readLargeBinary, readLargeJson } from "../messages/large-message.js";
import { RECURSION_LIMIT, requireBoundedMessage } from "../messages/message-structure.js";
import { readMessageJson } from "./rpc-json-faults.js";
import { refusalFault } from "./rpc-refusal.js";

export const JSON_OPTIONS = { recursionLimit: RECURSION_LIMIT, ignoreUnknownFields: true };

/** Works on a large message in several turns of the event loop. @throws {Fault} malformed_body */
export async function readBinaryMessage(type: DescMessage, bytes: Uint8Array): Promise<Message> {
  const large = isLarge(bytes.length);
  if (large) await yieldToEventLoop(bytes.length);
  requireBoundedMessage(type, bytes);
  if (large) await yieldToEventLoop(bytes.length);
  try {
    if (large) return await readLargeBinary(type, bytes);
    return fromBinary(type, bytes, { recursionLimit: RECURSION_LIMIT, readUnknownFields: false });
  } catch {
    throw malformedJson("must be a valid message");
  }
}

/**
 * Works on a large message in several turns of the event loop.
 * @param maxBytes size limit of a message.
 * @throws {Fault}
 */
export async function readJsonMessage(type: DescMessage, bytes: Uint8Array, maxBytes: number): Promise<Message> {
  try {
    return isLarge(bytes.length)
      ? await readLarge(type, bytes)
      : readMessageJson(type, checkJsonBytes(bytes), bytes.length, JSON_OPTIONS);
  } catch (error) {
    if (error instanceof Fault) throw error;
    const refusal = ConnectError.from(error, Code.InvalidArgument);
    throw refusalFault(refusal, maxBytes) ?? malformedJson("must be a valid message");
  }
}

/**
 * The same as `fromJsonString` in several turns of the event loop, without its walk through the text for names that
 * repeat, which it refuses: 40 ms for 5 MB of them.
 */
async function readLarge(type: DescMessage, bytes: Uint8Array): Promise<Message> {
  const json = await readJsonBytes(bytes);
  if (membersOf(json) !== countMembers(bytes)) throw malformedJson("must be a valid message");
  await yieldToEventLoop(bytes.length);
  return readLargeJson(type, json, bytes.length, JSON_OPTIONS);
}

function membersOf(json: Json): number {
  if (typeof json !== "object" || json === null) return 0;
  const values = Object.values(json);
  return values.reduce<number>((sum, value) => sum + membersOf(value), Array.isArray(json) ? 0 : values.length);
}
