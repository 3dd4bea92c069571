import type { IncomingMessage } from "node:http";
import { Fault } from "../../base/fault.js";
import type { Json } from "../../base/json.js";
import { BodyTooLarge } from "../../memory/body-errors.js";
import { BodyFault } from "../../memory/body-fault.js";
import { collectBody } from "../../memory/collect-body.js";
import { malformedJson, readJsonBytes } from "../messages/json-text.js";
import { announcedLength } from "../request/content-length.js";
import { requestMemory } from "../request/open-memory.js";

const JSON_TYPE = /^application\/(?:json|[a-z0-9.-]+\+json)$|^text\/json$/;
const FORM_TYPE = "application/x-www-form-urlencoded";
const MERGE_PATCH = "application/merge-patch+json";

export interface BodyRules {
  readonly maxBytes: number;
  readonly mergePatch: boolean;
}

/**
 * Reads a JSON body. Undefined for an empty one of any content type: clients send empty bodies without a type, or as a
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
    throw malformedJson("must be JSON; it was sent as a form");
  }
  if (type === undefined || !JSON_TYPE.test(type)) {
    throw new Fault("unsupported_media_type", "Send this request with Content-Type application/json.");
  }
  return readJsonBytes(bytes);
}

/**
 * Reads an HTML form. An empty body is an empty form.
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
 * Refuses a request if its caller has disconnected. Over HTTP/2 nothing else shows it: Node drops the received bytes, and
 * later reads end without an error, like an empty body.
 * @throws {Fault} malformed_body
 */
export function requireCaller(request: IncomingMessage): void {
  if (request.aborted) throw malformedJson("ended before it was complete");
}

/** @throws {Fault} body_too_large, malformed_body, unsupported_media_type for a compressed one, or unavailable. */
export async function readAll(request: IncomingMessage, maxBytes: number): Promise<Buffer> {
  requireCaller(request);
  const announced = announcedLength(request);
  if (announced === 0 && request.httpVersionMajor < 2) return Buffer.alloc(0);
  if (request.headers["content-encoding"] !== undefined && request.headers["content-encoding"] !== "identity") {
    throw new Fault("unsupported_media_type", "Send this request without a Content-Encoding.");
  }
  try {
    return await collectBody(request, requestMemory(request), { maxBytes, announced });
  } catch (error) {
    if (error instanceof BodyTooLarge) {
      throw new BodyFault("too_large", "body_too_large", `The body must not be larger than ${error.maxBytes} bytes.`);
    }
    throw error instanceof Fault ? error : malformedJson("ended before it was complete");
  }
}
