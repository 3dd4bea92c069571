import { Fault } from "../base/fault.js";
import type { HeaderPair } from "../egress/request-framing.js";
import { type SendableBody, unsearchedBody } from "./body/outgoing-body.js";
import { searchBody } from "./body/search-body.js";
import type { ProxyCall } from "./call.js";
import { forwardedHeaders, forwardedQuery } from "./forward.js";
import { type ProxyDefinition, requestSteps } from "./proxy.js";
import { RequestReferences } from "./references.js";
import { placesInHeader } from "./splice/header.js";
import type { FindPlaces } from "./splice/place.js";
import { placesInPath, placesInQuery } from "./splice/url.js";

/** What stands before the body of a request. Values are put in where they are. */
export interface DraftHead {
  path: string;
  query: string;
  readonly headers: HeaderPair[];
}

/** A request on its way: what was read of it, and what is replaced in it. */
export interface Draft {
  readonly head: DraftHead;
  readonly body: SendableBody;
  readonly references: RequestReferences;
}

/**
 * Finds the references in all parts of a request, unless the proxy leaves them alone.
 * @throws {Fault} validation_failed naming the part of a malformed expression; for the body what {@link searchBody} throws.
 */
export async function scan(call: ProxyCall, definition: ProxyDefinition): Promise<Draft> {
  const references = new RequestReferences();
  const head = { path: call.path, query: forwardedQuery(call.query), headers: forwardedHeaders(call.headers) };
  if (definition.disableDetokenization) return { head, body: unsearchedBody(call.body), references };
  scanHead(references, head);
  const body = await searchBody(call, references, requestSteps(definition).length > 0);
  return { head, body, references };
}

function scanHead(references: RequestReferences, head: DraftHead): void {
  const search = (field: string, text: string, find: FindPlaces, take: (text: string) => void) =>
    references.scan({ ...{ field, text, find, take }, positionOf: (offset) => `character ${offset + 1}` });
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

/** A value must not start a header of its own. */
function requireHeaderValue(name: string, value: string): void {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
  if (/[\0-\x08\x0a-\x1f\x7f]/.test(value)) {
    throw new Fault("validation_failed", "A header cannot hold this value.", {
      fields: { [`headers.${name}`]: ["must not become a value with line breaks or control characters"] },
    });
  }
}
