import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { emptiedLogs } from "../../src/audit/chain/emptied-logs.js";
import { restartChain } from "../../src/audit/chain/restart-chain.js";
import type { SealParts } from "../../src/audit/chain/seal-log.js";
import { type TenantId, VAULT_TENANT_ID } from "../../src/base/ids.js";
import { type Ledger, MINUTE, openLedger } from "./support/ledger.js";

const HOUR = 60 * MINUTE;

let ledger: Ledger;
beforeAll(async () => {
  ledger = await openLedger();
  // Far enough behind the database's clock for the whole test, and never past midnight: all logs are looked at then.
  ledger.clock.time = Math.floor(ledger.clock.time / (24 * HOUR) - 2) * 24 * HOUR + HOUR;
});
afterAll(() => ledger?.[Symbol.asyncDispose]());

const later = (minutes: number) => {
  ledger.clock.time += minutes * MINUTE;
};
/**
 * Runs the job and returns what it found for this tenant and the vault. Other tests leave their tenants tampered with.
 */
const seal = async (tenantId: TenantId, server?: SealParts): Promise<string[]> => {
  const { failed, broken } = await ledger.runJob(server ? { server } : {});
  expect(failed).toEqual([]);
  return broken.filter((found) => found.includes(tenantId) || found === "the vault");
};
const numbersOf = async (tenantId: TenantId) =>
  (await ledger.rows<{ number: number }>(tenantId, "select number from audit_seals order by number")).map(
    ({ number }) => number,
  );
const deleteAll = async (tenantId: TenantId, ...tables: string[]) => {
  for (const table of tables) await ledger.tamper(tenantId, `delete from ${table} where tenant_id = '${tenantId}'`);
};
const kindsOf = ({ findings }: { readonly findings: readonly { readonly kind: string }[] }) =>
  findings.map(({ kind }) => kind);

/** A tenant with three sealed minutes. */
async function sealedTenant(): Promise<TenantId> {
  ledger.clock.time = Math.ceil(ledger.clock.time / MINUTE) * MINUTE;
  const tenantId = await ledger.newTenant();
  for (let minute = 0; minute < 2; minute += 1) {
    later(1);
    await ledger.log(tenantId, 3);
  }
  later(2);
  expect(await seal(tenantId)).toEqual([]);
  expect(await ledger.verifyAttested(tenantId)).toMatchObject({ seals: 3, findings: [] });
  return tenantId;
}

