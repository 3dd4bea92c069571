import { IncomingMessage } from "node:http";
import { Socket } from "node:net";
import { describe, expect, it } from "vitest";
import { addressReader } from "../../src/api/connection/client-address.js";
import { classifyClient } from "../../src/audit/client-class.js";
import { loggedTrace } from "../../src/audit/trace-id.js";

describe("what log rows say of a request", () => {
  it.each([
    [undefined, undefined],
    ["", undefined],
    ["Mozilla/5.0 (X11; Linux x86_64) 4111111111111111", "browser"],
    ["curl/8.5.0", "curl"],
    ["cloakroom-node/2.1.0", "cloakroom-node/2"],
    ["cloakroom-node/9999999.1 secret", "other"],
    ["grpc-node-js/1.12.0", "grpc"],
    ["4111 1111 1111 1111", "other"],
  ])("about a client %j is its class", (agent, expected) => {
    expect(classifyClient(agent)).toBe(expected);
  });

  it.each([
    ["0190a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b", "0190a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b"],
    ["4BF92F3577B34DA6A3CE929D0E0E4736", "4bf92f35-77b3-4da6-a3ce-929d0e0e4736"],
    ["order-17", "72a90ea3-da8b-5dd0-1bde-2f27314e02e2"],
    ["4111111111111111", undefined],
    ["card-4111.1111.1111.1111", undefined],
    ["no such form", undefined],
  ])("about a trace %j is 16 bytes", (id, expected) => {
    expect(loggedTrace(id)).toBe(expected);
  });

  it.each([
    ["full", "203.0.113.7", "203.0.113.7"],
    ["full", "::ffff:203.0.113.7", "203.0.113.7"],
    ["full", "fe80::1%eth0", "fe80::1"],
    ["truncated", "203.0.113.7", "203.0.113.0"],
    ["truncated", "2001:db8:1:2:3:4:5:6", "2001:db8:1::"],
    ["truncated", "::1", "::"],
    ["none", "203.0.113.7", undefined],
    ["full", "", undefined],
  ] as const)("about an address, %s, of %j is %j", (logged, peer, expected) => {
    const socket = new Socket();
    Object.defineProperty(socket, "remoteAddress", { value: peer });
    expect(addressReader([], logged)(new IncomingMessage(socket))).toBe(expected);
  });
});
