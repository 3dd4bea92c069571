import { isIP } from "node:net";
import { Fault } from "../base/fault.js";

/** For what browsers make passkeys: the domain, and the origins whose pages may use them. */
export interface RelyingParty {
  readonly id: string;
  readonly origin: string;
}

/**
 * The relying party of a vault. Browsers make no passkeys for IP addresses: a vault on loopback has them under localhost.
 * @param address under which people reach the server.
 * @throws {Fault} unprocessable if that is an IP address of a network.
 */
export function relyingPartyOf(address: string): RelyingParty {
  const url = new URL(address);
  const host = url.hostname.replace(/^\[|\]$/g, "");
  if (isIP(host) === 0) return { id: host, origin: url.origin };
  if (host !== "::1" && !host.startsWith("127.")) {
    throw new Fault(
      "unprocessable",
      "Browsers make no passkeys for IP addresses. The operator must set CLOAKROOM_PUBLIC_URL to an https address with a domain name.",
    );
  }
  url.hostname = "localhost";
  return { id: "localhost", origin: url.origin };
}
