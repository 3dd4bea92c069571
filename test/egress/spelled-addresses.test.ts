import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { classifyAddress } from "../../src/egress/address-class.js";
import { readDestination } from "../../src/egress/destination.js";
import { EgressError } from "../../src/egress/egress-error.js";
import { EgressPolicy } from "../../src/egress/egress-policy.js";

const CLOSED = new EgressPolicy();
const target = (host: string) => ({ protocol: "https:", host, port: 443 }) as const;

/** Ranges that only the operator may open, some of on whose addresses clouds serve credentials. */
const GUARDED = fc.oneof(
  fc.tuple(fc.constant(10), fc.nat(255), fc.nat(255), fc.nat(255)),
  fc.tuple(fc.constant(127), fc.nat(255), fc.nat(255), fc.nat(255)),
  fc.tuple(fc.constant(169), fc.constant(254), fc.nat(255), fc.nat(255)),
  fc.tuple(fc.constant(172), fc.integer({ min: 16, max: 31 }), fc.nat(255), fc.nat(255)),
  fc.tuple(fc.constant(192), fc.constant(168), fc.nat(255), fc.nat(255)),
  fc.tuple(fc.constant(100), fc.integer({ min: 64, max: 127 }), fc.nat(255), fc.nat(255)),
);
type Octets = readonly [number, number, number, number];
const dotted = (octets: Octets) => octets.join(".");

/** Spellings of an IPv4 address within IPv6. */
const EMBEDDINGS: Readonly<Record<string, (hex: string, octets: Octets) => string>> = {
  "an IPv4-mapped address": (hex) => `::ffff:${hex}`,
  "an IPv4-mapped address, dotted": (_, octets) => `::ffff:${dotted(octets)}`,
  "an IPv4-compatible address": (hex) => `::${hex}`,
  "an IPv4-translated address": (hex) => `::ffff:0:${hex}`,
  NAT64: (hex) => `64:ff9b::${hex}`,
  "local NAT64": (hex) => `64:ff9b:1::${hex}`,
  "6to4": (hex) => `2002:${hex}::1`,
  ISATAP: (hex) => `2606:4700::5efe:${hex}`,
};
const hexOf = ([a, b, c, d]: Octets) => `${(a * 256 + b).toString(16)}:${(c * 256 + d).toString(16)}`;

/** The reason for which a URL is refused, or `allowed`. */
function reasonOf(url: string): string {
  try {
    const { host } = readDestination(url, CLOSED);
    return CLOSED.judge(target(host), host).reason;
  } catch (error) {
    if (error instanceof EgressError) return error.reason;
    throw error;
  }
}

describe("an address that tenants may not reach", () => {
  it.each(Object.entries(EMBEDDINGS))("is refused within %s, also where all of IPv6 is allowed", (_, embed) => {
    const opened = new EgressPolicy({ allow: "::/0" });
    fc.assert(
      fc.property(GUARDED, (octets) => {
        const address = embed(hexOf(octets), octets);
        expect(classifyAddress(address).allowed).toBe(false);
        expect(reasonOf(`https://[${address}]/`)).not.toMatch(/public|allowed/);
        expect(opened.judge(target(address), address).allowed).toBe(false);
      }),
      { numRuns: 60 },
    );
  });

  it.each(Object.entries(EMBEDDINGS))("is denied within %s by an entry for its IPv4 address", (_, embed) => {
    const policy = new EgressPolicy({ allow: "::/0,0.0.0.0/0", deny: "8.0.0.0/8" });
    fc.assert(
      fc.property(fc.tuple(fc.constant(8), fc.nat(255), fc.nat(255), fc.nat(255)), (octets) => {
        const address = embed(hexOf(octets), octets);
        expect(policy.judge(target(address), address)).toEqual({ allowed: false, reason: "denied" });
      }),
      { numRuns: 60 },
    );
  });
});

describe("a decision of the operator's lists", () => {
  const link = "169.254.169.254";

  it.each([
    ["", "8.8.8.8", 443, "public"],
    ["", "10.0.0.7", 443, "private"],
    ["10.0.0.0/8", "10.0.0.7", 443, "operator_allowed"],
    ["10.0.0.0/8", "10.0.0.7", 5432, "private"],
    ["10.0.0.7:5432", "10.0.0.7", 5432, "operator_allowed"],
    ["10.0.0.7:5432", "10.0.0.7", 443, "private"],
    ["169.254.0.0/16", link, 443, "metadata"],
    [link, link, 443, "operator_allowed"],
    ["0.0.0.0/0", "127.0.0.1", 443, "operator_allowed"],
    ["0.0.0.0/0", "169.254.1.1", 443, "link_local"],
  ])("allowing %j, about %s at port %i is: %s", (allow, host, port, reason) => {
    expect(new EgressPolicy({ allow }).judge({ protocol: "https:", host, port }, host).reason).toBe(reason);
  });

  it("denies what both lists have, whatever allows it", () => {
    fc.assert(
      fc.property(fc.ipV4(), (ip) => {
        const policy = new EgressPolicy({ allow: `0.0.0.0/0,${ip}`, deny: ip });
        expect(policy.judge(target(ip), ip)).toEqual({ allowed: false, reason: "denied" });
      }),
    );
  });
});
