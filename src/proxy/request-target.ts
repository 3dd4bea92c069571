import { invalid } from "../base/fault.js";
import { hasDotSegment } from "./dot-segments.js";

/**
 * Path and query at the destination: the proxy's own followed by the caller's, byte for byte. The result always begins
 * with a slash, so no part of it can become part of the host.
 * @param path empty, or with its leading slash.
 * @param query empty, or with its leading question mark.
 * @throws {Fault} validation_failed for a path that leaves the proxy's own ({@link hasDotSegment}), and for characters
 * that a request line cannot carry.
 */
export function destinationTarget(base: string, path: string, query: string): string {
  if (path !== "" && !path.startsWith("/")) throw invalid("path", "must begin with a slash");
  requireCarried("path", path);
  requireCarried("query", query);
  if (hasDotSegment(path)) throw invalid("path", "must not hold . or .. as a segment");
  const own = base.replace(/^[a-z]+:\/\/[^/?]*/i, "");
  const mark = own.indexOf("?");
  const ownPath = mark < 0 ? own : own.slice(0, mark);
  const joinedPath = path === "" ? ownPath : `${ownPath.replace(/\/+$/, "")}${path}`;
  const queries = [mark < 0 ? "" : own.slice(mark + 1), query.replace(/^\?/, "")].filter((part) => part !== "");
  return `${joinedPath === "" ? "/" : joinedPath}${queries.length === 0 ? "" : `?${queries.join("&")}`}`;
}

/** Blanks and line breaks would end the request line early, and a fragment is never sent. Others stay as they came. */
function requireCarried(field: string, text: string): void {
  if (!/^[\x21\x22\x24-\x7e\x80-\xff]*$/.test(text)) {
    throw invalid(field, "must not hold blanks, control characters, # or characters that are not percent-encoded");
  }
}
