import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { logEntry } from "../../src/audit/log-entry.js";
import { isTenantId } from "../../src/base/ids.js";
import { readConfig } from "../../src/settings/config.js";
import { writeLog } from "../../src/store/audit/audit-logs.js";
import { openVault } from "../../src/vault/vault.js";
import { cloakroom } from "../support/command.js";
import { type ServerProcess, startServerProcess } from "../support/server.js";

const MINUTE = 60_000;

describe("a server with a sink that works and one that is down", () => {
  const directory = mkdtempSync(join(tmpdir(), "cloakroom-sinks-"));
  const file = join(directory, "audit.jsonl");
  let server: ServerProcess;
  beforeAll(async () => {
    // No server listens on port 1.
    server = await startServerProcess({ AUDIT_FILE: file, AUDIT_SYSLOG: "tcp://127.0.0.1:1" });
  });
  afterAll(async () => {
    await server?.[Symbol.asyncDispose]();
    rmSync(directory, { recursive: true, force: true });
  });
  const lines = () =>
    readFileSync(file, "utf8")
      .split("\n")
      .filter((line) => line !== "")
      .map((line) => JSON.parse(line));

  it("seals the log, sends it to the one, and reports the other", { timeout: 60_000 }, async () => {
    const { environment } = server;
    const [{ tenant_id: tenantId }] = JSON.parse(
      (await cloakroom({ ...environment }, "tenants", "list", "--json")).stdout,
    );
    if (!isTenantId(tenantId)) throw new Error("this is no tenant");
    // A minute that is over long ago is sealed with the next run of the job.
    const clock = { now: () => Math.floor(Date.now() / MINUTE) * MINUTE - 30 * MINUTE };
    const config = readConfig(environment);
    {
      await using vault = await openVault({ config, as: "command", announce: () => {}, clock });
      await vault.database.shared.run(tenantId, "unguarded", async (tx) => {
        for (const id of ["one", "two"]) writeLog(tx, logEntry(undefined, "token", id, "read"));
      });
    }
    await expect.poll(() => lines().map(({ kind }) => kind), { timeout: 30_000 }).toEqual(["row", "row", "seal"]);
    expect(lines()[0]).toMatchObject({ tenant_id: tenantId, entity_id: "one", operation: "read" });
    const metrics = async () => (await fetch(`${server.adminUrl}/metrics`)).text();
    await expect
      .poll(metrics, { timeout: 10_000 })
      .toMatch(/^cloakroom_audit_incidents_total\{reason="sink_failed"\} 1$/m);
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
    expect(await verify("--key", shown.fingerprint)).toMatchObject({
      ...{ code: 2, stderr: expect.stringContaining("--key must be public keys") },
    });
  });
});
