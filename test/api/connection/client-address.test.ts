import { IncomingMessage } from "node:http";
import { Socket } from "node:net";
import { describe, expect, it } from "vitest";
import { clientReader, networkReader } from "../../../src/api/connection/client-address.js";
import { readConfig } from "../../../src/settings/config.js";

function clientOf(trusted: string, peer: string, forwarded?: string): string {
  const socket = new Socket();
  Object.defineProperty(socket, "remoteAddress", { value: peer });
  const request = new IncomingMessage(socket);
  if (forwarded !== undefined) request.headers["x-forwarded-for"] = forwarded;
  const environment = trusted === "" ? {} : { CLOAKROOM_TRUSTED_PROXIES: trusted };
  return clientReader(readConfig(environment).trustedProxies)(request);
}

describe("the client of a request", () => {
  it.each<[string, string, string, string | undefined, string]>([
    ["the connection's peer", "", "203.0.113.7", undefined, "203.0.113.7"],
    ["the peer, whatever it claims", "", "203.0.113.7", "198.51.100.1", "203.0.113.7"],
    ["the peer, if it is not a trusted proxy", "10.0.0.0/8", "203.0.113.7", "198.51.100.1", "203.0.113.7"],
    ["the client that a trusted proxy names", "10.0.0.0/8", "10.1.2.3", "203.0.113.7", "203.0.113.7"],
    ["the rightmost address that is not a proxy", "10.0.0.0/8", "10.1.2.3", "1.2.3.4, 203.0.113.7", "203.0.113.7"],
    ["behind two proxies", "10.0.0.0/8,192.0.2.1", "10.1.2.3", "1.2.3.4, 203.0.113.7,192.0.2.1", "203.0.113.7"],
    ["the first proxy, when it says nothing", "10.0.0.0/8", "10.1.2.3", undefined, "10.1.2.3"],
    ["the last one known, when a proxy says nonsense", "10.0.0.0/8", "10.1.2.3", "1.2.3.4, unknown", "10.1.2.3"],
    ["the furthest, when all are trusted", "10.0.0.0/8", "10.1.2.3", "10.0.0.1, 10.0.0.2", "10.0.0.1"],
    [
      "known by an IPv4 address in IPv6's spelling",
      "10.0.0.0/8",
      "::ffff:10.1.2.3",
      "::ffff:203.0.113.7",
      "203.0.113.7",
    ],
    [
      "known by an IPv4 address in IPv6's spelling in capitals",
      "10.0.0.0/8",
      "10.1.2.3",
      "::FFFF:203.0.113.7",
      "203.0.113.7",
    ],
    ["read without a port", "10.0.0.0/8", "10.1.2.3", "203.0.113.7:5123", "203.0.113.7"],
    ["counted as its network on IPv6", "", "2001:db8:1:2:3:4:5:6", undefined, "2001:db8:1:2::/64"],
    ["counted as its network on IPv6 behind a proxy", "fd00::/8", "fd00::1", "[2001:db8::9]:443", "2001:db8:0:0::/64"],
  ])("is %s", (_name, trusted, peer, forwarded, expected) => {
    expect(clientOf(trusted, peer, forwarded)).toBe(expected);
  });
});

describe("the network of a client", () => {
  it.each([
    ["the /24 of IPv4", "203.0.113.7", "203.0.113.0"],
    ["the /48 of IPv6", "2001:db8:1:2:3:4:5:6", "2001:db8:1::"],
    ["the same for another address in it", "2001:db8:1:ffff::1", "2001:db8:1::"],
    ["another for an address beside it", "2001:db8:2::1", "2001:db8:2::"],
    ["the /24 of IPv4 in IPv6's spelling", "::ffff:203.0.113.7", "203.0.113.0"],
  ])("is %s", (_, peer, expected) => {
    const socket = new Socket();
    Object.defineProperty(socket, "remoteAddress", { value: peer });
    expect(networkReader([])(new IncomingMessage(socket))).toBe(expected);
  });
});

describe("CLOAKROOM_TRUSTED_PROXIES", () => {
  it.each(["proxy.example.com", "10.0.0.0/33", "10.0.0/8x", "*"])("rejects %s and says what is expected", (value) => {
    expect(() => readConfig({ CLOAKROOM_TRUSTED_PROXIES: value })).toThrow(
      /CLOAKROOM_TRUSTED_PROXIES must be addresses/,
    );
  });
});
