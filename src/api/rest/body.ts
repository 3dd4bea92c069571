import type { IncomingMessage } from "node:http";
import { Fault, invalidFields } from "../../base/fault.js";
import type { Json } from "../../base/json.js";
import { MAX_DEPTH } from "../../services/value.js";
import { parseExactJson } from "./numbers.js";

const JSON_TYPE = /^application\/(?:json|[a-z0-9.-]+\+json)$|^text\/json$/;
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
  if (type === "application/x-www-form-urlencoded") {
    throw malformed("must be JSON; it was sent as a form");
  }
  if (type === undefined || !JSON_TYPE.test(type)) {
    throw new Fault("unsupported_media_type", "Send this request with Content-Type application/json.");
  }
  return parse(bytes);
}

function mediaType(request: IncomingMessage): string | undefined {
  return request.headers["content-type"]?.split(";", 1)[0]?.trim().toLowerCase();
}

async function readAll(request: IncomingMessage, maxBytes: number): Promise<Buffer> {
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
    for await (const chunk of request) {
      const bytes: Buffer = Buffer.isBuffer(chunk) ? chunk : Buffer.from(String(chunk));
      size += bytes.length;
      if (size > maxBytes) throw tooLarge(maxBytes);
      chunks.push(bytes);
    }
  } catch (error) {
    if (error instanceof Fault) throw error;
    throw malformed("ended before it was complete");
  }
  const [only] = chunks;
  return only && chunks.length === 1 ? only : Buffer.concat(chunks);
}

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: false });

function parse(bytes: Buffer): Json {
  let text: string;
  try {
    text = utf8.decode(bytes);
  } catch {
    throw malformed("must be UTF-8");
  }
  // One level more than a value may have: the object that holds it.
  if (depthOf(text) > MAX_DEPTH + 1) throw malformed(`must not nest deeper than ${MAX_DEPTH} levels`);
  try {
    return parseExactJson(text);
  } catch (error) {
    if (error instanceof Fault) throw error;
    // The parser's own words quote the body.
    throw malformed("must be valid JSON");
  }
}

/** Levels of brackets outside of strings. Told from the text, since a deep value would exhaust the stack of its readers. */
function depthOf(text: string): number {
  let depth = 0;
  let deepest = 0;
  for (let index = 0; index < text.length; index += 1) {
    switch (text.charCodeAt(index)) {
      case 0x22: {
        index = endOfString(text, index);
        break;
      }
      case 0x5b:
      case 0x7b:
        depth += 1;
        if (depth > deepest) deepest = depth;
        break;
      case 0x5d:
      case 0x7d:
        depth -= 1;
        break;
      default:
    }
  }
  return deepest;
}

function endOfString(text: string, start: number): number {
  let end = start;
  for (;;) {
    end = text.indexOf('"', end + 1);
    if (end < 0) return text.length;
    let slashes = 0;
    while (text.charCodeAt(end - 1 - slashes) === 0x5c) slashes += 1;
    if (slashes % 2 === 0) return end;
  }
}

function tooLarge(maxBytes: number): Fault {
  return new Fault("body_too_large", `The body must not be larger than ${maxBytes} bytes.`);
}

function malformed(text: string): Fault {
  return new Fault("malformed_body", `The body ${text}.`, { fields: invalidFields({ body: [text] }).fields ?? {} });
}
