import type { IncomingHttpHeaders } from "node:http";

interface WithHeaders {
  readonly headers: IncomingHttpHeaders;
}

/** A header by its lower-case name. Repeated ones are one list, as gRPC, Connect and HTTP define it. */
export function joinedHeader({ headers }: WithHeaders, name: string): string | undefined {
  const header = headers[name];
  return Array.isArray(header) ? header.join(", ") : header;
}