describe("an attacker who owns the database but has no key is detected without an earlier response when they", () => {
  it.each([
    ["delete all seals and the head", ["audit_seals", "audit_heads"], ["chain_missing"]],
    ["delete the whole log", ["audit_logs", "audit_seals", "audit_heads"], ["chain_missing"]],
    ["delete all seals", ["audit_seals"], ["seal_missing", "seal_missing"]],
    ["delete the head", ["audit_heads"], ["end_changed"]],
  ])("%s", async (_, tables, kinds) => {
    const tenantId = await sealedTenant();
    await deleteAll(tenantId, ...tables);
    const verdict = await ledger.verifyAttested(tenantId);
    expect(kindsOf(verdict).filter((kind) => kind !== "seal_missing" || kinds.includes(kind))).toEqual(kinds);
    expect(verdict.findingCount).toBeGreaterThan(0);
  });

  it("delete one row with all seals and heads: nothing is signed in their place", async () => {
    const tenantId = await sealedTenant();
    await ledger.tamper(tenantId, "delete from audit_logs where entity_id = 'token-1'");
    await deleteAll(tenantId, "audit_seals", "audit_heads");
    for (const server of [undefined, ledger.another()]) {
      await ledger.log(tenantId, 1);
      later(2);
      expect(await seal(tenantId, server)).toEqual([`refused ${tenantId}`]);
    }
    expect(await numbersOf(tenantId)).toEqual([]);
    expect(await ledger.rows(tenantId, "select 1 from audit_heads")).toEqual([]);
    expect(kindsOf(await ledger.verifyAttested(tenantId))).toContain("chain_missing");
  });

  it("delete the head alone: the chain does not continue without it", async () => {
    const tenantId = await sealedTenant();
    await deleteAll(tenantId, "audit_heads");
    await ledger.log(tenantId, 1);
    later(2);
    expect(await seal(tenantId)).toEqual([`refused ${tenantId}`]);
    expect(await numbersOf(tenantId)).toEqual([1, 2, 3]);
  });

  it.each([
    ["this server", () => undefined],
    ["a server that was just started", () => ledger.another()],
  ])("restore the head that the tenant was created with: %s does not start over", async (_, serverOf) => {
    ledger.clock.time = Math.ceil(ledger.clock.time / MINUTE) * MINUTE;
    const tenantId = await ledger.newTenant();
    const first = await ledger.copy(tenantId, "audit_heads");
    later(1);
    await ledger.log(tenantId, 3);
    later(2);
    await ledger.runJob();
    await ledger.tamper(tenantId, "delete from audit_logs where entity_id = 'token-1'");
    await deleteAll(tenantId, "audit_seals");
    await ledger.putBack(tenantId, "audit_heads", first);
    expect(kindsOf(await ledger.verifyAttested(tenantId))).toEqual(["seal_missing"]);
    await ledger.log(tenantId, 1);
    later(2);
    expect(await seal(tenantId, serverOf())).toEqual([tenantId]);
    // The gap remains, however much is sealed after it.
    expect(await numbersOf(tenantId)).not.toContain(1);
    expect(kindsOf(await ledger.verifyAttested(tenantId))).toContain("seal_missing");
  });

  it.each([
    ["this server", () => undefined],
    ["a server that was just started", () => ledger.another()],
  ])("restore a tenant's whole log to an earlier state, and %s detects it", async (_, serverOf) => {
    const tenantId = await sealedTenant();
    const tables = ["audit_logs", "audit_seals", "audit_heads"];
    const copies = await Promise.all(tables.map((table) => ledger.copy(tenantId, table)));
    // The chain is attested again more than an hour later.
    later(90);
    await ledger.log(tenantId, 2);
    later(2);
    expect(await seal(tenantId)).toEqual([]);
    for (const [index, table] of tables.entries()) await ledger.putBack(tenantId, table, copies[index] ?? "[]");
    expect(await ledger.verify(tenantId)).toMatchObject({ findings: [] });
    expect(kindsOf(await ledger.verifyAttested(tenantId))).toEqual(["seal_missing"]);
    await ledger.log(tenantId, 1);
    later(2);
    expect(await seal(tenantId, serverOf())).toEqual([tenantId]);
    expect(kindsOf(await ledger.verify(tenantId))).toEqual(["seal_missing"]);
  });

  it("say that old rows were removed by retention, and have the next seal confirm it", async () => {
    const tenantId = await sealedTenant();
    await ledger.tamper(tenantId, "update audit_heads set kept_from = now()");
    await ledger.tamper(tenantId, "delete from audit_logs where entity_id = 'token-1'");
    await ledger.log(tenantId, 1);
    later(2);
    expect(await seal(tenantId)).toEqual([tenantId]);
    expect(kindsOf(await ledger.verify(tenantId))).toEqual(["rows_missing", "rows_missing", "seal_missing"]);
  });

  it("keep rows from being sealed: they are late once a server has been running for five minutes", async () => {
    const tenantId = await sealedTenant();
    await ledger.log(tenantId, 2);
    await ledger.tamper(tenantId, "delete from due where kind = 'log_seal'");
    later(30);
    await ledger.runJob();
    expect(await ledger.verifyAttested(tenantId)).toMatchObject({ unsealedRows: 2, findings: [] });
    const sealedBy = new Date(ledger.clock.time - 5 * MINUTE);
    expect((await ledger.verifyAttested(tenantId, { sealedBy })).findings).toMatchObject([
      { kind: "rows_unsealed", detail: "2 rows in a minute that no server has sealed, although one is running" },
    ]);
    expect((await ledger.verifyAttested(tenantId, { sealedBy: new Date(sealedBy.getTime() - HOUR) })).findings).toEqual(
      [],
    );
  });

  it("remove the beginning of the chain and renumber the rest", async () => {
    const tenantId = await sealedTenant();
    await ledger.tamper(tenantId, "delete from audit_seals where number = 1");
    await ledger.tamper(tenantId, "update audit_seals set number = number - 1");
    expect(kindsOf(await ledger.verify(tenantId))).toContain("seal_changed");
  });

  it("hide rows from the seals by marking them as set aside", async () => {
    const tenantId = await sealedTenant();
    await ledger.log(tenantId, 2);
    await ledger.tamper(
      tenantId,
      "update audit_logs set set_aside = 99 where created_at = (select max(created_at) from audit_logs)",
    );
    later(2);
    await ledger.runJob();
    expect((await ledger.verify(tenantId)).findings).toMatchObject([
      { kind: "rows_added", detail: "2 rows set aside by a seal that is not there" },
    ]);
  });
});

