import ipaddr from "ipaddr.js";
import { classifyAddress, isWithin, readAddress } from "./address-class.js";

/** Where a prefix stores IPv4 addresses: byte offsets into the sixteen bytes, and which of them are inverted. */
interface Layout {
  readonly network: readonly [ipaddr.IPv6, number];
  readonly offsets: readonly number[];
  readonly inverted?: number;
}

const layouts: readonly Layout[] = [
  { network: ipaddr.IPv6.parseCIDR("2002::/16"), offsets: [2] }, // 6to4, RFC 3056
  { network: ipaddr.IPv6.parseCIDR("2001::/32"), offsets: [4, 12], inverted: 12 }, // Teredo server and client, RFC 4380
];

/** Mapped, compatible, translated, NAT64 and ISATAP addresses end in the IPv4 address. */
const trailing: readonly number[] = [12];

/**
 * The IPv4 addresses in an IPv6 transition address; empty for every other address. An allow entry for such a prefix
 * must not open an inner address that is not allowed on its own.
 */
export function embeddedIpv4(ip: string): readonly string[] {
  if (classifyAddress(ip).reason !== "transition") return [];
  const address = readAddress(ip);
  if (!(address instanceof ipaddr.IPv6)) return [];
  const layout = layouts.find(({ network }) => isWithin(address, network));
  const bytes = address.toByteArray();
  return (layout?.offsets ?? trailing).map((offset) => {
    const mask = offset === layout?.inverted ? 0xff : 0;
    return bytes
      .slice(offset, offset + 4)
      .map((byte) => byte ^ mask)
      .join(".");
  });
}
