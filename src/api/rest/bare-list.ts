import type { IncomingHttpHeaders } from "node:http";

/**
 * Whether a request comes from one of the generated clients of the published interface. They read the list of an
 * application's keys as an array, where the interface's own text has a page: both are served, each to those who read it.
 */
export function readsBareList(headers: IncomingHttpHeaders): boolean {
  return /basis-?theory/i.test(String(headers["x-fern-sdk-name"] ?? ""));
}
