import { isIP } from "node:net";
import ipaddr from "ipaddr.js";

/** A block of addresses: 10.0.0.0/8. */
export interface Network {
  readonly address: string;
  readonly prefix: number;
  readonly family: "ipv4" | "ipv6";
}

/**
 * The first address of the network of a client: /24 of IPv4, /48 of IPv6, what one holder of addresses gets (RIPE-690).
 * What is no address is a network of its own.
 */
export function clientNetwork(address: string): string {
  const family = isIP(address);
  if (family === 0) return address;
  return family === 4 ? address.replace(/[.]\d+$/, ".0") : ipaddr.IPv6.parse(`${firstParts(address, 3)}::`).toString();
}

/** The client with an address: IPv6 by /64, which one client has to itself (RFC 6177). By address it would have no limit. */
export function countedClient(address: string): string {
  return isIP(address) === 6 ? `${firstParts(address, 4)}::/64` : address;
}

function firstParts(address: string, count: number): string {
  const parts = ipaddr.IPv6.parse(address).parts.slice(0, count);
  return parts.map((part) => part.toString(16)).join(":");
}

const MAPPED = /^::ffff:(\d+(?:[.]\d+){3})$/i;

/** An IPv4 client of a server that listens on IPv6 shows as ::ffff:203.0.113.7. */
export function plainAddress(address: string): string {
  return MAPPED.exec(address)?.[1] ?? address;
}