describe("a vault whose log was emptied", () => {
  const TABLES = ["audit_logs", "audit_seals", "audit_heads"] as const;

  it("is not intact: neither its tenants nor the vault itself", async () => {
    const tenantId = await sealedTenant();
    const own = await Promise.all(TABLES.map((table) => ledger.copy(VAULT_TENANT_ID, table)));
    for (const each of [tenantId, VAULT_TENANT_ID]) await deleteAll(each, ...TABLES);
    expect(kindsOf(await ledger.verifyAttested(tenantId))).toEqual(["chain_missing"]);
    expect(kindsOf(await ledger.verifyVault())).toEqual(["vault_changed"]);
    expect(await emptiedLogs(ledger.stored.address)).toEqual([
      expect.stringContaining("vault's own log was emptied"),
      expect.stringMatching(/^The logs of [0-9]+ tenants were emptied/),
    ]);
    for (const [index, table] of TABLES.entries()) await ledger.putBack(VAULT_TENANT_ID, table, own[index] ?? "[]");
  });

  it("is not intact either with the heads of the beginning put back", async () => {
    const tenantId = await ledger.newTenant();
    const heads = await ledger.copy(tenantId, "audit_heads");
    later(2);
    await seal(tenantId);
    await deleteAll(tenantId, ...TABLES);
    await ledger.putBack(tenantId, "audit_heads", heads);
    expect(kindsOf(await ledger.verify(tenantId))).toEqual(["chain_missing"]);
  });
});

describe("the vault's own chain", () => {
  it("attests each tenant once an hour while rows are written to it", async () => {
    const tenantId = await sealedTenant();
    const entries = async () =>
      (await ledger.rows(VAULT_TENANT_ID, `select number from audit_seals where subject = '${tenantId}'`)).length;
    expect(await entries()).toBe(1);
    for (const [minutes, expected] of [
      [30, 1],
      [31, 2],
      [10, 2],
    ] as const) {
      later(minutes);
      await ledger.log(tenantId, 1);
      later(2);
      await ledger.runJob();
      expect(await entries()).toBe(expected);
    }
    expect((await ledger.verifyVault()).findings).toEqual([]);
  });

  it.each([
    ["an entry is taken out", "delete from audit_seals where number = (select max(number) - 1 from audit_seals)"],
    ["an entry names another seal", "update audit_seals set row_count = row_count - 1 where number = 2"],
    ["an entry names another tenant", `update audit_seals set subject = '${VAULT_TENANT_ID}' where number = 2`],
    ["the end is taken off", "delete from audit_seals where number = (select max(number) from audit_seals)"],
    ["its head is gone", "delete from audit_heads"],
  ])("is reported as changed if %s", async (_, statement) => {
    for (let tenant = 0; tenant < 3; tenant += 1) await sealedTenant();
    const [seals, heads] = [
      await ledger.copy(VAULT_TENANT_ID, "audit_seals"),
      await ledger.copy(VAULT_TENANT_ID, "audit_heads"),
    ];
    await ledger.tamper(VAULT_TENANT_ID, statement);
    expect(kindsOf(await ledger.verifyVault())).toContain("vault_changed");
    await ledger.putBack(VAULT_TENANT_ID, "audit_seals", seals);
    await ledger.putBack(VAULT_TENANT_ID, "audit_heads", heads);
    expect((await ledger.verifyVault()).findings).toEqual([]);
  });

  it("is known to be truncated by the heads of tenants that were attested since", async () => {
    const tenantId = await sealedTenant();
    const [seals, heads] = [
      await ledger.copy(VAULT_TENANT_ID, "audit_seals"),
      await ledger.copy(VAULT_TENANT_ID, "audit_heads"),
    ];
    await deleteAll(VAULT_TENANT_ID, "audit_seals", "audit_heads");
    later(61);
    await ledger.log(tenantId, 1);
    later(2);
    expect(await seal(tenantId)).toEqual(["the vault"]);
    // It continues, and the gap remains.
    expect((await ledger.verifyVault()).findings).toMatchObject([{ kind: "vault_changed" }]);
    await ledger.putBack(VAULT_TENANT_ID, "audit_seals", seals);
    await ledger.putBack(VAULT_TENANT_ID, "audit_heads", heads);
  });
});

