import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { logEntry } from "../../../src/audit/log-entry.js";
import { isTenantId, VAULT_TENANT_ID } from "../../../src/base/ids.js";
import { readConfig } from "../../../src/settings/config.js";
import { writeLog } from "../../../src/store/audit/audit-logs.js";
import { openVault } from "../../../src/vault/vault.js";
import { createStampAuthority, type StampAuthority } from "../../audit/support/stamp-authority.js";
import { cloakroom } from "../../support/command.js";
import { type ServerHere, startServerHere } from "../../support/server-here.js";
import { newTenant } from "../../support/tenant.js";

const MINUTE = 60_000;

describe("a server with a sink that works, one that is down, and a time-stamp authority", () => {
  const directory = mkdtempSync(join(tmpdir(), "cloakroom-sinks-"));
  const file = join(directory, "audit.jsonl");
  let server: ServerHere;
  let authority: StampAuthority;
  beforeAll(async () => {
    authority = await createStampAuthority();
    const stamps = { AUDIT_TSA_URL: authority.url, AUDIT_TSA_CA_FILE: authority.caFile };
    // No server listens on port 1.
    server = await startServerHere({ AUDIT_FILE: file, AUDIT_SYSLOG: "tcp://127.0.0.1:1", ...stamps });
  });
  afterAll(async () => {
    await server?.[Symbol.asyncDispose]();
    await authority?.[Symbol.asyncDispose]();
    rmSync(directory, { recursive: true, force: true });
  });
  const lines = () =>
    readFileSync(file, "utf8")
      .split("\n")
      .filter((line) => line !== "")
      .map((line) => JSON.parse(line));

  it("seals the log, sends it to the one, and reports the other", async () => {
    const { environment } = server;
    const { id: tenantId } = await newTenant(server.url, server.environment);
    expect(JSON.parse((await cloakroom(environment, "tenants", "list", "--json")).stdout)).toMatchObject([
      { tenant_id: tenantId },
    ]);
    if (!isTenantId(tenantId)) throw new Error("this is no tenant");
    // A minute that is over long ago is sealed with the next run of the job. Seals of an earlier day are stamped then.
    const minute = Math.floor(Date.now() / MINUTE) * MINUTE - 26 * 60 * MINUTE;
    const clock = { now: () => minute };
    const config = readConfig(environment);
    {
      await using vault = await openVault({ config, as: "command", announce: () => {}, clock });
      await vault.database.of(tenantId).shared(async (tx) => {
        for (const id of ["one", "two"]) writeLog(tx, logEntry("token", id, "read"));
      });
    }
    const own = () => lines().filter(({ tenant_id }) => tenant_id === tenantId);
    await expect.poll(() => own().map(({ kind }) => kind)).toEqual(["row", "row", "seal"]);
    expect(own()[0]).toMatchObject({ tenant_id: tenantId, entity_id: "one", operation: "read" });
    const vaultRows = () => lines().filter(({ kind, tenant_id }) => kind === "row" && tenant_id === VAULT_TENANT_ID);
    const operations = () => vaultRows().map(({ entity_type, operation }) => `${entity_type} ${operation}`);
    await expect.poll(operations).toContain("server start");
    const metrics = async () => (await fetch(`${server.adminUrl}/metrics`)).text();
    await expect.poll(metrics).toMatch(/^cloakroom_audit_incidents_total\{reason="sink_failed"\} 1$/m);
    expect(await metrics()).toMatch(/^cloakroom_audit_sink_lag_seconds\{sink="file"\} 0$/m);
    expect(server.said()).toContain("CLOAKROOM_AUDIT_SYSLOG does not accept messages (ECONNREFUSED)");
    expect((await fetch(`${server.adminUrl}/readyz`)).status).toBe(200);
    const [shown] = JSON.parse(
      (await cloakroom({ ...environment }, "audit", "key", "--tenant", tenantId, "--json")).stdout,
    );
    const verify = (...keys: string[]) => cloakroom({}, "audit", "verify", file, "--received", "--json", ...keys);
    const verified = await verify("--key", shown.public_key);
    expect({ code: verified.code, ...JSON.parse(verified.stdout) }).toMatchObject({
      ...{ code: 0, result: "good", tenants: [{ tenant_id: tenantId, rows: 2, entries: 1 }] },
    });
    expect((await verify()).code).toBe(2);
    await expect.poll(() => authority.asked).toBe(1);
    const range = ["--since", new Date(minute).toISOString(), "--until", new Date(minute + MINUTE).toISOString()];
    const exported = join(directory, "export.jsonl");
    const stampedRange = async () => {
      rmSync(exported, { force: true });
      const made = await cloakroom(
        { ...environment },
        "audit",
        "export",
        ...range,
        "--tenant",
        tenantId,
        "--file",
        exported,
      );
      expect(made).toMatchObject({ code: 0 });
      const trust = ["--key", shown.fingerprint, "--tsa-ca", authority.caFile];
      const { code, stdout } = await cloakroom({}, "audit", "verify", exported, ...trust, "--json");
      return { code, ...JSON.parse(stdout) };
    };
    // The token is stored a moment after the authority was asked.
    await expect.poll(stampedRange).toMatchObject({
      ...{ code: 0, result: "good", rows: 2, time_stamps: 1, stamped_at: expect.stringMatching(/^20/) },
    });
    expect(await verify("--key", shown.fingerprint)).toMatchObject({
      ...{ code: 2, stderr: expect.stringContaining("--key must be public keys") },
    });
  });
});
