import { BlockList, isIP } from "node:net";
import type { LoggedAddresses } from "../../base/logged-addresses.js";
import { clientNetwork, countedClient, type Network, plainAddress } from "../../base/network.js";
import type { ArrivedRequest } from "./exchange.js";

/** The client's address as log rows have it; undefined if they have none, or it is unknown. */
export type ReadAddress = (request: Pick<ArrivedRequest, "socket" | "headers">) => string | undefined;

export function addressReader(trusted: readonly Network[], logged: LoggedAddresses): ReadAddress {
  if (logged === "none") return () => undefined;
  const addressOf = peerReader(trusted);
  return (request) => {
    const address = addressOf(request);
    if (isIP(address) === 0) return undefined;
    return logged === "full" ? withoutZone(address) : clientNetwork(address);
  };
}

/** A link-local address names the interface that it came by. */
function withoutZone(address: string): string {
  return address.split("%", 1)[0] ?? address;
}

export type ReadClient = (request: Pick<ArrivedRequest, "socket" | "headers">) => string;

/** Reads the network of a client: neighbours count together. */
export function networkReader(trusted: readonly Network[]): ReadClient {
  const addressOf = peerReader(trusted);
  return (request) => clientNetwork(addressOf(request));
}

export function proxyCheck(trusted: readonly Network[]): (address: string) => boolean {
  const proxies = new BlockList();
  for (const { address, prefix, family } of trusted) proxies.addSubnet(address, prefix, family);
  return (address) => proxies.check(address, isIP(address) === 6 ? "ipv6" : "ipv4");
}

/** Reads the client for counting: IPv6 by /64. */
export function clientReader(trusted: readonly Network[]): ReadClient {
  const addressOf = peerReader(trusted);
  return (request) => countedClient(addressOf(request));
}

/**
 * The peer of the connection, or behind trusted proxies the address that they report. Each proxy appends to the right
 * of X-Forwarded-For, so the header is read from the right up to the first untrusted address: the client may have
 * invented everything left of that.
 */
export function peerReader(trusted: readonly Network[]): ReadClient {
  if (trusted.length === 0) return ({ socket }) => plainAddress(socket.remoteAddress ?? "");
  const isTrusted = proxyCheck(trusted);
  return ({ socket, headers }) => {
    let client = plainAddress(socket.remoteAddress ?? "");
    const forwarded = headers["x-forwarded-for"];
    const hops = (Array.isArray(forwarded) ? forwarded.join(",") : (forwarded ?? "")).split(",");
    while (hops.length > 0 && isIP(client) !== 0 && isTrusted(client)) {
      const hop = addressIn(hops.pop() ?? "");
      // This proxy forwarded no address, so it is the last known one.
      if (hop === undefined) break;
      client = hop;
    }
    return plainAddress(client);
  };
}

/** Some proxies add the port: 203.0.113.7:5123, [2001:db8::1]:5123. */
function addressIn(hop: string): string | undefined {
  const text = hop.trim();
  const [, bracketed, dotted] = /^(?:\[([^\]]+)\](?::\d+)?|([\d.]+):\d+)$/.exec(text) ?? [];
  const address = plainAddress(bracketed ?? dotted ?? text);
  return isIP(address) === 0 ? undefined : address;
}
