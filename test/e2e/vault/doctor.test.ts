import { expect, inject, it } from "vitest";
import { cloakroom } from "../../support/command.js";

it.each([
  ["364", [expect.stringContaining("CLOAKROOM_AUDIT_RETENTION_DAYS is 364: PCI DSS 10.5.1")]],
  ["365", []],
  ["0", []],
])("doctor on a retention of %s days warns: %j", async (days, warnings) => {
  const environment = { ...inject("serverEnvironment"), CLOAKROOM_AUDIT_RETENTION_DAYS: days };
  const { stdout } = await cloakroom(environment, "doctor", "--json");
  const shown: string[] = JSON.parse(stdout).warnings ?? [];
  expect(shown.filter((warning) => warning.includes("RETENTION"))).toEqual(warnings);
});

it("doctor shows the tables with their sizes and growth, the WAL, roles and limits", async () => {
  const environment = { ...inject("serverEnvironment"), CLOAKROOM_RATE_LIMITS: "global=1000" };
  const { code, stdout } = await cloakroom(environment, "doctor", "--json");
  expect(code).toBe(0);
  const report = JSON.parse(stdout);
  expect(report).toMatchObject({
    healthy: true,
    role: "cloakroom_app",
    wal_written_bytes: expect.any(Number),
    rate_limits: { global: 1_000, token_search: 50 },
    rate_limits_shared: false,
    connections_needed: 20,
  });
  expect(report.max_connections).toBeGreaterThan(report.connections_needed);
  expect(report.connections).toBeGreaterThan(0);
  const sizes: { table: string; bytes: number; rows: number; inserted: number }[] = report.tables;
  expect(sizes.map(({ table }) => table)).toEqual(expect.arrayContaining(["tokens", "audit_logs", "due", "leases"]));
  expect(sizes.map(({ bytes }) => bytes)).toEqual(sizes.map(({ bytes }) => bytes).sort((a, b) => b - a));
  const plain = await cloakroom(environment, "doctor");
  expect(plain.stdout).toMatch(/^healthy: true$/m);
  expect(plain.stdout).toMatch(/^ {2}table tokens, bytes \d+, rows \d+, inserted \d+$/m);
  expect(plain.stdout).not.toContain("[object");
});
