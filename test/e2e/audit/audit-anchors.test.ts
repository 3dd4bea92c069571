import { rmSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { sealLog } from "../../../src/audit/chain/seal-log.js";
import { logEntry } from "../../../src/audit/log-entry.js";
import { isTenantId, type TenantId } from "../../../src/base/ids.js";
import { readConfig } from "../../../src/settings/config.js";
import { writeLog } from "../../../src/store/audit/audit-logs.js";
import { connect } from "../../../src/store/postgres/connect.js";
import { openVault, type Vault } from "../../../src/vault/vault.js";
import { cloakroom } from "../../support/command.js";
import { copyMigratedData } from "../../support/migrated-data.js";
import { newDirectory } from "../../support/new-directory.js";
import { serveHere } from "../../support/server-here.js";
import { newTenant, type TestTenant } from "../../support/tenant.js";

const MINUTE = 60_000;

interface Shown {
  readonly tenant_id: string;
  readonly intact: boolean;
  readonly findings: readonly { readonly kind: string; readonly detail: string }[];
  readonly acknowledged?: readonly { readonly kind: string }[];
}

/** Each attack is made by the database's owner, who has no key, and detected without an earlier response. */
describe("audit verify finds, without an earlier response,", () => {
  const directory = newDirectory();
  const environment = { CLOAKROOM_DATA_DIR: copyMigratedData(join(directory, "data")) };
  const start = Math.floor(Date.now() / MINUTE) * MINUTE - 360 * MINUTE;
  const clock = { time: start, now: () => clock.time };
  /** Keeps PostgreSQL running between commands, which otherwise start and stop it: 0.2 s of processor time each. */
  let open: Vault | undefined;
  const tenants: TestTenant[] = [];
  const tenant = (index: number): TenantId => {
    const id = tenants[index]?.id;
    if (!id || !isTenantId(id)) throw new Error("there is no such tenant");
    return id;
  };
  const openedVault = (): Promise<Vault> =>
    openVault({ config: readConfig(environment), as: "command", announce: () => {}, clock });
  /** Writes a row into each log at the current time and seals it. */
  const seal = async (...ids: readonly TenantId[]) => {
    await using vault = await openedVault();
    const outcomes: string[] = [];
    for (const tenantId of ids) {
      await vault.database.of(tenantId).shared(async (tx) => {
        writeLog(tx, logEntry("token", "one", "read"));
      });
      const minute = new Date(clock.time);
      outcomes.push(await sealLog(vault, tenantId, { minute, dueAt: new Date(clock.time + 2 * MINUTE) }));
    }
    clock.time += 3 * MINUTE;
    return outcomes;
  };
  const asOwner = async (...statements: readonly string[]) => {
    await using vault = await openedVault();
    const sql = connect(vault.ownerAddress, { connections: 1, statementTimeout: 10_000 });
    const tables = ["tenants", "tenant_keys", "audit_logs", "audit_seals", "audit_heads"];
    const force = (how: string) => tables.map((table) => `alter table ${table} ${how} force row level security`);
    // The embedded database's login owns the tables and can switch row-level security off.
    const disable = tables.map((table) => `alter table ${table} disable row level security`);
    const enable = tables.map((table) => `alter table ${table} enable row level security`);
    await sql.unsafe(
      ["begin", ...force("no"), ...disable, ...statements, ...enable, ...force(""), "commit"].join(";\n"),
    );
    await sql.end({ timeout: 5 });
  };
  const verify = async (...args: string[]) => {
    const { code, stdout, stderr } = await cloakroom(environment, "audit", "verify", "--json", ...args);
    expect(stderr).toBe("");
    const result: Shown[] = JSON.parse(stdout);
    const of = (id: string) => result.find(({ tenant_id }) => tenant_id === id);
    return { code, result, of, kinds: (id: string) => of(id)?.findings.map(({ kind }) => kind) };
  };
  beforeAll(async () => {
    const server = await serveHere(environment);
    for (let index = 0; index < 7; index += 1) tenants.push(await newTenant(server.url, environment));
    expect(new Set(await seal(...tenants.map((_, index) => tenant(index))))).toEqual(new Set(["sealed"]));
    // Deleted through the API.
    expect((await tenants[6]?.manage("DELETE", "/tenants/self"))?.status).toBe(204);
    await server.stop();
    expect(await verify()).toMatchObject({ code: 0 });
    open = await openedVault();
  });
  afterAll(async () => {
    await open?.[Symbol.asyncDispose]();
    rmSync(directory, { recursive: true, force: true });
  });

  it("nothing in an untouched vault, even after the owner of a tenant deleted it", async () => {
    const { code, of } = await verify();
    expect(code).toBe(0);
    expect(of(tenant(6))).toBeUndefined();
  });

  it("a row that was deleted with all seals and the head; the server signs nothing in their place", async () => {
    const of = `where tenant_id = '${tenant(0)}'`;
    await asOwner(
      `delete from audit_logs ${of} and entity_id = 'one'`,
      `delete from audit_seals ${of}`,
      `delete from audit_heads ${of}`,
    );
    expect(await seal(tenant(0), tenant(1))).toEqual(["refused", "sealed"]);
    const { code, kinds } = await verify();
    expect(code).toBe(1);
    expect([kinds(tenant(0)), kinds(tenant(1))]).toEqual([["chain_missing"], []]);
  });

  it("a log that is missing completely", async () => {
    const of = `where tenant_id = '${tenant(2)}'`;
    await asOwner(...["audit_logs", "audit_seals", "audit_heads"].map((table) => `delete from ${table} ${of}`));
    expect((await verify()).kinds(tenant(2))).toEqual(["chain_missing"]);
  });

  it("a tenant that an attacker marked as deleted, and one whose row is missing", async () => {
    await asOwner(
      `update tenants set state = 'deleted', modified_at = now(), modified_by = tenant_id,
        closing_mac = (select closing_mac from tenants where tenant_id = '${tenant(6)}')
       where tenant_id = '${tenant(3)}'`,
      `delete from tenants where tenant_id = '${tenant(4)}'`,
    );
    const { code, kinds, of } = await verify();
    expect(code).toBe(1);
    expect([kinds(tenant(3)), kinds(tenant(4))]).toEqual([["tenant_gone"], ["tenant_gone"]]);
    expect(of(tenant(3))?.findings[0]?.detail).toContain("this vault did not delete it");
    expect(of(tenant(4))?.findings[0]?.detail).toContain("there is no record of it");
    expect(of(tenant(6))).toBeUndefined();
  });

  it("rows that no server has sealed, although one has been running for more than five minutes", async () => {
    await using vault = await openedVault();
    await vault.database.of(tenant(5)).shared(async (tx) => {
      writeLog(tx, logEntry("token", "two", "read"));
    });
    expect((await verify("--tenant", tenant(5))).code).toBe(0);
    const since = (Date.now() - 6 * MINUTE).toString(16).padStart(12, "0");
    const holder = `${since.slice(0, 8)}-${since.slice(8)}-7000-8000-000000000000`;
    await asOwner(
      `insert into leases values ('log-seals-2', '${holder}', now() + interval '1 minute')
        on conflict (name) do update set holder = excluded.holder, until = excluded.until`,
    );
    const { code, kinds } = await verify("--tenant", tenant(5));
    expect({ code, kinds: kinds(tenant(5)) }).toEqual({ code: 1, kinds: ["rows_unsealed"] });
    await asOwner("delete from leases");
  });

  it("only newer changes, once an operator has reviewed a chain and restarted it", async () => {
    const restart = (...args: string[]) => cloakroom(environment, "audit", "restart", "--json", ...args);
    for (const index of [0, 2, 3, 4]) expect((await restart("--tenant", tenant(index))).code).toBe(0);
    expect(await seal(tenant(0), tenant(2))).toEqual(["sealed", "sealed"]);
    const { code, result } = await verify();
    expect(result.flatMap(({ findings }) => findings)).toEqual([]);
    expect(code).toBe(0);
    await asOwner(`delete from audit_logs where tenant_id = '${tenant(0)}' and entity_id = 'one'`);
    expect(new Set((await verify()).kinds(tenant(0)))).toEqual(new Set(["rows_missing"]));
  });

  it("a truncated chain of the vault's own log, and lets an operator restart it", async () => {
    const before = await verify();
    await asOwner("delete from audit_seals where kind = 'attestation'");
    const { code, result } = await verify();
    expect(code).toBe(1);
    const own = result.find((shown) => "of" in shown);
    expect(own?.findings.map(({ kind }) => kind)).toContain("vault_changed");
    expect((await cloakroom(environment, "audit", "restart", "--vault")).code).toBe(0);
    // Each tenant is attested again when it is written to.
    clock.time += 120 * MINUTE;
    await seal(tenant(0), tenant(1), tenant(2), tenant(5));
    const after = await verify();
    expect(after.result.find((shown) => "of" in shown)).toBeUndefined();
    expect(after.kinds(tenant(1))).toEqual(before.kinds(tenant(1)));
  });

  it.each([
    [[], "Choose one of --tenant ID and --vault"],
    [["--tenant", "unknown"], "--tenant must be the id of a tenant"],
    [["--tenant", "x", "--vault"], "Choose one of --tenant ID and --vault"],
  ])("what is wrong with a call of restart: %j", async (args, message) => {
    const { code, stderr } = await cloakroom(environment, "audit", "restart", ...args);
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining(message) });
  });
});
