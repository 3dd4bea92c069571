import Fastify from "fastify";
import { describe, expect, it } from "vitest";
import { admitOperatorsOnly } from "../../../src/api/health/operators-only.js";

const app = Fastify();
admitOperatorsOnly(app, ["0.0.0.0", "Cloakroom", "vault.monitoring.svc"]);
app.get("/metrics", () => "load");

async function statusOf(headers: Readonly<Record<string, string>>): Promise<number> {
  return (await app.inject({ url: "/metrics", headers })).statusCode;
}

describe("the operator's port", () => {
  it.each([
    "127.0.0.1:9464",
    "10.42.0.7:9464",
    "[::1]:9464",
    "[fd00::7]",
    "localhost:9464",
    "LOCALHOST",
    "cloakroom:9464",
    "cloakroom.:9464",
    "vault.monitoring.svc:9464",
  ])("answers under %s", async (host) => {
    expect(await statusOf({ host })).toBe(200);
  });

  it.each([
    "rebound.attacker.example:9464",
    "127.0.0.1.attacker.example",
    "127.0.0.1@attacker.example",
    "localhost.attacker.example",
    "other.local",
    "other",
    "[attacker.example]",
    "2130706433",
    "0x7f.1",
  ])("refuses the name %j, which may be of a page that was sent here by DNS", async (host) => {
    expect(await statusOf({ host })).toBe(421);
  });

  it("refuses pages of other origins, also those on the same machine", async () => {
    const host = "127.0.0.1:9464";
    for (const site of ["cross-site", "same-site"]) {
      expect(await statusOf({ host, "sec-fetch-site": site })).toBe(403);
    }
    expect(await statusOf({ host, origin: "https://attacker.example" })).toBe(403);
    expect(await statusOf({ host, "sec-fetch-site": "none" })).toBe(200);
    expect(await statusOf({ host, "sec-fetch-site": "same-origin" })).toBe(200);
  });
});
