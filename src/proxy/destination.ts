import { Fault } from "../base/fault.js";

/**
 * The address that a call goes to: the proxy's own, with the caller's path and query behind it, byte for byte.
 * @throws {Fault} validation_failed for a path that leads out of the destination's own, in whatever spelling.
 */
export function destinationOf(base: string, path: string, query: string): string {
  for (const segment of path.split(/\/|\\|%2f|%5c/i)) {
    if (/^(?:\.|%2e){1,2}$/i.test(segment)) {
      throw new Fault("validation_failed", "The path must not hold . or .. as a segment.", {
        fields: { path: ["must not hold . or .. as a segment"] },
      });
    }
  }
  const mark = base.indexOf("?");
  const basePath = (mark < 0 ? base : base.slice(0, mark)).replace(/\/+$/, "");
  const baseQuery = mark < 0 ? "" : base.slice(mark + 1);
  const callerQuery = query.replace(/^\?/, "");
  const joined = [baseQuery, callerQuery].filter((part) => part !== "").join("&");
  return `${basePath}${path}${joined === "" ? "" : `?${joined}`}`;
}
