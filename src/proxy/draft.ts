import { isUtf8 } from "node:buffer";
import type { Readable } from "node:stream";
import { Fault, invalid } from "../base/fault.js";
import type { HeaderPair } from "../egress/request-framing.js";
import { bodyPlaces } from "./body-format.js";
import { readCallerBody } from "./buffered-body.js";
import type { ProxyCall } from "./call.js";
import { forwardedHeaders, forwardedQuery, headerValue } from "./forward.js";
import { type ProxyDefinition, requestSteps } from "./proxy.js";
import { RequestReferences } from "./references.js";
import { placesInHeader } from "./splice/header.js";
import { placesInPath, placesInQuery } from "./splice/url.js";

/** The largest body that is transformed (specification, Limits), and here also the largest that is searched for references. */
const MAX_BUFFERED = 5 * 1024 * 1024;

/** A request on its way: what was read of it, and what is replaced in it. */
export interface Draft {
  path: string;
  query: string;
  headers: HeaderPair[];
  body: Readable | Buffer;
  readonly references: RequestReferences;
}

/**
 * Finds the references in all parts of a request, unless the proxy leaves them alone. Only bodies that are text, or that a
 * transform wants, are read.
 * @throws {Fault} validation_failed naming the part of a malformed expression; for a body that is to be read what
 * {@link readCallerBody} throws.
 */
export async function scan(call: ProxyCall, definition: ProxyDefinition): Promise<Draft> {
  const draft: Draft = {
    path: call.path,
    query: forwardedQuery(call.query),
    headers: forwardedHeaders(call.headers),
    body: call.body,
    references: new RequestReferences(),
  };
  if (definition.disableDetokenization) return draft;
  const { references } = draft;
  references.scan("path", draft.path, placesInPath, (path) => {
    draft.path = path;
  });
  references.scan("query", draft.query, placesInQuery, (query) => {
    draft.query = query;
  });
  for (const [index, [name, value]] of draft.headers.entries()) {
    references.scan(`headers.${name}`, value, placesInHeader, (text) => {
      requireHeaderValue(name, text);
      draft.headers[index] = [name, text];
    });
  }
  const find = bodyPlaces(headerValue(call.headers, "content-type"), headerValue(call.headers, "content-encoding"));
  if (find || requestSteps(definition).length > 0) {
    const body = await readCallerBody(call, MAX_BUFFERED);
    draft.body = body;
    if (find && body.length > 0) {
      const text = isUtf8(body) ? body.toString("utf8") : requireNoReferences(body);
      references.scan("body", text, find, (spliced) => {
        draft.body = Buffer.from(spliced);
      });
    }
  }
  return draft;
}

/** A body in another encoding goes through as it is; values could not be put into it without knowing which one. */
function requireNoReferences(body: Buffer): string {
  if (body.includes("{{")) throw invalid("body", "must be UTF-8 to hold expressions");
  return "";
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
