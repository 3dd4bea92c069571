import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { EgressError } from "../../src/egress/egress-error.js";
import { resolveOver, systemResolver } from "../../src/egress/resolve-name.js";
import { type DnsResponse, type NameServer, records, startNameServer } from "./name-server.js";

let server: NameServer;

beforeAll(async () => {
  server = await startNameServer();
});

afterAll(() => server.close());

function resolve(name: string, ...responses: readonly DnsResponse[]): Promise<readonly string[]> {
  server.respond(name, ...responses);
  return resolveOver(server.resolver({ timeout: 800, tries: 1 }))(name);
}

describe("a name asked over DNS", () => {
  it("has the addresses of both families, IPv4 first", async () => {
    const addresses = await resolve("both.example", records("2606:4700::1", "192.0.2.1", "192.0.2.2"));
    expect(addresses).toEqual(["192.0.2.1", "192.0.2.2", "2606:4700::1"]);
  });

  it.each([
    ["v4.example", ["192.0.2.1"]],
    ["v6.example", ["2606:4700::1"]],
  ])("%s has one family only", async (name, addresses) => {
    expect(await resolve(name, records(...addresses))).toEqual(addresses);
  });

  it("is followed through an alias", async () => {
    const response: DnsResponse = { kind: "records", addresses: ["10.0.0.7"], alias: "inner.example" };
    expect(await resolve("outer.example", response)).toEqual(["10.0.0.7"]);
  });

  it.each([
    ["missing.example", { kind: "nxdomain" }, "name_not_found", "ENOTFOUND"],
    ["empty.example", records(), "name_not_found", "ENODATA"],
    ["broken.example", { kind: "servfail" }, "name_failed", "ESERVFAIL"],
    ["mute.example", { kind: "silence" }, "name_timeout", "ETIMEOUT"],
  ] as const)("%s fails", async (name, response, reason, systemCode) => {
    await expect(resolve(name, response)).rejects.toMatchObject({ reason, systemCode, delivery: "not_sent" });
  });

  it("is found if only one of its two questions is answered", async () => {
    const response: DnsResponse = { kind: "records", addresses: ["192.0.2.9"], silentTo: "AAAA" };
    expect(await resolve("half.example", response)).toEqual(["192.0.2.9"]);
  });

  it("fails with the time-out rather than with the missing family", async () => {
    const response: DnsResponse = { kind: "records", addresses: ["192.0.2.9"], silentTo: "A" };
    await expect(resolve("other-half.example", response)).rejects.toMatchObject({ reason: "name_timeout" });
  });
});

describe("the resolver of the machine", () => {
  const asked = (overDns: () => Promise<readonly string[]> = async () => ["192.0.2.1"]) =>
    systemResolver(
      (name) => name === "billing.example",
      overDns,
      async () => ["10.0.0.1"],
    );

  it.each([
    ["api.example.com", "192.0.2.1"],
    ["internal.example.com", "192.0.2.1"],
    ["localhost.example.com", "192.0.2.1"],
    ["localhost", "10.0.0.1"],
    ["postgres", "10.0.0.1"],
    ["printer.local", "10.0.0.1"],
    ["host.docker.internal", "10.0.0.1"],
    ["router.home.arpa", "10.0.0.1"],
    ["billing.example", "10.0.0.1"],
  ])("asks for %s where it belongs", async (name, address) => {
    expect(await asked()(name)).toEqual([address]);
  });

  it("asks the system for a public name only if no name server can be reached at all", async () => {
    const failing = (code: string) => async () => {
      throw new EgressError("name_failed", "not_sent", Object.assign(new Error("x"), { code }));
    };
    expect(await asked(failing("ECONNREFUSED"))("api.example.com")).toEqual(["10.0.0.1"]);
    await expect(asked(failing("ESERVFAIL"))("api.example.com")).rejects.toMatchObject({ systemCode: "ESERVFAIL" });
  });

  it("knows localhost", async () => {
    const addresses = await systemResolver(() => false)("localhost");
    expect(addresses.length).toBeGreaterThan(0);
    expect(addresses.every((address) => address.startsWith("127.") || address === "::1")).toBe(true);
  });

  it("fails for unknown names", async () => {
    const attempt = systemResolver(() => false)("no-such-name.test");
    await expect(attempt).rejects.toMatchObject({ reason: expect.stringMatching(/^name_/), delivery: "not_sent" });
  });
});
