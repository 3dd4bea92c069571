import { isIP } from "node:net";

/** A URL's host as the URL standard spells it: IPv4 in dotted decimal, IPv6 without brackets, names in lower case ASCII. */
export interface Host {
  readonly kind: "name" | "address";
  readonly text: string;
}

/** RFC 1123 labels, and the underscore that real names have; 253 characters in all. */
const namePattern = /^(?=.{1,253}$)(?!-)[a-z0-9_-]{1,63}(?<!-)(?:\.(?!-)[a-z0-9_-]{1,63}(?<!-))*$/;

/**
 * The host of a parsed URL. The URL parser has already turned decimal, hex, octal, short, full-width and
 * percent-encoded addresses into their usual spelling, so that what is judged is what would be dialled.
 *
 * @param hostname `URL.hostname`, brackets included.
 * @returns undefined when it is neither an address nor a name that DNS could hold.
 */
export function readHost(hostname: string): Host | undefined {
  const bare = hostname.startsWith("[") && hostname.endsWith("]") ? hostname.slice(1, -1) : hostname;
  if (isIP(bare) !== 0) return { kind: "address", text: bare };
  // One trailing dot only says that the name is complete; a list of hosts must not miss it for that.
  const name = hostname.endsWith(".") ? hostname.slice(0, -1) : hostname;
  // What is left with a numeric last label was an address to someone (`127.0.0.1..`), and no such domain exists.
  if (!namePattern.test(name) || /(?:^|\.)[0-9]+$/.test(name)) return undefined;
  return { kind: "name", text: name };
}

/** Names that RFC 6761 binds to this machine, whatever a resolver says. */
export function isLocalhost(name: string): boolean {
  return name === "localhost" || name.endsWith(".localhost");
}
