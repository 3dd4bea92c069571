import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { EgressPolicy, type EgressTarget } from "../../src/egress/egress-policy.js";

const https = (host: string, port = 443): EgressTarget => ({ protocol: "https:", host, port });
const http = (host: string, port = 80): EgressTarget => ({ protocol: "http:", host, port });

/** The reason of one decision. */
function judged(allow: string, deny: string, target: EgressTarget, address = target.host): string {
  return new EgressPolicy({ allow, deny }).judge(target, address).reason;
}

describe("without lists", () => {
  it.each([
    [https("api.example.com"), "8.8.8.8", "public"],
    [https("api.example.com", 8443), "8.8.8.8", "public"],
    [https("api.example.com"), "10.0.0.1", "private"],
    [https("api.example.com"), "169.254.169.254", "metadata"],
    [https("api.example.com"), "::ffff:8.8.8.8", "transition"],
    [https("api.example.com", 22), "8.8.8.8", "port"],
    [http("api.example.com"), "8.8.8.8", "plain_http"],
    [http("api.example.com"), "10.0.0.1", "private"],
    [https("8.8.8.8"), "8.8.8.8", "public"],
    [https("api.example.com"), "not an address", "not_an_address"],
  ])("%j at %s: %s", (target, address, reason) => {
    expect(judged("", "", target, address)).toBe(reason);
  });
});

describe("the allow list", () => {
  it.each([
    // Addresses and ranges, for https and plain http alike.
    ["10.0.0.0/8", https("billing.corp"), "10.1.1.1", "operator_allowed"],
    ["10.0.0.0/8", http("billing.corp"), "10.1.1.1", "operator_allowed"],
    ["10.0.0.0/8", http("billing.corp"), "8.8.8.8", "plain_http"],
    ["10.0.0.0/8", https("billing.corp"), "192.168.1.1", "private"],
    ["10.1.1.1", https("10.1.1.1"), "10.1.1.1", "operator_allowed"],
    ["10.1.1.1:8080", http("10.1.1.1", 8080), "10.1.1.1", "operator_allowed"],
    ["10.1.1.1:8080", http("10.1.1.1", 8081), "10.1.1.1", "private"],
    ["8.8.8.8", http("api.example.com"), "8.8.8.8", "operator_allowed"],
    // Hosts, whatever private address they have.
    ["billing.corp", http("billing.corp"), "10.1.1.1", "operator_allowed"],
    ["billing.corp", https("billing.corp"), "127.0.0.1", "operator_allowed"],
    ["billing.corp", https("other.corp"), "10.1.1.1", "private"],
    ["*.corp", https("billing.corp"), "10.1.1.1", "operator_allowed"],
    ["api.example.com", http("api.example.com"), "8.8.8.8", "operator_allowed"],
    // Ports other than web ports need an entry with the port.
    ["10.0.0.0/8", http("10.1.1.1", 6379), "10.1.1.1", "private"],
    ["10.1.1.1", https("10.1.1.1", 5432), "10.1.1.1", "private"],
    ["billing.corp", https("billing.corp", 22), "8.8.8.8", "port"],
    ["billing.corp:22", https("billing.corp", 22), "10.1.1.1", "operator_allowed"],
    ["10.1.1.1:6379", http("redis.corp", 6379), "10.1.1.1", "operator_allowed"],
    // Link-local and metadata addresses only if named individually.
    ["169.254.0.0/16", http("169.254.169.254"), "169.254.169.254", "metadata"],
    ["0.0.0.0/0", http("169.254.169.254"), "169.254.169.254", "metadata"],
    ["0.0.0.0/0", https("a.corp"), "169.254.1.1", "link_local"],
    ["metadata.corp", http("metadata.corp"), "169.254.169.254", "metadata"],
    ["metadata.corp", http("metadata.corp"), "fd00:ec2::254", "metadata"],
    ["100.64.0.0/10", http("100.100.100.200"), "100.100.100.200", "metadata"],
    ["fe80::/10", https("a.corp"), "fe80::1", "link_local"],
    ["169.254.169.254", http("169.254.169.254"), "169.254.169.254", "operator_allowed"],
    ["169.254.169.254/32", http("metadata.corp"), "169.254.169.254", "operator_allowed"],
    ["169.254.169.254:80", http("169.254.169.254"), "169.254.169.254", "operator_allowed"],
    ["169.254.169.254:80", https("169.254.169.254"), "169.254.169.254", "metadata"],
    ["fd00:ec2::254", http("fd00:ec2::254"), "fd00:ec2::254", "operator_allowed"],
    // A transition prefix is allowed only towards addresses that are themselves allowed.
    ["64:ff9b::/96", https("a.example"), "64:ff9b::8.8.8.8", "operator_allowed"],
    ["64:ff9b::/96", http("a.example"), "64:ff9b::8.8.8.8", "transition"],
    ["64:ff9b::/96", https("a.example"), "64:ff9b::10.0.0.1", "transition"],
    ["64:ff9b::/96,10.0.0.0/8", https("a.example"), "64:ff9b::10.0.0.1", "operator_allowed"],
    ["::/0,0.0.0.0/0", https("a.example"), "64:ff9b::169.254.169.254", "transition"],
    ["::/0,169.254.169.254", https("a.example"), "64:ff9b::169.254.169.254", "operator_allowed"],
    ["a.example", https("a.example"), "::ffff:169.254.169.254", "transition"],
    ["::ffff:0:0/96", https("a.example"), "::ffff:127.0.0.1", "transition"],
    ["127.0.0.0/8", https("a.example"), "::ffff:127.0.0.1", "transition"],
    ["::ffff:127.0.0.1", https("a.example"), "::ffff:127.0.0.1", "operator_allowed"],
    ["2002::/16", https("a.example"), "2002:7f00:1::1", "transition"],
    ["2001::/32", https("a.example"), "2001:0:4136:e378:8000:63bf:3fff:fdd2", "transition"],
  ])("%s, %j at %s: %s", (allow, target, address, reason) => {
    expect(judged(allow, "", target, address)).toBe(reason);
  });
});

