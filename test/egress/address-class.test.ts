import { BlockList, isIP } from "node:net";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type AddressDecision, classifyAddress } from "../../src/egress/address-class.js";

type AddressClass = AddressDecision["reason"];

const table: readonly (readonly [string, AddressClass])[] = [
  ["8.8.8.8", "public"],
  ["1.1.1.1", "public"],
  ["172.217.16.142", "public"],
  ["9.255.255.255", "public"],
  ["11.0.0.0", "public"],
  ["100.63.255.255", "public"],
  ["100.128.0.0", "public"],
  ["126.255.255.255", "public"],
  ["128.0.0.1", "public"],
  ["172.15.255.255", "public"],
  ["172.32.0.0", "public"],
  ["169.253.255.255", "public"],
  ["192.167.255.255", "public"],
  ["192.169.0.0", "public"],
  ["223.255.255.255", "public"],
  ["2606:4700:4700::1111", "public"],
  ["2a00:1450:4001:82b::200e", "public"],
  ["2003::1", "public"],

  ["0.0.0.0", "unspecified"],
  ["0.1.2.3", "unspecified"],
  ["::", "unspecified"],
  ["127.0.0.1", "loopback"],
  ["127.255.255.255", "loopback"],
  ["::1", "loopback"],
  ["0:0:0:0:0:0:0:1", "loopback"],
  ["10.0.0.0", "private"],
  ["10.255.255.255", "private"],
  ["172.16.0.1", "private"],
  ["172.31.255.255", "private"],
  ["192.168.1.1", "private"],
  ["100.64.0.0", "carrier_grade_nat"],
  ["100.127.255.255", "carrier_grade_nat"],
  ["169.254.0.1", "link_local"],
  ["169.254.169.253", "link_local"],
  ["fe80::1", "link_local"],
  ["fe80::1%eth0", "link_local"],
  ["febf:ffff::1", "link_local"],

  ["169.254.169.254", "metadata"],
  ["169.254.170.2", "metadata"],
  ["168.63.129.16", "metadata"],
  ["100.100.100.200", "metadata"],
  ["192.0.0.192", "metadata"],
  ["fd00:ec2::254", "metadata"],
  ["fd00:ec2::23", "metadata"],
  ["fd20:ce::254", "metadata"],

  ["224.0.0.1", "multicast"],
  ["239.255.255.255", "multicast"],
  ["ff02::1", "multicast"],
  ["ff0e::1", "multicast"],
  ["255.255.255.255", "broadcast"],
  ["240.0.0.1", "reserved"],
  ["192.0.0.8", "reserved"],
  ["192.31.196.1", "reserved"],
  ["192.52.193.1", "reserved"],
  ["192.175.48.1", "reserved"],
  ["192.0.2.1", "documentation"],
  ["198.51.100.7", "documentation"],
  ["203.0.113.255", "documentation"],
  ["2001:db8::1", "documentation"],
  ["3fff::1", "documentation"],
  ["198.18.0.1", "benchmarking"],
  ["198.19.255.255", "benchmarking"],
  ["2001:2::1", "benchmarking"],
  ["fc00::1", "unique_local"],
  ["fdff:ffff::1", "unique_local"],
  ["fec0::1", "site_local"],
  ["100::1", "discard"],
  ["100:0:0:1::1", "reserved"],
  ["2001:20::1", "reserved"],
  ["2001:1::1", "reserved"],
  ["2001:4:112::1", "reserved"],
  ["2620:4f:8000::1", "reserved"],
  ["5f00::1", "reserved"],
  ["4000::1", "reserved"],
  ["1::1", "reserved"],

  ["::ffff:127.0.0.1", "transition"],
  ["::ffff:8.8.8.8", "transition"],
  ["::ffff:a9fe:a9fe", "transition"],
  ["::127.0.0.1", "transition"],
  ["::8.8.8.8", "transition"],
  ["::ffff:0:10.0.0.1", "transition"],
  ["64:ff9b::10.0.0.1", "transition"],
  ["64:ff9b::8.8.8.8", "transition"],
  ["64:ff9b:1::10.0.0.1", "transition"],
  ["2002:a00:1::1", "transition"],
  ["2002:808:808::1", "transition"],
  ["2001:0:4136:e378:8000:63bf:3fff:fdd2", "transition"],
  ["2606:4700::5efe:a00:1", "transition"],
  ["2606:4700::200:5efe:a00:1", "transition"],
  ["192.88.99.1", "transition"],

  ["", "not_an_address"],
  ["localhost", "not_an_address"],
  ["2130706433", "not_an_address"],
  ["0x7f.0.0.1", "not_an_address"],
  ["0177.0.0.1", "not_an_address"],
  ["010.0.0.1", "not_an_address"],
  ["127.1", "not_an_address"],
  ["127.0.0.1.", "not_an_address"],
  ["[::1]", "not_an_address"],
  ["8.8.8.8/32", "not_an_address"],
  [" 8.8.8.8", "not_an_address"],
];

const special4 =
  "0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 192.0.2.0/24 " +
  "192.31.196.0/24 192.52.193.0/24 192.88.99.0/24 192.168.0.0/16 192.175.48.0/24 198.18.0.0/15 198.51.100.0/24 " +
  "203.0.113.0/24 224.0.0.0/4 240.0.0.0/4";
const special6 =
  "::/96 ::ffff:0:0/96 64:ff9b::/96 64:ff9b:1::/48 100::/64 100:0:0:1::/64 2001::/23 2001:db8::/32 2002::/16 " +
  "2620:4f:8000::/48 3fff::/20 5f00::/16 fc00::/7 fe80::/10 fec0::/10 ff00::/8";

/**
 * The special-purpose registries of IANA (RFC 6890 and its updates), entered independently for node:net: the class must
 * agree with them. One list per family, because a BlockList treats an IPv4 address as the IPv4-mapped one.
 */
function isSpecial(ip: string): boolean {
  const family = isIP(ip) === 4 ? "ipv4" : "ipv6";
  return lists[family].check(ip, family);
}

const lists = { ipv4: blockList(special4, "ipv4"), ipv6: blockList(special6, "ipv6") };

function blockList(cidrs: string, family: "ipv4" | "ipv6"): BlockList {
  const list = new BlockList();
  for (const cidr of cidrs.split(" ")) {
    const [network = "", bits] = cidr.split("/");
    list.addSubnet(network, Number(bits), family);
  }
  return list;
}

describe("the class of an address", () => {
  it.each(table)("%s is %s", (ip, expected) => {
    expect(classifyAddress(ip)).toEqual({ allowed: expected === "public", reason: expected });
  });

  it("never calls an address public that the registries reserve, and rejects few others", () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.ipV4(),
          fc.ipV6(),
          fc.ipV4().map((ip) => `::ffff:${ip}`),
        ),
        (ip) => {
          const { allowed, reason } = classifyAddress(ip);
          if (isSpecial(ip)) return !allowed;
          // Outside the registries only Azure's metadata address, unallocated IPv6 space and ISATAP are rejected.
          return allowed || isIP(ip) === 6 || reason === "metadata";
        },
      ),
      { numRuns: 3_000 },
    );
  });

  it("classifies any text, and only addresses are public", () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          fc.ipV6().map((ip) => `${ip}%eth0.1-x`),
        ),
        (text) => {
          const { allowed } = classifyAddress(text);
          return !allowed || isIP(text) !== 0;
        },
      ),
    );
  });
});
