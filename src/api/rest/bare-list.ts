import type { IncomingHttpHeaders } from "node:http";

/**
 * Whether a generated client of the published interface sent the request. These read the list of an application's keys
 * as an array, where the interface's own text has a page: each gets its form.
 */
export function readsBareList(headers: IncomingHttpHeaders): boolean {
  return /basis-?theory/i.test(String(headers["x-fern-sdk-name"] ?? ""));
}
