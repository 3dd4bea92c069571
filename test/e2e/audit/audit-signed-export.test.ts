import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { sealLog } from "../../../src/audit/chain/seal-log.js";
import { logEntry } from "../../../src/audit/log-entry.js";
import { isTenantId, type TenantId } from "../../../src/base/ids.js";
import { readConfig } from "../../../src/settings/config.js";
import { writeLog } from "../../../src/store/audit/audit-logs.js";
import { openVault } from "../../../src/vault/vault.js";
import { cloakroom } from "../../support/command.js";
import { newTenant, type TestTenant } from "../../support/tenant.js";

const MINUTE = 60_000;

describe("an auditor", () => {
  const directory = mkdtempSync(join(tmpdir(), "cloakroom-auditor-"));
  const environment = inject("serverEnvironment");
  // Behind the server's clock: past rows can be written and sealed.
  const start = Math.floor(Date.now() / MINUTE) * MINUTE - 30 * MINUTE;
  const file = join(directory, "log.jsonl");
  const at = (minute: number) => new Date(start + minute * MINUTE).toISOString();
  let tenant: TestTenant;
  let tenantId: TenantId;
  let key = "";

  beforeAll(async () => {
    tenant = await newTenant();
    if (!isTenantId(tenant.id)) throw new Error("this is no tenant");
    tenantId = tenant.id;
    const clock = { time: start, now: () => clock.time };
    await using vault = await openVault({ config: readConfig(environment), as: "command", announce: () => {}, clock });
    for (let minute = 0; minute < 3; minute += 1) {
      clock.time = start + minute * MINUTE;
      await vault.database.of(tenantId).shared(async (tx) => {
        for (const token of ["one", "two"]) writeLog(tx, logEntry("token", `${token}-${minute}`, "read"));
      });
    }
    const task = { minute: new Date(clock.time), dueAt: new Date(clock.time + 2 * MINUTE) };
    expect(await sealLog(vault, tenantId, task)).toBe("sealed");
  });
  afterAll(() => rmSync(directory, { recursive: true, force: true }));

  /** Runs without the vault's settings: a machine that knows nothing of it. */
  const verify = (...args: string[]) => cloakroom({}, "audit", "verify", ...args, "--json");

  it("gets the tenant's fingerprint from the operator", async () => {
    const { code, stdout } = await cloakroom(environment, "audit", "key", "--tenant", tenantId, "--json");
    expect(code).toBe(0);
    const [shown] = JSON.parse(stdout);
    expect(shown).toEqual({
      ...{ tenant_id: tenantId, algorithm: "Ed25519", fingerprint: expect.stringMatching(/^[0-9a-f]{64}$/) },
      public_key: expect.any(String),
    });
    key = shown.fingerprint;
  });

  it("verifies an export that the operator made", async () => {
    const range = ["--since", at(0), "--until", at(3)];
    const made = await cloakroom(
      ...([environment, "audit", "export", "--tenant", tenantId, ...range, "--file", file, "--json"] as const),
    );
    expect({ code: made.code, ...JSON.parse(made.stdout) }).toEqual({
      ...{ code: 0, file, tenant_id: tenantId, since: at(0), until: at(3), rows: 6 },
    });
    const { code, stdout } = await verify(file, "--key", key);
    expect({ code, ...JSON.parse(stdout) }).toMatchObject({
      ...{ code: 0, result: "good", tenant_id: tenantId, rows: 6, key, sealed_until: at(3), finding_count: 0 },
    });
  });

  it("sees that the export itself is in the log", async () => {
    const { body } = await tenant.manage("GET", "/logs?entity_type=log");
    const exported = { operation: "list", message: "Log listed: exported by an operator", client: "operator" };
    expect(body.data).toEqual([expect.objectContaining(exported)]);
  });

  it("learns what was tampered with, and what cannot be verified", async () => {
    expect((await verify(file)).code).toBe(2);
    const forged = join(directory, "forged.jsonl");
    writeFileSync(forged, readFileSync(file, "utf8").replace("one-1", "two-1"));
    const { code, stdout } = await verify(forged, "--key", key);
    expect({ code, result: JSON.parse(stdout).result }).toEqual({ code: 1, result: "tampered" });
    expect((await verify(file, "--key", "f".repeat(64))).code).toBe(1);
    expect((await verify(file, "--key", "short")).code).toBe(2);
    expect((await verify(join(directory, "nothing"))).code).toBe(2);
  });

  it("needs a tenant and a range that fit", async () => {
    const exporting = (...args: string[]) => cloakroom(environment, "audit", "export", ...args);
    expect(await exporting("--since", at(0))).toMatchObject({ code: 2, stderr: expect.stringContaining("--tenant") });
    expect(await exporting("--tenant", tenantId, "--since", "yesterday")).toMatchObject({
      ...{ code: 2, stderr: expect.stringContaining("--since must be an ISO 8601 time") },
    });
    expect(await exporting("--tenant", tenantId, "--since", at(2), "--until", at(1))).toMatchObject({ code: 2 });
    expect(await exporting("--tenant", tenantId, "--since", at(0), "--file", file)).toMatchObject({
      ...{ code: 2, stderr: `--file ${file} already exists.\n` },
    });
  });
});
