import { isIP } from "node:net";
import ipaddr from "ipaddr.js";

export type AddressDecision =
  | { readonly allowed: true; readonly reason: "public" }
  | { readonly allowed: false; readonly reason: RefusedAddressClass };

export type Address = ipaddr.IPv4 | ipaddr.IPv6;

/** Ranges that ipaddr.js lacks or does not divide; the first match decides. */
const FINER = [
  // Metadata and credential services of the clouds, from the vendors' documentation. 168.63.129.16 is the one in
  // public address space: Azure answers on it inside every virtual network.
  ["169.254.169.254/32", "metadata"], // AWS, Google, Azure and most others
  ["169.254.170.2/32", "metadata"], // AWS ECS task credentials
  ["169.254.170.23/32", "metadata"], // AWS EKS pod identity
  ["169.254.42.42/32", "metadata"], // Scaleway
  ["168.63.129.16/32", "metadata"], // Azure
  ["100.100.100.200/32", "metadata"], // Alibaba
  ["192.0.0.192/32", "metadata"], // Oracle classic
  ["fd00:ec2::/32", "metadata"], // AWS: ::254 metadata, ::23 pod identity, ::253 names
  ["fd20:ce::254/128", "metadata"], // Google
  ["fd00:c1::a9fe:a9fe/128", "metadata"], // Oracle
  ["fd00:42::42/128", "metadata"], // Scaleway
  ["fd00:a9fe:a9fe::1/128", "metadata"], // Linode
  ["fd00:100::100:200/128", "metadata"], // Alibaba
  ["fe80::a9fe:a9fe/128", "metadata"], // OpenStack
  ["192.0.2.0/24", "documentation"], // RFC 5737, as the two below
  ["198.51.100.0/24", "documentation"],
  ["203.0.113.0/24", "documentation"],
  ["2001:db8::/32", "documentation"], // RFC 3849
  ["3fff::/20", "documentation"], // RFC 9637
  ["198.18.0.0/15", "benchmarking"], // RFC 2544
  ["192.88.99.0/24", "transition"], // 6to4 relays, RFC 7526
  ["::/128", "unspecified"],
  ["::1/128", "loopback"],
  ["::/96", "transition"], // IPv4-compatible, RFC 4291 2.5.5.1
] as const;
const finerRanges = FINER.map(([cidr, reason]) => ({ network: ipaddr.parseCIDR(cidr), reason }));

/** Range names of ipaddr.js. A range that is not listed, such as one of a later version, is `reserved`. */
const CLASSES = {
  unspecified: "unspecified",
  loopback: "loopback",
  private: "private",
  linkLocal: "link_local",
  carrierGradeNat: "carrier_grade_nat",
  multicast: "multicast",
  broadcast: "broadcast",
  benchmarking: "benchmarking",
  uniqueLocal: "unique_local",
  deprecatedSiteLocal: "site_local",
  discard: "discard",
  ipv4Mapped: "transition",
  rfc6145: "transition",
  rfc6052: "transition",
  "6to4": "transition",
  teredo: "transition",
} as const;
const classOfRange: Readonly<Record<string, RefusedAddressClass>> = CLASSES;

/** Why tenants may not reach an address. `transition` embeds an IPv4 address in IPv6, or translates. */
export type RefusedAddressClass =
  | (typeof FINER)[number][1]
  | (typeof CLASSES)[keyof typeof CLASSES]
  | "reserved"
  | "not_an_address";

/** The only IPv6 space that IANA has opened for global unicast (RFC 3587); all else would be a guess. */
const globalUnicast = ipaddr.IPv6.parseCIDR("2000::/3");

/**
 * Classifies an address: public unicast, or why not. Transition prefixes (IPv4-mapped and -compatible, NAT64, 6to4,
 * Teredo, ISATAP) are refused entirely, whatever IPv4 address they contain: their target depends on a translator that
 * this process cannot see, and a public service has an A record too.
 * @param ip dotted decimal or RFC 4291 text, without brackets; any other spelling is `not_an_address`.
 */
export function classifyAddress(ip: string): AddressDecision {
  const address = readAddress(ip);
  if (address === undefined) return { allowed: false, reason: "not_an_address" };
  const finer = finerRanges.find(({ network }) => isWithin(address, network));
  if (finer !== undefined) return { allowed: false, reason: finer.reason };
  const range: string = address.range();
  if (range !== "unicast") return { allowed: false, reason: classOfRange[range] ?? "reserved" };
  if (address instanceof ipaddr.IPv6) {
    if (!address.match(globalUnicast)) return { allowed: false, reason: "reserved" };
    if (isIsatap(address)) return { allowed: false, reason: "transition" };
  }
  return { allowed: true, reason: "public" };
}

/**
 * Parses an address in its usual spelling. ipaddr.js alone also accepts `0x7f.1`, and node:net alone accepts unknown
 * zones.
 */
export function readAddress(ip: string): Address | undefined {
  return isIP(ip) !== 0 && ipaddr.isValid(ip) ? ipaddr.parse(ip) : undefined;
}

/**
 * Whether the network contains the address. Families never match each other: an IPv4-mapped address is not an IPv4
 * address here.
 */
export function isWithin(address: Address, [network, bits]: readonly [Address, number]): boolean {
  return address.kind() === network.kind() && address.match(network, bits);
}

/** RFC 5214: the interface part is 0000:5efe or 0200:5efe followed by an IPv4 address. */
function isIsatap(address: ipaddr.IPv6): boolean {
  const [, , , , high, low] = address.parts;
  return (high === 0 || high === 0x0200) && low === 0x5efe;
}
