import { Fault } from "../base/fault.js";
import type { HeaderPair } from "../egress/request-framing.js";
import { type SendableBody, unsearchedBody } from "./body/outgoing-body.js";
import { searchBody } from "./body/search-body.js";
import type { CallerBody } from "./buffered-body.js";
import { forwardedHeaders, forwardedQuery } from "./forward.js";
import { RequestReferences } from "./references.js";
import { placesInHeader } from "./splice/header.js";
import type { FindPlaces } from "./splice/place.js";
import { placesInPath, placesInQuery } from "./splice/url.js";

/** The part of a request before the body. References in it are replaced in place. */
export interface ScannedHead {
  path: string;
  query: string;
  readonly headers: HeaderPair[];
}

/** A request in progress: the parts that were read, and their references. */
export interface ScannedRequest {
  readonly head: ScannedHead;
  readonly body: SendableBody;
  readonly references: RequestReferences;
}

/** A request whose references are looked for: of a call, or of a test. */
export interface ScannableRequest extends CallerBody {
  readonly path: string;
  readonly query: string;
}

export interface ScanOptions {
  /** False: the proxy replaces no references. */
  readonly isDetokenizing: boolean;
  /** Whether a transform needs the whole body. */
  readonly hasSteps: boolean;
}

/**
 * Finds the references in all parts of a request, unless the proxy does not detokenize.
 * @throws {Fault} validation_failed naming the part with a malformed expression; for the body, errors of {@link
 * searchBody}.
 */
export async function scanReferences(
  call: ScannableRequest,
  { isDetokenizing, hasSteps }: ScanOptions,
): Promise<ScannedRequest> {
  const references = new RequestReferences();
  const head = { path: call.path, query: forwardedQuery(call.query), headers: forwardedHeaders(call.headers) };
  if (!isDetokenizing) return { head, body: unsearchedBody(call.body), references };
  scanHead(references, head);
  const body = await searchBody(call, references, hasSteps);
  return { head, body, references };
}

function scanHead(references: RequestReferences, head: ScannedHead): void {
  const search = (field: string, text: string, find: FindPlaces, take: (text: string) => void) =>
    references.scan({ field, text, find, take, positionOf: (offset) => `character ${offset + 1}` });
  search("path", head.path, placesInPath, (path) => {
    head.path = path;
  });
  search("query", head.query, placesInQuery, (query) => {
    head.query = query;
  });
  for (const [index, [name, value]] of head.headers.entries()) {
    search(`headers.${name}`, value, placesInHeader, (text) => {
      requireHeaderValue(name, text);
      head.headers[index] = [name, text];
    });
  }
}

/** A value must not start another header. */
function requireHeaderValue(name: string, value: string): void {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
  if (/[\0-\x08\x0a-\x1f\x7f]/.test(value)) {
    throw new Fault("validation_failed", "A header cannot hold this value.", {
      fields: { [`headers.${name}`]: ["must not become a value with line breaks or control characters"] },
    });
  }
}
