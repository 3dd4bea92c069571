import { isIPv6 } from "node:net";

/** As the coordinator dials a node. */
export interface NodeAddress {
  readonly host: string;
  readonly port: number;
}

const WRITTEN = /^(?:\[([0-9a-f:.]+)\]|([a-z0-9_][a-z0-9._-]*))(?::(\d{1,5}))?$/i;
const DEFAULT_PORT = 5432;
const MAX_PORT = 65_535;

/** Reads `HOST`, `HOST:PORT` or `[IPV6]:PORT`. Undefined for other texts. */
export function parseNodeAddress(text: string): NodeAddress | undefined {
  const [, ipv6, name, port] = WRITTEN.exec(text) ?? [];
  const host = ipv6 !== undefined && isIPv6(ipv6) ? ipv6 : name;
  const number = port === undefined ? DEFAULT_PORT : Number(port);
  if (host === undefined || number < 1 || number > MAX_PORT) return undefined;
  return { host, port: number };
}

/** As {@link parseNodeAddress} reads it. */
export function nodeAddressText({ host, port }: NodeAddress): string {
  return `${host.includes(":") ? `[${host}]` : host}:${port}`;
}