describe("a chain that an operator restarts", () => {
  it("is sealed again; the finding is acknowledged and stays on record", async () => {
    const tenantId = await sealedTenant();
    await ledger.tamper(tenantId, "delete from audit_logs where entity_id = 'token-1'");
    await deleteAll(tenantId, "audit_seals", "audit_heads");
    await ledger.log(tenantId, 1);
    later(2);
    expect(await seal(tenantId)).toEqual([`refused ${tenantId}`]);
    const known = await ledger.verifyAttested(tenantId);
    await restartChain(ledger, tenantId, known);
    await ledger.log(tenantId, 1);
    later(2);
    expect(await seal(tenantId)).toEqual([]);
    const verdict = await ledger.verifyAttested(tenantId);
    expect(verdict.findings).toEqual([]);
    expect(verdict.unsealedRows).toBe(0);
    // From here on the chain is valid.
    await ledger.tamper(tenantId, "delete from audit_logs where entity_id = 'token-2'");
    expect(kindsOf(await ledger.verifyAttested(tenantId))).toContain("rows_missing");
  });

  it("does not acknowledge later tampering with the time before it", async () => {
    const tenantId = await sealedTenant();
    await ledger.tamper(tenantId, "delete from audit_logs where entity_id = 'token-1'");
    const known = await ledger.verifyAttested(tenantId);
    expect(kindsOf(known)).toEqual(["rows_missing", "rows_missing"]);
    await restartChain(ledger, tenantId, known);
    later(1);
    await ledger.log(tenantId, 1);
    later(2);
    await ledger.runJob();
    const verdict = await ledger.verifyAttested(tenantId);
    expect(verdict).toMatchObject({ findings: [], acknowledged: known.findings });
    await ledger.tamper(tenantId, "delete from audit_logs where entity_type = 'member'");
    expect(await ledger.verifyAttested(tenantId)).toMatchObject({
      findings: [{ kind: "rows_missing" }],
      acknowledged: known.findings,
    });
    await ledger.tamper(tenantId, "delete from audit_seals where number = 2");
    const kinds = kindsOf(await ledger.verifyAttested(tenantId));
    expect(kinds).toContain("seal_missing");
    expect(kinds).toContain("rows_unsealed");
  });

  it("reports seals that were removed before the place of the restart as missing", async () => {
    const tenantId = await sealedTenant();
    await ledger.tamper(tenantId, "update audit_heads set number = 7");
    await restartChain(ledger, tenantId, await ledger.verifyAttested(tenantId));
    later(1);
    await ledger.log(tenantId, 1);
    later(2);
    await ledger.runJob();
    expect((await ledger.verifyAttested(tenantId)).findings).toEqual([]);
    await ledger.tamper(
      tenantId,
      "delete from audit_logs where created_at >= (select window_start from audit_seals where number = 3) and created_at < (select window_start + interval '1 minute' from audit_seals where number = 3)",
    );
    await ledger.tamper(tenantId, "delete from audit_seals where number = 3");
    expect(kindsOf(await ledger.verify(tenantId))).toContain("seal_changed");
  });
});
