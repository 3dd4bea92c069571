import type { IncomingMessage, ServerResponse } from "node:http";
import { type DescMessage, fromBinary, type Message, toBinary } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { setTrailerStatus } from "@connectrpc/connect/protocol-grpc";
import { Fault } from "../base/fault.js";
import { RECURSION_LIMIT } from "./idempotency.js";
import { malformed } from "./json-text.js";
import type { Observe } from "./observation.js";
import type { Pipeline } from "./pipeline.js";
import { rateRefusalOf } from "./rate-gate.js";
import type { RpcLimits } from "./rpc-call.js";
import { connectErrorOf } from "./rpc-error.js";
import { admitCall, answerCall, refusalOf } from "./rpc-method.js";
import { traceOf } from "./trace.js";
import { dropUnreadBody } from "./unread-body.js";

/** Serves a request, or answers false: Connect's own handlers serve it. */
export type UnaryLane = (request: IncomingMessage, response: ServerResponse) => boolean;

/** What every request goes through first, whatever serves it. Resolves once it may be looked at. */
export type Enter = (request: IncomingMessage, response: ServerResponse, path: string) => Promise<void>;

/** Length prefix of a message: one byte of flags, four of length (gRPC over HTTP/2, "Length-Prefixed-Message"). */
const PREFIX_BYTES = 5;
/** Milliseconds in each unit of grpc-timeout. */
const UNITS: Readonly<Record<string, number>> = { H: 3_600_000, M: 60_000, S: 1_000, m: 1, u: 1e-3, n: 1e-6 };

/**
 * The short way for the calls that back ends make: gRPC with one uncompressed binary message, straight from the port
 * through the same chain as REST. Connect's handlers, which serve all else, spend some 300 us on such a call whose own
 * work costs 100: a chain of asynchronous iterators over web streams and Headers (docs/performance.md).
 *
 * The answer is what Connect's handler answers, byte for byte, but that it is never compressed.
 */
export function createUnaryLane(
  pipelines: readonly Pipeline[],
  limits: RpcLimits,
  observe: Observe,
  enter: Enter,
): UnaryLane {
  const byPath = new Map<string, Pipeline>(
    pipelines.map((pipeline) => {
      const { parent, name } = pipeline.method.desc;
      return [`/${parent.typeName}/${name}`, pipeline] as const;
    }),
  );
  return (request, response) => {
    const path = request.url ?? "";
    const pipeline = byPath.get(path);
    if (!pipeline || !isPlainGrpc(request)) return false;
    const timeoutMs = timeoutOf(request.headers["grpc-timeout"], limits.timeoutMs);
    if (timeoutMs === undefined) return false;
    void serve(pipeline, path, request, response, { ...limits, timeoutMs }, observe, enter);
    return true;
  };
}

function isPlainGrpc({ httpVersionMajor, method, headers }: IncomingMessage): boolean {
  const type = headers["content-type"];
  return (
    httpVersionMajor === 2 &&
    method === "POST" &&
    (type === "application/grpc" || type === "application/grpc+proto") &&
    (headers["grpc-encoding"] ?? "identity") === "identity"
  );
}

/** Milliseconds; undefined for a text that is no time. */
function timeoutOf(header: string | string[] | undefined, mostMs: number): number | undefined {
  if (header === undefined) return mostMs;
  const [, amount, unit = ""] = /^(\d{1,8})([HMSmun])$/.exec(String(header)) ?? [];
  return amount === undefined ? undefined : Math.min(mostMs, Number(amount) * (UNITS[unit] ?? 0));
}

