import { describe, expect, it } from "vitest";
import { coversAddress, coversHost, parseEgressRules } from "../../src/egress/egress-rule.js";

const parse = (list: string) => parseEgressRules("CLOAKROOM_EGRESS_ALLOW", list);

describe("an entry of the allow and deny lists", () => {
  it.each([
    ["10.0.0.0/8", "10.200.0.1", 1, true],
    ["10.0.0.0/8", "11.0.0.1", 1, false],
    ["10.0.0.0/8", "::ffff:10.0.0.1", 1, false],
    ["10.1.2.3", "10.1.2.3", 8080, true],
    ["10.1.2.3", "10.1.2.4", 8080, false],
    ["10.1.2.3:8080", "10.1.2.3", 8080, true],
    ["10.1.2.3:8080", "10.1.2.3", 8081, false],
    ["10.1.2.3/32", "10.1.2.3", 8080, true],
    ["0.0.0.0/0", "203.0.113.9", 1, true],
    ["0.0.0.0/0", "2606:4700::1", 1, false],
    ["fd00::/8", "fd12::1", 1, true],
    ["fd00::1", "fd00:0:0:0:0:0:0:1", 1, true],
    ["[fd00::1]", "fd00::1", 1, true],
    ["[fd00::1]:8443", "fd00::1", 8443, true],
    ["[fd00::1]:8443", "fd00::1", 443, false],
    ["api.example.com", "10.1.2.3", 443, false],
  ])("%s and the address %s at port %i: %s", (entry, address, port, expected) => {
    expect(parse(entry).map((rule) => coversAddress(rule, address, port))).toEqual([expected]);
  });

  it.each([
    ["api.example.com", "api.example.com", 443, true],
    ["API.Example.COM.", "api.example.com", 443, true],
    ["api.example.com", "www.api.example.com", 443, false],
    ["api.example.com:8443", "api.example.com", 8443, true],
    ["api.example.com:8443", "api.example.com", 443, false],
    ["*.example.com", "a.b.example.com", 443, true],
    ["*.example.com", "example.com", 443, false],
    ["*.example.com", "badexample.com", 443, false],
    ["*.example.com:444", "a.example.com", 444, true],
    ["bücher.example", "xn--bcher-kva.example", 443, true],
    ["localhost", "localhost", 80, true],
    ["my_host", "my_host", 80, true],
    ["10.1.2.3", "10.1.2.3", 443, false],
  ])("%s and the host %s at port %i: %s", (entry, host, port, expected) => {
    expect(parse(entry).map((rule) => coversHost(rule, host, port))).toEqual([expected]);
  });

  it("is separated by commas, with spaces and empty places ignored", () => {
    expect(parse("")).toEqual([]);
    expect(parse(" , ,")).toEqual([]);
    expect(parse(" 10.0.0.0/8 ,api.example.com,, [::1]:80,").length).toBe(3);
  });

  it.each([
    "10.0.0.0/33",
    "10.0.0.0/",
    "10.0.0.0/8:80",
    "fd00::/129",
    "10.0.0/8",
    "0x0a.0.0.0/8",
    "https://api.example.com",
    "api.example.com/path",
    "api.example.com:",
    "api.example.com:http",
    "api.example.com:80:90",
    "[10.1.2.3]",
    "[api.example.com]",
    "[::1",
    "::1]:80",
    "*",
    "*.",
    "*example.com",
    "a.*.example.com",
    "a b.example.com",
    "user@example.com",
    "-a.example.com",
    "a..example.com",
    "%31%32%37.0.0.1",
    "10.1.2.3.4",
    "10.1.2.300",
  ])("%s stops the start with one line saying what is expected", (entry) => {
    const attempt = () => parse(`10.0.0.0/8,${entry}`);
    expect(attempt).toThrow(
      `CLOAKROOM_EGRESS_ALLOW: "${entry}" is not valid: expected a CIDR (10.0.0.0/8), an address`,
    );
    expect(attempt).not.toThrow(/\n/);
  });

  it.each([
    ["10.0.0.1/8", "write the range as 10.0.0.0/8, or the single address without a prefix"],
    ["fd00::1/64", "write the range as fd00::/64, or the single address without a prefix"],
    ["0x7f.1", "write the address as 127.0.0.1"],
    ["2130706433", "write the address as 127.0.0.1"],
    ["010.0.0.1", "write the address as 8.0.0.1"],
    ["api.example.com:0", "expected a port from 1 to 65535"],
    ["api.example.com:65536", "expected a port from 1 to 65535"],
  ])("%s is rejected with: %s", (entry, expectation) => {
    expect(() => parse(entry)).toThrow(`CLOAKROOM_EGRESS_ALLOW: "${entry}" is not valid: ${expectation}`);
  });
});
