import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { sealLog } from "../../../src/audit/chain/seal-log.js";
import { logEntry } from "../../../src/audit/log-entry.js";
import { isTenantId, type TenantId } from "../../../src/base/ids.js";
import { readConfig } from "../../../src/settings/config.js";
import { writeLog } from "../../../src/store/audit/audit-logs.js";
import { connect } from "../../../src/store/postgres/connect.js";
import { openVault, type Vault } from "../../../src/vault/vault.js";
import { cloakroom } from "../../support/command.js";
import { asTenant } from "../../support/databases.js";
import { canMount, SmallDisk } from "../../support/small-disk.js";
import { newTenant, type TestTenant } from "../../support/tenant.js";

const MINUTE = 60_000;

describe("the audit commands", () => {
  const directory = mkdtempSync(join(tmpdir(), "cloakroom-audit-"));
  const environment = inject("serverEnvironment");
  // Behind the server's clock, so past rows can be written and sealed.
  const start = Math.floor(Date.now() / MINUTE) * MINUTE - 30 * MINUTE;
  const clock = { time: start, now: () => clock.time };
  let vault: Vault;
  let tenant: TestTenant;
  let tenantId: TenantId;
  beforeAll(async () => {
    tenant = await newTenant();
    if (!isTenantId(tenant.id)) throw new Error("this is no tenant");
    tenantId = tenant.id;
    vault = await openVault({ config: readConfig(environment), as: "command", announce: () => {}, clock });
    for (let minute = 0; minute < 3; minute += 1) {
      clock.time = start + minute * MINUTE;
      await vault.database.of(tenantId).shared(async (tx) => {
        for (const id of ["one", "two"]) writeLog(tx, logEntry("token", `${id}-${minute}`, "read"));
      });
    }
    const minute = new Date(clock.time);
    expect(await sealLog(vault, tenantId, { minute, dueAt: new Date(clock.time + 2 * MINUTE) })).toBe("sealed");
  });
  afterAll(async () => {
    await vault?.[Symbol.asyncDispose]();
    rmSync(directory, { recursive: true, force: true });
  });
  const run = (...args: string[]) => cloakroom(environment, "audit", ...args);
  const tamper = async (statement: string) => {
    const sql = connect(vault.ownerAddress, { connections: 1, statementTimeout: 10_000 });
    await asTenant(sql, tenantId, statement);
    await sql.end({ timeout: 5 });
  };
  /** A statement that writes the head of the log again. A cluster takes no rows from a select here. */
  const writeHead = async () => {
    const sql = connect(vault.ownerAddress, { connections: 1, statementTimeout: 10_000 });
    const [row] = await asTenant<{ statement: string }>(
      sql,
      tenantId,
      `select format('insert into audit_heads (%s) values (%s)', string_agg(quote_ident(key), ', '), string_agg(quote_nullable(value), ', ')) as statement
       from audit_heads h, jsonb_each_text(to_jsonb(h))`,
    );
    await sql.end({ timeout: 5 });
    return row?.statement ?? "";
  };
  const seen = join(directory, "seen.json");
  const at = (minute: number) => new Date(start + minute * MINUTE).toISOString();

  it("verify reports an untouched log as intact, and prints its last seal", async () => {
    const { code, stdout } = await run("verify", "--tenant", tenant.id, "--json");
    expect(code).toBe(0);
    const last_seal = { number: 3, minute: at(2), mac: expect.stringMatching(/^[0-9a-f]{64}$/) };
    expect(JSON.parse(stdout)).toEqual([
      {
        tenant_id: tenant.id,
        intact: true,
        rows: 10,
        seals: 3,
        unsealed_rows: 4,
        last_seal,
        finding_count: 0,
        findings: [],
      },
    ]);
    writeFileSync(seen, stdout);
    expect((await run("verify", "--tenant", tenant.id, "--since", seen)).code).toBe(0);
  });

  it("export writes rows and seals in order, to a new file or to standard output", async () => {
    const file = join(directory, "log.ndjson");
    const { code, stdout } = await run("export", "--tenant", tenant.id, "--file", file, "--json");
    expect({ code, ...JSON.parse(stdout) }).toMatchObject({ code: 0, file, tenant_id: tenant.id });
    const lines = readFileSync(file, "utf8")
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line));
    const kinds = lines.map(({ kind }) => kind);
    expect(kinds.slice(0, 10)).toEqual([
      "manifest",
      ...["row", "row", "seal"],
      ...["row", "row", "seal"],
      ...["row", "row", "seal"],
    ]);
    expect(kinds.at(-1)).toBe("end");
    expect(lines[1]).toMatchObject({ tenant_id: tenant.id, entity_id: "one-0", operation: "read" });
    expect(lines[3].body).toContain(` number 1 kind minute window ${at(0)} rows 2 `);
    const printed = (await run("export", "--tenant", tenant.id)).stdout.split("\n");
    expect(printed.slice(1, 10)).toEqual(readFileSync(file, "utf8").split("\n").slice(1, 10));
    const again = await run("export", "--tenant", tenant.id, "--file", file);
    expect(again).toMatchObject({ code: 2, stderr: expect.stringContaining("already exists") });
  });

  it.runIf(canMount)("export reports a full disk, and leaves no partial file", async () => {
    using disk = new SmallDisk(1);
    disk.fill();
    const file = join(disk.directory, "log.ndjson");
    const { code, stdout, stderr } = await run("export", "--tenant", tenant.id, "--file", file);
    expect({ code, stdout, stderr }).toEqual({
      ...{ code: 2, stdout: "" },
      stderr: `--file ${file} cannot be written: its disk is full.\n`,
    });
    expect(readdirSync(disk.directory)).toEqual(["filler"]);
  });

  it("verify names the minute of a changed row, and fails", async () => {
    await tamper("update audit_logs set entity_id = 'another' where entity_id = 'two-1'");
    const { code, stdout } = await run("verify", "--tenant", tenant.id);
    expect(code).toBe(1);
    expect(stdout).toContain("intact: false");
    expect(stdout).toContain(
      `${at(1).slice(0, 16)} rows_changed: the 2 rows of this minute are not those that were sealed`,
    );
    await tamper("update audit_logs set entity_id = 'two-1' where entity_id = 'another'");
  });

  it("verify with an earlier response detects a truncated log", async () => {
    await tamper(`delete from audit_logs where created_at >= '${at(2)}' and created_at < '${at(3)}'`);
    await tamper(`delete from audit_seals where window_start = '${at(2)}'`);
    const putBack = await writeHead();
    await tamper("delete from audit_heads");
    const { code, stdout } = await run("verify", "--tenant", tenant.id, "--since", seen, "--json");
    // Others of this database ask the doctor, who finds logs without a head.
    await tamper(putBack);
    expect(code).toBe(1);
    expect(JSON.parse(stdout)[0].findings).toMatchObject([
      { kind: "seal_missing", minute: at(2), detail: "seal 3, which was seen before, is not there" },
      { kind: "end_changed", minute: at(1) },
    ]);
  });

  it.each([
    [["verify", "--tenant", "unknown"], "--tenant must be the id of a tenant"],
    [["verify", "--tenant", "01890000-0000-7000-8000-000000000000"], "--tenant must be the id of a tenant"],
    [["verify", "--since", "/nowhere/file"], "--since /nowhere/file cannot be read"],
    [["verify", "--since", "package.json"], "--since package.json is not what audit verify --json prints"],
    [["export", "--file", "/nowhere/file"], "--tenant"],
  ])("report what is wrong with a call: %j", async (args, message) => {
    const { code, stderr } = await run(...args);
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining(message) });
  });
});