async function serve(
  pipeline: Pipeline,
  path: string,
  request: IncomingMessage,
  response: ServerResponse,
  { messageBytes, timeoutMs }: RpcLimits,
  observe: Observe,
  enter: Enter,
): Promise<void> {
  const call = new AbortController();
  const deadline = setTimeout(
    () => call.abort(new ConnectError("the operation timed out", Code.DeadlineExceeded)),
    timeoutMs,
  );
  response.once("close", () => {
    clearTimeout(deadline);
    if (!response.writableFinished) call.abort(new ConnectError("This operation was aborted", Code.Canceled));
  });
  try {
    await enter(request, response, path);
    const traceId = traceOf(request);
    const { desc } = pipeline.method;
    const observation = observe({ rpc: desc.name, traceId });
    const tooMany = rateRefusalOf(request);
    if (tooMany) throw refusalOf(tooMany, observation, traceId);
    const head = { traceId, signal: call.signal, header: (name: string) => single(request.headers[name]) };
    const admission = await admitCall(pipeline, head, observation);
    let message: Message;
    try {
      message = decode(desc.input, await readMessage(request, messageBytes, call.signal));
    } catch (error) {
      if (!(error instanceof ConnectError)) throw refusalOf(error, observation, traceId);
      observation.fail(error.code === Code.DeadlineExceeded ? 408 : 400, new Fault("malformed_body", "unread"));
      throw error;
    }
    const answer = await answerCall(pipeline, admission, observation, message);
    for (const [name, value] of answer.headers) response.setHeader(name, value);
    send(response, envelope(toBinary(desc.output, answer.message)), undefined);
  } catch (error) {
    if (response.destroyed) return;
    if (!request.complete) await dropUnreadBody(request);
    send(response, undefined, error instanceof ConnectError ? error : internal(error));
  }
}

/**
 * The one message of a request. Resolves when the body has ended.
 * @throws {Fault} as Connect's handlers are made to answer; {ConnectError} what gRPC itself wants told its way.
 */
function readMessage(request: IncomingMessage, mostBytes: number, signal: AbortSignal): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    const giveUp = () => reject(signal.reason);
    const fail = (error: Error) => {
      request.off("data", take);
      reject(error);
    };
    const take = (chunk: Buffer) => {
      chunks.push(chunk);
      size += chunk.length;
      if (size > mostBytes + PREFIX_BYTES) {
        fail(new Fault("body_too_large", `The message must not be larger than ${mostBytes} bytes.`));
      }
    };
    if (signal.aborted) return giveUp();
    signal.addEventListener("abort", giveUp, { once: true });
    request.on("data", take);
    request.once("end", () => {
      signal.removeEventListener("abort", giveUp);
      try {
        resolve(onlyMessage(chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks), mostBytes));
      } catch (error) {
        reject(error);
      }
    });
    request.once("error", () => reject(new ConnectError("This operation was aborted", Code.Canceled)));
  });
}

function onlyMessage(body: Buffer, mostBytes: number): Buffer {
  if (body.length === 0)
    throw new ConnectError("protocol error: missing input message for unary method", Code.Unimplemented);
  if (body.length < PREFIX_BYTES) throw malformed("must be a valid message");
  const length = body.readUInt32BE(1);
  if (length > mostBytes) {
    throw new Fault("body_too_large", `The message must not be larger than ${mostBytes} bytes.`);
  }
  // Compressed, though no compression was agreed on, or cut short.
  if (body[0] !== 0 || body.length < PREFIX_BYTES + length) throw malformed("must be a valid message");
  if (body.length > PREFIX_BYTES + length) {
    throw new ConnectError("protocol error: received extra input message for unary method", Code.Unimplemented);
  }
  return body.subarray(PREFIX_BYTES);
}

function decode(type: DescMessage, bytes: Buffer): Message {
  try {
    return fromBinary(type, bytes, { recursionLimit: RECURSION_LIMIT });
  } catch {
    throw malformed("must be a valid message");
  }
}

function envelope(message: Uint8Array): Buffer {
  const framed = Buffer.allocUnsafe(PREFIX_BYTES + message.length);
  framed.writeUInt8(0, 0);
  framed.writeUInt32BE(message.length, 1);
  framed.set(message, PREFIX_BYTES);
  return framed;
}

function send(response: ServerResponse, body: Buffer | undefined, error: ConnectError | undefined): void {
  response.writeHead(200, { "content-type": "application/grpc+proto" });
  if (error) response.addTrailers(Object.fromEntries(setTrailerStatus(new Headers(), error)));
  else response.addTrailers({ "grpc-status": "0" });
  if (body) response.end(body);
  else response.end();
}

function internal(error: unknown): ConnectError {
  return connectErrorOf(new Fault("internal", "Something went wrong on our side.", { cause: error }));
}

function single(header: string | string[] | undefined): string | undefined {
  return Array.isArray(header) ? header.join(", ") : header;
}
