import { isIP } from "node:net";

/** A URL's host as the URL standard spells it: IPv4 in dotted decimal, IPv6 without brackets, names in lower case ASCII. */
export interface Host {
  readonly kind: "name" | "address";
  readonly text: string;
}

/** RFC 1123 labels, and the underscore that real names have; 253 characters in all. */
const namePattern = /^(?=.{1,253}$)(?!-)[a-z0-9_-]{1,63}(?<!-)(?:\.(?!-)[a-z0-9_-]{1,63}(?<!-))*$/;

/**
 * The host of a parsed URL. The URL parser has already normalized decimal, hex, octal, short, full-width and
 * percent-encoded addresses, so the judged address is the dialled one.
 * @param hostname `URL.hostname`, brackets included.
 * @returns undefined if it is neither an address nor a valid DNS name.
 */
export function readHost(hostname: string): Host | undefined {
  const bare = hostname.startsWith("[") && hostname.endsWith("]") ? hostname.slice(1, -1) : hostname;
  if (isIP(bare) !== 0) return { kind: "address", text: bare };
  // A trailing dot only marks the name as complete; lists of hosts must match it too.
  const name = hostname.endsWith(".") ? hostname.slice(0, -1) : hostname;
  // A remaining numeric last label was meant as an address (`127.0.0.1..`), and no such domain exists.
  if (!namePattern.test(name) || /(?:^|\.)[0-9]+$/.test(name)) return undefined;
  return { kind: "name", text: name };
}

/** Names that RFC 6761 reserves for this machine, whatever a resolver says. */
export function isLocalhost(name: string): boolean {
  return name === "localhost" || name.endsWith(".localhost");
}