describe("the deny list", () => {
  it.each([
    ["", "evil.example", https("evil.example"), "8.8.8.8", "denied"],
    ["", "evil.example", https("www.evil.example"), "8.8.8.8", "public"],
    ["", "*.evil.example", https("www.evil.example"), "8.8.8.8", "denied"],
    ["", "8.8.8.0/24", https("api.example.com"), "8.8.8.8", "denied"],
    ["", "8.8.8.8:8443", https("api.example.com", 8443), "8.8.8.8", "denied"],
    ["", "8.8.8.8:8443", https("api.example.com"), "8.8.8.8", "public"],
    ["10.0.0.0/8", "10.0.0.5", http("10.0.0.5"), "10.0.0.5", "denied"],
    ["10.0.0.0/8", "10.0.0.5", http("10.0.0.6"), "10.0.0.6", "operator_allowed"],
    ["10.0.0.5", "10.0.0.0/8", http("10.0.0.5"), "10.0.0.5", "denied"],
    ["billing.corp", "10.0.0.0/8", https("billing.corp"), "10.0.0.5", "denied"],
    ["10.0.0.0/8", "billing.corp", https("billing.corp"), "10.0.0.5", "denied"],
    ["169.254.169.254", "169.254.169.254", http("169.254.169.254"), "169.254.169.254", "denied"],
    ["64:ff9b::/96", "8.8.8.8", https("a.example"), "64:ff9b::8.8.8.8", "denied"],
    ["::ffff:8.8.8.8", "8.8.8.8", https("a.example"), "::ffff:8.8.8.8", "denied"],
  ])("allow %s, deny %s, %j at %s: %s", (allow, deny, target, address, reason) => {
    expect(judged(allow, deny, target, address)).toBe(reason);
  });

  it("wins over every allow entry", () => {
    fc.assert(
      fc.property(fc.oneof(fc.ipV4(), fc.ipV6()), fc.constantFrom("", "0.0.0.0/0,::/0", "a.example"), (ip, others) => {
        const allow = `${others},${ip}`;
        return (
          judged(allow, "", https("a.example"), ip) === "operator_allowed" &&
          judged(allow, ip, https("a.example"), ip) === "denied"
        );
      }),
    );
  });
});

describe("a name before it is resolved", () => {
  it.each([
    ["", "", https("api.example.com"), undefined],
    ["", "", https("localhost"), "loopback"],
    ["", "", https("api.localhost"), "loopback"],
    ["", "", http("api.example.com"), "plain_http"],
    ["", "", https("api.example.com", 25), "port"],
    ["", "api.example.com", https("api.example.com"), "denied"],
    ["api.example.com", "api.example.com", https("api.example.com"), "denied"],
    ["localhost", "", http("localhost", 3000), undefined],
    ["localhost:3000", "", http("localhost", 4000), "loopback"],
    // The entry may cover the address of the name, which only the look-up shows.
    ["127.0.0.1", "", http("localhost", 3000), undefined],
    ["10.0.0.0/8", "", http("billing.corp"), undefined],
    ["10.0.0.0/8", "", http("billing.corp", 25), "plain_http"],
    ["10.0.0.1:25", "", https("billing.corp", 25), undefined],
    ["other.corp", "", http("billing.corp"), "plain_http"],
  ])("allow %s, deny %s, %j: %s", (allow, deny, target, reason) => {
    expect(new EgressPolicy({ allow, deny }).objectionToName(target)).toBe(reason);
  });
});

describe("the configuration", () => {
  it("names the list with an invalid entry", () => {
    expect(() => new EgressPolicy({ allow: "10.0.0.0/99" })).toThrow(/^CLOAKROOM_EGRESS_ALLOW: "10.0.0.0\/99"/);
    expect(() => new EgressPolicy({ deny: "http://x" })).toThrow(/^CLOAKROOM_EGRESS_DENY: "http:\/\/x"/);
  });

  it("knows which hosts the operator named", () => {
    const policy = new EgressPolicy({ allow: "billing.corp:8080,*.lan,10.0.0.0/8", deny: "evil.example" });
    const named = ["billing.corp", "a.lan", "lan", "other.corp", "evil.example", "10.0.0.1"];
    expect(named.filter((host) => policy.listsHost(host))).toEqual(["billing.corp", "a.lan"]);
  });
});
