import { cpSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { newUuid } from "../../src/base/ids.js";
import { dropLogPartition, listLogPartitions, monthStart } from "../../src/store/audit/log-partitions.js";
import { ensureLogPartitions, strayMonths } from "../../src/store/audit/stray-log-rows.js";
import { migrate } from "../../src/store/migrate.js";
import { connect, type Sql, type TransactionSql } from "../../src/store/postgres/connect.js";
import { cloakroom } from "../support/command.js";
import { newDirectory } from "../support/new-directory.js";
import { restClient } from "../support/rest.js";
import { newTenant } from "../support/tenant.js";

const MIGRATIONS = "src/store/migrations";
const LATER = "9999_later.sql";

describe.runIf(inject("isCluster"))("a vault that is distributed over a cluster", () => {
  const environment = { ...inject("serverEnvironment") };
  const address = { url: environment.DATABASE_URL ?? "" };
  const directory = newDirectory();
  let sql: Sql;
  beforeAll(() => {
    sql = connect(address, { connections: 1, statementTimeout: 60_000 });
  });
  afterAll(async () => {
    await sql`drop table if exists later`;
    await sql.end();
    rmSync(directory, { recursive: true, force: true });
  });

  const doctor = async () => {
    const { code, stdout } = await cloakroom(environment, "doctor", "--json");
    return { code, report: JSON.parse(stdout) };
  };
  const placementOf = (report: { tables: { table: string; placement: string }[] }, name: string) =>
    report.tables.find(({ table }) => table === name)?.placement;

  it("is healthy according to doctor, which shows nodes, sizes, logins and the place of each table", async () => {
    const { code, report } = await doctor();
    expect([code, report.healthy, report.problem]).toEqual([0, true, undefined]);
    const nodes: { kind: string; answers: boolean; shards: number; bytes: number; logins: string[] }[] = report.nodes;
    expect(nodes.filter(({ kind }) => kind === "worker").length).toBeGreaterThan(0);
    for (const node of nodes) {
      expect(node).toMatchObject({ answers: true, logins: ["cloakroom_app", "cloakroom_jobs"] });
      if (node.kind === "worker") expect(Math.min(node.shards, node.bytes)).toBeGreaterThan(0);
    }
    expect(placementOf(report, "tokens")).toBe("distributed");
    expect(placementOf(report, "official_formulas")).toBe("reference");
    expect(placementOf(report, "leases")).toBe("coordinator");
  });

  it("is ready, without a warning", async () => {
    const { status, body } = await restClient(inject("serverUrl"))("GET", "/readyz");
    expect([status, body]).toEqual([
      200,
      { status: "ready", checks: { serving: "ok", database: "ok", keys: "ok", clock: "ok" } },
    ]);
  });

  it("refuses webhooks, and says why", async () => {
    const tenant = await newTenant();
    const hook = { name: "orders", url: "https://shop.example.com/hook", events: ["token.created"] };
    const { status, body } = await tenant.manage("POST", "/webhooks", { body: hook });
    expect([status, body.detail]).toEqual([422, expect.stringContaining("distributed database")]);
    expect((await tenant.manage("GET", "/webhooks")).body.data).toEqual([]);
  });

  it("has nothing left to distribute, and keeps its number of shards", async () => {
    const again = await cloakroom(environment, "cluster", "distribute", "--json");
    expect([again.code, JSON.parse(again.stdout).moved]).toEqual([0, []]);
    expect(await cloakroom(environment, "cluster", "distribute", "--dry-run")).toMatchObject({ code: 0, stdout: "" });
    const other = await cloakroom(environment, "cluster", "distribute", "--shards", "7");
    expect([other.code, other.stderr]).toEqual([1, expect.stringContaining("which --shards cannot change")]);
  });

  it("makes the months of the log on all nodes, and gives rows without one theirs", async () => {
    const now = new Date();
    const far = monthStart(now, 50);
    const last = monthStart(now, 3);
    const named = (await listLogPartitions(sql)).find(({ from }) => from.getTime() === last.getTime());
    if (named) await dropLogPartition(sql, named);
    const tenants = Array.from({ length: 20 }, () => newUuid());
    const asTenant = async (tenantId: string, run: (tx: TransactionSql) => Promise<unknown>) => {
      await sql.begin(async (tx) => {
        await tx.unsafe("set local role cloakroom_app");
        await tx.unsafe(`set local app.tenant_id = '${tenantId}'`);
        await run(tx);
      });
    };
    for (const tenantId of tenants) {
      await asTenant(
        tenantId,
        (tx) => tx`
          insert into audit_logs (tenant_id, created_at, id, entity_type, entity_id, operation, message, outcome)
          values (${tenantId}, ${far}, ${newUuid()}, 'token', '*', 'read', 'Token retrieved', 'allowed')`,
      );
    }
    // Other files of the run read the log, and a month waits for them.
    await expect.poll(() => ensureLogPartitions(sql, now)).toEqual([]);
    expect(await strayMonths(sql)).toEqual([]);
    const months = (await listLogPartitions(sql)).map(({ from }) => from);
    expect(months).toEqual(expect.arrayContaining([monthStart(now), last, far]));
    for (const tenantId of tenants) {
      await asTenant(tenantId, async (tx) => {
        const rows = await tx<{ n: number }[]>`
          select count(*) as n from audit_logs where tenant_id = ${tenantId} and created_at = ${far}`;
        expect(rows).toEqual([{ n: 1 }]);
      });
    }
    const added = months.length;
    const partition = (await listLogPartitions(sql)).find(({ from }) => from.getTime() === far.getTime());
    if (partition) expect(await dropLogPartition(sql, partition)).toBeUndefined();
    expect(await listLogPartitions(sql)).toHaveLength(added - 1);
  });

  it("distributes the tables of a later migration with it", async () => {
    const folder = join(directory, "migrations");
    cpSync(MIGRATIONS, folder, { recursive: true });
    writeFileSync(
      join(folder, LATER),
      `create table later (tenant_id uuid not null, id text not null, primary key (tenant_id, id));
       alter table later enable row level security;
       alter table later force row level security;
       create policy of_tenant on later to cloakroom_app
         using (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);
       grant select, insert, update, delete on later to cloakroom_app;
       -- Tables that are distributed already.
       alter table outbox add column if not exists later int;
       do $$
       begin
         if exists (select from pg_class where relname = 'outbox') then
           alter table outbox alter column later set default 1;
         end if;
       end
       $$;
       alter table outbox drop column later;`,
    );
    const said: string[] = [];
    expect(await migrate(address, { folder, announce: (line) => said.push(line) })).toEqual([LATER]);
    expect(said).toEqual(["Distributed later (1 of 1)"]);
    // A command of this version refuses a schema of a later one.
    await sql`delete from migrations where name = ${LATER}`;
    const { code, report } = await doctor();
    expect([code, placementOf(report, "later")]).toEqual([0, "distributed"]);
  });

  it("has a table on the coordinator reported by doctor, and its rows moved by the statements that --dry-run prints", async () => {
    const tenants = Array.from({ length: 20 }, () => newUuid());
    await sql`alter table later no force row level security`;
    await sql`select undistribute_table('later')`;
    for (const tenantId of tenants) await sql`insert into later (tenant_id, id) values (${tenantId}, 'kept')`;
    await sql`alter table later force row level security`;

    const sick = await doctor();
    expect([sick.code, sick.report.problem]).toEqual([
      1,
      "Tables on the coordinator alone: later. Run: cloakroom cluster distribute",
    ]);
    const refused = await cloakroom(environment, "cluster", "distribute");
    expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining("are connected to this database")]);

    const { stdout } = await cloakroom(environment, "cluster", "distribute", "--dry-run");
    for (const statement of stdout.split(";\n").filter((text) => text !== "")) await sql.unsafe(statement);
    const well = await doctor();
    expect([well.code, well.report.problem, placementOf(well.report, "later")]).toEqual([0, undefined, "distributed"]);
    const kept: string[] = [];
    for (const tenantId of tenants) {
      await sql.begin(async (tx) => {
        await tx.unsafe(`set local app.tenant_id = '${tenantId}'`);
        await tx`set local role cloakroom_app`;
        kept.push(...(await tx<{ id: string }[]>`select tenant_id as id from later`).map(({ id }) => id));
      });
    }
    expect(kept).toEqual(tenants);
  });
});
