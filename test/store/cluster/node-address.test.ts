import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { nodeAddressText, parseNodeAddress } from "../../../src/store/cluster/node-address.js";

const ports = fc.integer({ min: 1, max: 65_535 });

describe("the address of a node", () => {
  it("is read as it is written, whatever the host and port", () => {
    const hosts = fc.oneof(fc.domain(), fc.ipV4(), fc.ipV6());
    fc.assert(
      fc.property(hosts, ports, (host, port) => {
        expect(parseNodeAddress(nodeAddressText({ host, port }))).toEqual({ host, port });
      }),
    );
  });

  it("has PostgreSQL's port unless it names one", () => {
    expect(parseNodeAddress("worker-3")).toEqual({ host: "worker-3", port: 5432 });
    expect(parseNodeAddress("[fd00::3]")).toEqual({ host: "fd00::3", port: 5432 });
  });

  it("has only an IPv6 address in brackets", () => {
    for (const text of ["[.]", "[a]", "[10.0.0.1]", "[]"]) expect(parseNodeAddress(text)).toBeUndefined();
  });

  it("is nothing but a host and a port, whatever the text", () => {
    const texts = fc.oneof(fc.string(), fc.stringMatching(/^[[\]a-z0-9.:_'-]{0,12}$/));
    fc.assert(
      fc.property(texts, (text) => {
        const node = parseNodeAddress(text);
        if (node === undefined) return;
        expect(node.host).toMatch(/^[\w.:-]+$/);
        expect(text).toContain(node.host);
        expect(parseNodeAddress(nodeAddressText(node))).toEqual(node);
      }),
    );
  });
});
