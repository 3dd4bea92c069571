import { isIP } from "node:net";
import { Fault } from "../base/fault.js";

/** For what browsers make passkeys: the domain, and the origin whose pages may use them. */
export interface RelyingParty {
  readonly id: string;
  readonly origin: string;
}

/**
 * The relying party of a vault. Browsers make no passkeys for IP addresses: a vault on loopback has them under localhost.
 * @param address under which people reach the server.
 * @throws {Fault} unprocessable if that is an IP address of a network.
 */
export function chooseRelyingParty(address: string): RelyingParty {
  const { hostname: id, origin } = new URL(addressForPeople(address));
  if (isIP(id.replace(/^\[|\]$/g, "")) === 0) return { id, origin };
  throw new Fault(
    "unprocessable",
    "Browsers make no passkeys for IP addresses. The operator must set CLOAKROOM_PUBLIC_URL to an https address with a domain name.",
  );
}

/** The address for links to the console, without a slash at the end: with localhost in place of an IP address of loopback. */
export function addressForPeople(address: string): string {
  const url = new URL(address);
  if (/^(?:127(?:\.\d+){3}|\[::1\])$/.test(url.hostname)) url.hostname = "localhost";
  return url.href.replace(/\/$/, "");
}
