import type { IncomingMessage } from "node:http";
import { Fault } from "../../base/fault.js";
import type { Json } from "../../base/json.js";
import { bodyRoom } from "../body-room.js";
import { malformed, parseJsonBytes } from "../json-text.js";

const JSON_TYPE = /^application\/(?:json|[a-z0-9.-]+\+json)$|^text\/json$/;
const FORM_TYPE = "application/x-www-form-urlencoded";
const MERGE_PATCH = "application/merge-patch+json";

export interface BodyRules {
  readonly maxBytes: number;
  /** Only application/merge-patch+json is taken. */
  readonly mergePatch: boolean;
}

/**
 * Reads a JSON body. Undefined for an empty one, whatever its content type: clients send such bodies with none, or as a
 * form.
 * @throws {Fault} unsupported_media_type, body_too_large or malformed_body.
 */
export async function readJsonBody(
  request: IncomingMessage,
  { maxBytes, mergePatch }: BodyRules,
): Promise<Json | undefined> {
  const type = mediaType(request);
  if (mergePatch && type !== MERGE_PATCH) {
    throw new Fault("unsupported_media_type", `Send this request with Content-Type ${MERGE_PATCH}.`);
  }
  const bytes = await readAll(request, maxBytes);
  if (bytes.length === 0) return undefined;
  if (type === FORM_TYPE) {
    throw malformed("must be JSON; it was sent as a form");
  }
  if (type === undefined || !JSON_TYPE.test(type)) {
    throw new Fault("unsupported_media_type", "Send this request with Content-Type application/json.");
  }
  return parseJsonBytes(bytes);
}

/**
 * Reads what an HTML form sent. An empty body is an empty form.
 * @throws {Fault} unsupported_media_type, body_too_large or malformed_body.
 */
export async function readForm(request: IncomingMessage, maxBytes: number): Promise<URLSearchParams> {
  const bytes = await readAll(request, maxBytes);
  if (bytes.length > 0 && mediaType(request) !== FORM_TYPE) {
    throw new Fault("unsupported_media_type", `Send this request with Content-Type ${FORM_TYPE}.`);
  }
  return new URLSearchParams(bytes.toString());
}

function mediaType(request: IncomingMessage): string | undefined {
  return request.headers["content-type"]?.split(";", 1)[0]?.trim().toLowerCase();
}

/**
 * Refuses a request whose caller has left. Over HTTP/2 nothing else tells: what had come of its body is dropped, and what
 * is read afterwards ends without an error, like a body that is empty.
 * @throws {Fault} malformed_body
 */
export function requireCaller(request: IncomingMessage): void {
  if (request.aborted) throw malformed("ended before it was complete");
}

/**
 * All bytes of a body.
 * @throws {Fault} body_too_large, malformed_body, unsupported_media_type for a compressed one, or unavailable.
 */
export async function readAll(request: IncomingMessage, maxBytes: number): Promise<Buffer> {
  requireCaller(request);
  const announced = Number(request.headers["content-length"] ?? 0);
  if (announced > maxBytes) throw tooLarge(maxBytes);
  if (announced === 0 && request.headers["transfer-encoding"] === undefined && request.httpVersionMajor < 2) {
    return Buffer.alloc(0);
  }
  if (request.headers["content-encoding"] !== undefined && request.headers["content-encoding"] !== "identity") {
    throw new Fault("unsupported_media_type", "Send this request without a Content-Encoding.");
  }
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    // Destroyed, the request would take its connection along, and the answer with it.
    for await (const chunk of request.iterator({ destroyOnReturn: false })) {
      const bytes: Buffer = Buffer.isBuffer(chunk) ? chunk : Buffer.from(String(chunk));
      size += bytes.length;
      if (size > maxBytes) throw tooLarge(maxBytes);
      bodyRoom.take(request, bytes.length);
      chunks.push(bytes);
    }
  } catch (error) {
    if (error instanceof Fault) throw error;
    throw malformed("ended before it was complete");
  }
  requireCaller(request);
  const [only] = chunks;
  return only && chunks.length === 1 ? only : Buffer.concat(chunks);
}

function tooLarge(maxBytes: number): Fault {
  return new Fault("body_too_large", `The body must not be larger than ${maxBytes} bytes.`);
}
