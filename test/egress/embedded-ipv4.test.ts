import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { embeddedIpv4 } from "../../src/egress/embedded-ipv4.js";

describe("IPv4 addresses inside IPv6", () => {
  it.each([
    ["::ffff:10.1.2.3", ["10.1.2.3"]],
    ["::ffff:a9fe:a9fe", ["169.254.169.254"]],
    ["::10.1.2.3", ["10.1.2.3"]],
    ["::ffff:0:10.1.2.3", ["10.1.2.3"]],
    ["64:ff9b::a01:203", ["10.1.2.3"]],
    ["64:ff9b:1::a01:203", ["10.1.2.3"]],
    ["2002:a01:203::1", ["10.1.2.3"]],
    // Teredo: server 65.54.227.120, and client 192.0.2.45 stored inverted.
    ["2001:0:4136:e378:8000:63bf:3fff:fdd2", ["65.54.227.120", "192.0.2.45"]],
    ["2606:4700::5efe:10.1.2.3", ["10.1.2.3"]],
  ])("%s leads to %j", (ip, expected) => {
    expect(embeddedIpv4(ip)).toEqual(expected);
  });

  it.each(["10.1.2.3", "192.88.99.1", "::1", "::", "2606:4700::1", "fe80::5efe:10.1.2.3", "fd00::1", "no address"])(
    "%s leads to none",
    (ip) => {
      expect(embeddedIpv4(ip)).toEqual([]);
    },
  );

  it("finds every mapped address again", () => {
    fc.assert(fc.property(fc.ipV4(), (ip) => embeddedIpv4(`::ffff:${ip}`)[0] === ip));
  });
});
