import type { IncomingMessage } from "node:http";
import { Code, ConnectError } from "@connectrpc/connect";
import type { UniversalServerRequest } from "@connectrpc/connect/protocol";
import { Fault } from "../../base/fault.js";
import { BodyTooLarge } from "../../memory/body-errors.js";
import { BodyFault } from "../../memory/body-fault.js";
import { collectBody } from "../../memory/collect-body.js";
import { CompressedBodyMemory } from "../../memory/compressed-body-memory.js";
import { endOnAbort } from "../../memory/reading-end.js";
import type { RequestMemory } from "../../memory/request-memory.js";
import { malformedJson } from "../messages/json-text.js";
import { announcedLength } from "../request/content-length.js";
import { COMPRESSED, MAX_FRAMES, PREFIX_BYTES } from "./framing.js";
import type { ReadAhead } from "./read-ahead.js";

const CONNECT = /^application\/(?:proto|json)(?:;|$)/;

export type CallMemory = RequestMemory | CompressedBodyMemory;

/** @param messageBytes size limit of a message, compressed or inflated. */
export function callMemory({ headers }: IncomingMessage, memory: RequestMemory, messageBytes: number): CallMemory {
  const encodings = [headers["grpc-encoding"], headers["content-encoding"]].flat();
  return encodings.every((encoding) => isPlain(encoding ?? null))
    ? memory
    : new CompressedBodyMemory(memory, messageBytes);
}

export interface MessageReading {
  readonly messageBytes: number;
  readonly memory: CallMemory;
  readonly ahead: ReadAhead;
}

/**
 * The body of a call in one piece, for Connect's handlers: read within the caller's share of the memory, and its
 * messages ahead of the handler. Compressed ones are read at inflation.
 * @throws {Fault}; {ConnectError} if the caller disconnected.
 */
export async function* checkedBody(
  raw: IncomingMessage,
  { header, signal }: UniversalServerRequest,
  { messageBytes, memory, ahead }: MessageReading,
): AsyncGenerator<Uint8Array> {
  const type = (header.get("content-type") ?? "").toLowerCase();
  const isFramed = type.startsWith("application/grpc");
  const overhead = isFramed ? PREFIX_BYTES : 0;
  const bytes = await collected(raw, memory, signal, { messageBytes, overhead });
  if (memory instanceof CompressedBodyMemory && isFramed && !hasCompressedFrame(bytes)) memory.endPlain(bytes.length);
  if (isFramed) return yield await readFrames(bytes, ahead);
  const isMessage = CONNECT.test(type) && isPlain(header.get("content-encoding"));
  yield (isMessage ? await ahead.read(bytes) : undefined) ?? bytes;
}

async function collected(
  raw: IncomingMessage,
  memory: CallMemory,
  signal: AbortSignal,
  { messageBytes, overhead }: { readonly messageBytes: number; readonly overhead: number },
): Promise<Buffer> {
  const limits = { maxBytes: messageBytes + overhead, announced: announcedLength(raw), end: endOnAbort(signal) };
  try {
    return await collectBody(raw, memory, limits);
  } catch (error) {
    if (error instanceof Fault) throw error;
    if (error instanceof BodyTooLarge) throw messageTooLarge(error.maxBytes - overhead, messageBytes);
    throw new ConnectError("This operation was aborted", Code.Canceled);
  }
}

/** @param maxBytes limit of this caller, and `messageBytes` the limit of every caller with a key. */
export function messageTooLarge(maxBytes: number, messageBytes: number): BodyFault {
  const condition = maxBytes < messageBytes ? " without a key in BT-API-KEY" : "";
  const detail = `The message must not be larger than ${maxBytes} bytes${condition}.`;
  return new BodyFault("too_large", "body_too_large", detail);
}

/** Connect rejects incomplete frames, in the form of each protocol. */
async function readFrames(bytes: Buffer, ahead: ReadAhead): Promise<Buffer> {
  const pieces: Uint8Array[] = [];
  let start = 0;
  for (const { flags, from, to } of framesIn(bytes)) {
    if (flags !== 0 || to > bytes.length) continue;
    const message = await ahead.read(bytes.subarray(from, to));
    if (!message) continue;
    const prefix = Buffer.alloc(PREFIX_BYTES);
    prefix.writeUInt32BE(message.length, 1);
    pieces.push(bytes.subarray(start, from - PREFIX_BYTES), prefix, message);
    start = to;
  }
  return pieces.length === 0 ? bytes : Buffer.concat([...pieces, bytes.subarray(start)]);
}

function hasCompressedFrame(bytes: Buffer): boolean {
  for (const { flags } of framesIn(bytes)) if (flags & COMPRESSED) return true;
  return false;
}

function* framesIn(bytes: Buffer) {
  let frames = 0;
  for (let start = 0; start + PREFIX_BYTES <= bytes.length; frames += 1) {
    if (frames === MAX_FRAMES) throw malformedJson("must be a valid message");
    const from = start + PREFIX_BYTES;
    const to = from + bytes.readUInt32BE(start + 1);
    yield { flags: bytes.readUInt8(start), from, to };
    start = to;
  }
}

function isPlain(encoding: string | null): boolean {
  return encoding === null || encoding === "identity";
}
