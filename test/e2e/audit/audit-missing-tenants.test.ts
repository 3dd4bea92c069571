import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { sealLog } from "../../../src/audit/chain/seal-log.js";
import { logEntry } from "../../../src/audit/log-entry.js";
import { isTenantId, type TenantId } from "../../../src/base/ids.js";
import { readConfig } from "../../../src/settings/config.js";
import { writeLog } from "../../../src/store/audit/audit-logs.js";
import { connect } from "../../../src/store/postgres/connect.js";
import { openVault } from "../../../src/vault/vault.js";
import { cloakroom } from "../../support/command.js";
import { copyMigratedData } from "../../support/migrated-data.js";
import { newDirectory } from "../../support/new-directory.js";
import { type ServerHere, serveHere } from "../../support/server-here.js";
import { newTenant, type TestTenant } from "../../support/tenant.js";

const MINUTE = 60_000;

/**
 * An attacker who can write to the database removes whole tenants, or the records that their logs are checked against.
 */
describe("verifying the logs of tenants that are gone", () => {
  const directory = newDirectory();
  const environment = { CLOAKROOM_DATA_DIR: copyMigratedData(join(directory, "data")) };
  const start = Math.floor(Date.now() / MINUTE) * MINUTE - 30 * MINUTE;
  const clock = { now: () => start };
  const seen = join(directory, "seen.json");
  const tenants: TestTenant[] = [];
  let ids: TenantId[];
  let server: ServerHere;
  beforeAll(async () => {
    server = await serveHere(environment);
    for (let index = 0; index < 5; index += 1) tenants.push(await newTenant(server.url, environment));
    ids = tenants.map(({ id }) => id).filter(isTenantId);
    await using vault = await openVault({
      ...{ config: readConfig(environment), as: "command", announce: () => {}, clock },
    });
    // The last tenant's log has no seal yet.
    for (const tenantId of ids.slice(0, -1)) {
      await vault.database.of(tenantId).shared(async (tx) => {
        writeLog(tx, logEntry("token", "one", "read"));
      });
      const place = { minute: new Date(start), dueAt: new Date(start + 2 * MINUTE) };
      expect(await sealLog(vault, tenantId, place)).toBe("sealed");
    }
    const { code, stdout } = await verify("--json");
    expect(code).toBe(0);
    writeFileSync(seen, stdout);
  });
  afterAll(async () => {
    await server?.stop();
    rmSync(directory, { recursive: true, force: true });
  });
  const verify = (...args: string[]) => cloakroom(environment, "audit", "verify", ...args);
  const idOf = (index: number) => {
    const id = ids[index];
    if (!id) throw new Error("there is no such tenant");
    return id;
  };

  it("reports each tenant that was seen before, and checks the others all the same", async () => {
    const hour = () => new Date().toISOString().slice(0, 13);
    const hours = [hour()];
    expect((await tenants[0]?.manage("DELETE", "/tenants/self"))?.status).toBe(204);
    hours.push(hour());
    await using vault = await openVault({
      ...{ config: readConfig(environment), as: "command", announce: () => {}, clock },
    });
    const sql = connect(vault.ownerAddress, { connections: 1, statementTimeout: 10_000 });
    await sql.unsafe(`
      begin;
      alter table tenants no force row level security; alter table tenant_keys no force row level security;
      update tenants set state = 'deleted' where tenant_id = '${idOf(1)}';
      delete from tenants where tenant_id = '${idOf(4)}';
      delete from tenant_keys where tenant_id = '${idOf(3)}';
      alter table tenants force row level security; alter table tenant_keys force row level security;
      commit`);
    await sql.end({ timeout: 5 });

    const { code, stdout, stderr } = await verify("--since", seen, "--json");
    expect({ code, stderr }).toEqual({ code: 1, stderr: "" });
    const gone = (detail: RegExp) => ({
      intact: false,
      finding_count: 1,
      findings: [{ kind: "tenant_gone", detail: expect.stringMatching(detail) }],
    });
    const result: Record<string, unknown>[] = JSON.parse(stdout);
    const byId = new Map(result.map(({ tenant_id, ...rest }) => [tenant_id, rest]));
    expect([...byId.keys()]).toEqual(expect.arrayContaining([...ids]));
    expect(byId.size).toBe(ids.length);
    expect(byId.get(idOf(0))).toEqual(gone(new RegExp(`it is recorded as deleted, at (?:${hours.join("|")})`)));
    expect(byId.get(idOf(1))).toEqual(gone(/it is recorded as deleted, /));
    expect(byId.get(idOf(2))).toMatchObject({ intact: true, seals: 1, finding_count: 0 });
    expect(byId.get(idOf(3))).toEqual({
      intact: false,
      last_seal: { number: 1, minute: new Date(start).toISOString(), mac: expect.stringMatching(/^[0-9a-f]{64}$/) },
      finding_count: 1,
      findings: [{ kind: "keys_closed", detail: expect.stringContaining("keys") }],
    });
    expect(byId.get(idOf(4))).toEqual(gone(/no record of it/));

    // Reported once: the next response is compared with this one.
    const next = join(directory, "next.json");
    writeFileSync(next, stdout);
    const later = await verify("--since", next, "--json");
    const told = JSON.parse(later.stdout).map(({ tenant_id }: { tenant_id: string }) => tenant_id);
    expect(told).toEqual([idOf(2), idOf(3)]);
  });

  it("reports a missing tenant that is named on the command line", async () => {
    const { code, stdout } = await verify("--since", seen, "--tenant", idOf(4));
    expect(code).toBe(1);
    expect(stdout).toContain("tenant_gone: ");
    expect((await verify("--since", seen, "--tenant", idOf(2))).code).toBe(0);
  });
});
