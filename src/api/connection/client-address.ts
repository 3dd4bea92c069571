import { BlockList, isIP } from "node:net";
import ipaddr from "ipaddr.js";
import type { LoggedAddresses } from "../../base/logged-addresses.js";
import type { Network } from "../../base/network.js";
import type { ArrivedRequest } from "./exchange.js";

/** The client's address as log rows have it; undefined if they have none, or it is unknown. */
export type ReadAddress = (request: Pick<ArrivedRequest, "socket" | "headers">) => string | undefined;

/** Reads the address of a request for log rows. */
export function addressReader(trusted: readonly Network[], logged: LoggedAddresses): ReadAddress {
  if (logged === "none") return () => undefined;
  const addressOf = peerReader(trusted);
  return (request) => {
    const address = addressOf(request);
    if (isIP(address) === 0) return undefined;
    return logged === "full" ? withoutZone(address) : networkOf(address);
  };
}

/** A link-local address names the interface that it came by. */
function withoutZone(address: string): string {
  return address.split("%", 1)[0] ?? address;
}

/** The first address of the network. */
function networkOf(address: string): string {
  if (isIP(address) === 4) return address.replace(/[.]\d+$/, ".0");
  const [first = 0, second = 0, third = 0] = ipaddr.IPv6.parse(address).parts;
  return ipaddr.IPv6.parse(`${[first, second, third].map((part) => part.toString(16)).join(":")}::`).toString();
}

/** The client of a request, for counting. */
export type ReadClient = (request: Pick<ArrivedRequest, "socket" | "headers">) => string;

/** Reads the client for counting: IPv6 by /64. */
export function clientReader(trusted: readonly Network[]): ReadClient {
  const addressOf = peerReader(trusted);
  return (request) => countedAs(addressOf(request));
}

/**
 * The peer of the connection, or behind trusted proxies the address that they report. Each proxy appends to the right
 * of X-Forwarded-For, so the header is read from the right up to the first untrusted address: the client may have
 * invented everything left of that.
 */
export function peerReader(trusted: readonly Network[]): ReadClient {
  if (trusted.length === 0) return ({ socket }) => plain(socket.remoteAddress ?? "");
  const proxies = new BlockList();
  for (const { address, prefix, family } of trusted) proxies.addSubnet(address, prefix, family);
  const isTrusted = (address: string) => proxies.check(address, isIP(address) === 6 ? "ipv6" : "ipv4");
  return ({ socket, headers }) => {
    let client = plain(socket.remoteAddress ?? "");
    const forwarded = headers["x-forwarded-for"];
    const hops = (Array.isArray(forwarded) ? forwarded.join(",") : (forwarded ?? "")).split(",");
    while (hops.length > 0 && isIP(client) !== 0 && isTrusted(client)) {
      const hop = addressIn(hops.pop() ?? "");
      // This proxy forwarded no address, so it is the last known one.
      if (hop === undefined) break;
      client = hop;
    }
    return plain(client);
  };
}

/** Some proxies add the port: 203.0.113.7:5123, [2001:db8::1]:5123. */
function addressIn(hop: string): string | undefined {
  const text = hop.trim();
  const [, bracketed, dotted] = /^(?:\[([^\]]+)\](?::\d+)?|([\d.]+):\d+)$/.exec(text) ?? [];
  const address = plain(bracketed ?? dotted ?? text);
  return isIP(address) === 0 ? undefined : address;
}

/** An IPv4 client of a server that listens on IPv6 shows as ::ffff:203.0.113.7. */
function plain(address: string): string {
  return address.startsWith("::ffff:") && address.includes(".") ? address.slice("::ffff:".length) : address;
}

/** An IPv6 client has at least a /64 to itself (RFC 6177): counted by address, it would have no limit. */
function countedAs(client: string): string {
  if (isIP(client) !== 6) return client;
  const [first = 0, second = 0, third = 0, fourth = 0] = ipaddr.IPv6.parse(client).parts;
  return `${[first, second, third, fourth].map((part) => part.toString(16)).join(":")}::/64`;
}
