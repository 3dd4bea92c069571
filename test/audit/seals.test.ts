import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { sealLog } from "../../src/audit/chain/seal-log.js";
import type { TenantId } from "../../src/base/ids.js";
import { type Ledger, MINUTE, openLedger } from "./support/ledger.js";

let ledger: Ledger;
beforeAll(async () => {
  ledger = await openLedger();
});
afterAll(() => ledger?.[Symbol.asyncDispose]());

const later = (minutes: number) => {
  ledger.clock.time += minutes * MINUTE;
};
const sealsOf = (tenantId: TenantId) =>
  ledger.rows<{ number: number; window_start: Date; row_count: number }>(
    tenantId,
    "select number, window_start, row_count from audit_seals order by number",
  );
const dueOf = (tenantId: TenantId, kind: string) =>
  ledger.rows<{ due_at: Date }>(tenantId, `select due_at from due where kind = '${kind}' order by due_at`);

/** The rows that creating a tenant writes. */
const MADE = 4;

/** A tenant whose log has four minutes: the one in which it was created, with 4 rows, then 5, none and 2. */
async function sealedTenant() {
  const start = Math.ceil(ledger.clock.time / MINUTE) * MINUTE;
  ledger.clock.time = start;
  const tenantId = await ledger.newTenant();
  later(1);
  await ledger.log(tenantId, 5);
  later(2);
  await ledger.log(tenantId, 2);
  later(2);
  expect(await ledger.runJob()).toEqual({ failed: [], broken: [] });
  const minute = (index: number) => new Date(start + index * MINUTE);
  return { tenantId, minute, at: (index: number) => `'${minute(index).toISOString()}'` };
}

describe("the log of a tenant", () => {
  it("gets a seal for each minute with rows, and is intact", async () => {
    const { tenantId, minute } = await sealedTenant();
    expect(await sealsOf(tenantId)).toEqual([
      { number: 1, window_start: minute(0), row_count: MADE },
      { number: 2, window_start: minute(1), row_count: 5 },
      { number: 3, window_start: minute(3), row_count: 2 },
    ]);
    expect(await dueOf(tenantId, "log_seal")).toEqual([]);
    expect(await ledger.verify(tenantId)).toEqual({
      ...{ rows: 11, seals: 3, unsealedRows: 0, keptFrom: undefined, findings: [], findingCount: 0 },
      lastSeal: { number: 3, minute: minute(3), mac: expect.stringMatching(/^[0-9a-f]{64}$/) },
    });
  });

  it("is sealed one minute after the end of the minute, and not before", async () => {
    const tenantId = await ledger.newTenant();
    ledger.clock.time += 2 * MINUTE - 1;
    await ledger.runJob();
    expect(await sealsOf(tenantId)).toEqual([]);
    expect(await ledger.verify(tenantId)).toMatchObject({ unsealedRows: MADE, seals: 0, findings: [] });
    ledger.clock.time += 1;
    await ledger.runJob();
    expect(await sealsOf(tenantId)).toHaveLength(1);
  });

  it("is left to the next run by a server that is shutting down", async () => {
    const start = Math.ceil(ledger.clock.time / MINUTE) * MINUTE;
    ledger.clock.time = start;
    const tenantId = await ledger.newTenant();
    later(3);
    const [due] = await dueOf(tenantId, "log_seal");
    if (!due) throw new Error("nothing is due");
    const task = { minute: new Date(start), dueAt: due.due_at, signal: AbortSignal.abort() };
    expect(await sealLog(ledger, tenantId, task)).toBe("stopped");
    expect(await sealsOf(tenantId)).toEqual([]);
    expect(await dueOf(tenantId, "log_seal")).toEqual([due]);
    await ledger.runJob();
    expect(await sealsOf(tenantId)).toEqual([{ number: 1, window_start: new Date(start), row_count: MADE }]);
    expect(await dueOf(tenantId, "log_seal")).toEqual([]);
  });

  it("is not sealed by a server whose clock is fast", async () => {
    const tenantId = await ledger.newTenant();
    const { time } = ledger.clock;
    const ahead = Date.now() + 60 * MINUTE;
    ledger.clock.time = ahead;
    await ledger.log(tenantId, 1);
    ledger.clock.time = ahead + 10 * MINUTE;
    expect((await ledger.runJob()).failed).toEqual([]);
    ledger.clock.time = time;
    expect(await sealsOf(tenantId)).toHaveLength(1);
    // Other writers can still use the current minutes.
    later(5);
    await ledger.log(tenantId, 1);
    expect(await dueOf(tenantId, "log_seal")).toHaveLength(2);
  });

  it("with many rows in one minute, over several pages, has one seal for it", async () => {
    const tenantId = await ledger.newTenant();
    for (let round = 0; round < 3; round += 1) await ledger.log(tenantId, 2_500);
    later(3);
    await ledger.runJob();
    expect(await sealsOf(tenantId)).toMatchObject([{ row_count: 7_504 }]);
    expect((await ledger.verify(tenantId)).findings).toEqual([]);
  });
});

describe("an attacker who has the database but no key is detected when they", () => {
  it.each([
    [
      "change a row",
      1,
      "rows_changed",
      "update audit_logs set message = 'Token deleted' where created_at = $1 and entity_id = 'token-3'",
    ],
    [
      "change the actor",
      1,
      "rows_changed",
      "update audit_logs set actor_id = tenant_id where created_at = $1 and entity_id = 'token-3'",
    ],
    [
      "move a row by a microsecond",
      1,
      "rows_changed",
      "update audit_logs set created_at = created_at + interval '1 microsecond' where created_at = $1 and entity_id = 'token-3'",
    ],
    ["remove a row", 1, "rows_missing", "delete from audit_logs where created_at = $1 and entity_id = 'token-0'"],
    ["remove all rows of a minute", 1, "rows_missing", "delete from audit_logs where created_at = $1"],
    ["remove the last rows", 3, "rows_missing", "delete from audit_logs where created_at >= $1"],
    [
      "insert a row",
      1,
      "rows_added",
      "insert into audit_logs (tenant_id, created_at, id, entity_type, entity_id, operation, message, outcome) select tenant_id, created_at, tenant_id, entity_type, entity_id, operation, message, outcome from audit_logs where created_at = $1 limit 1",
    ],
    [
      "insert a row into a minute that had none",
      2,
      "rows_unsealed",
      "insert into audit_logs (tenant_id, created_at, id, entity_type, entity_id, operation, message, outcome) select tenant_id, $1, tenant_id, entity_type, entity_id, operation, message, outcome from audit_logs limit 1",
    ],
    [
      "replace a row by another",
      1,
      "rows_changed",
      "update audit_logs set id = tenant_id where created_at = $1 and entity_id = 'token-1'",
    ],
    [
      "make the seal fit its rows",
      1,
      "seal_changed",
      "update audit_seals set row_count = row_count where window_start = $1; update audit_seals set digest = sha256('x') where window_start = $1",
    ],
  ])("%s", async (_, index, kind, statement) => {
    const { tenantId, minute, at } = await sealedTenant();
    for (const each of statement.split(";"))
      await ledger.tamper(tenantId, each.replaceAll("$1", `${at(index)}::timestamptz`));
    const { findings } = await ledger.verify(tenantId);
    expect(findings[0]).toMatchObject({ kind, minute: minute(index) });
    expect(new Set(findings.map((finding) => finding.minute?.getTime()))).toEqual(new Set([minute(index).getTime()]));
  });

  it.each([
    ["take out a seal with its rows", 1, 3, "seal_missing"],
    ["take out the first seal with its rows", 0, 1, "seal_missing"],
    ["take the last seal with its rows off the end", 3, 1, "seal_missing"],
  ])("%s", async (_, index, named, kind) => {
    const { tenantId, minute, at } = await sealedTenant();
    await ledger.tamper(tenantId, `delete from audit_seals where window_start = ${at(index)}`);
    await ledger.tamper(tenantId, `delete from audit_logs where date_trunc('minute', created_at) = ${at(index)}`);
    const { findings } = await ledger.verify(tenantId);
    expect(findings).toMatchObject([{ kind, minute: minute(named) }]);
  });

  it("remove a seal and leave its rows: both minutes are named", async () => {
    const { tenantId, minute, at } = await sealedTenant();
    await ledger.tamper(tenantId, `delete from audit_seals where window_start = ${at(1)}`);
    expect((await ledger.verify(tenantId)).findings).toMatchObject([
      { kind: "rows_unsealed", minute: minute(1), detail: "5 rows in a minute that has no seal" },
      { kind: "seal_missing", minute: minute(3) },
    ]);
  });

  it.each([
    ["remove the record of the end", "delete from audit_heads"],
    ["set the end back by a number", "update audit_heads set number = number - 1"],
    ["say that old rows were removed by retention", "update audit_heads set kept_from = now()"],
  ])("%s", async (_, statement) => {
    const { tenantId, minute } = await sealedTenant();
    await ledger.tamper(tenantId, statement);
    expect((await ledger.verify(tenantId)).findings).toMatchObject([{ kind: "end_changed", minute: minute(3) }]);
  });

  it("restore an earlier state completely, if the last seal was noted elsewhere", async () => {
    const tenantId = await ledger.newTenant();
    later(2);
    await ledger.runJob();
    const [end] = await ledger.rows<{ head: string }>(tenantId, "select to_json(h)::text as head from audit_heads h");
    const from = new Date(ledger.clock.time).toISOString();
    await ledger.log(tenantId, 4);
    later(2);
    await ledger.runJob();
    const { lastSeal } = await ledger.verify(tenantId);
    await ledger.tamper(tenantId, `delete from audit_logs where created_at >= '${from}'`);
    await ledger.tamper(tenantId, `delete from audit_seals where window_start >= '${from}'`);
    const old: { number: number; last_mac: string; mac: string } = JSON.parse(end?.head ?? "{}");
    await ledger.tamper(
      tenantId,
      `update audit_heads set number = ${old.number}, last_mac = '${old.last_mac}', mac = '${old.mac}'`,
    );
    expect((await ledger.verify(tenantId)).findings).toEqual([]);
    expect((await ledger.verify(tenantId, lastSeal)).findings).toMatchObject([
      { kind: "seal_missing", minute: lastSeal?.minute },
    ]);
  });

  it("tamper before the next minute is sealed: that seal does not cover it up", async () => {
    const { tenantId, at } = await sealedTenant();
    await ledger.tamper(tenantId, `delete from audit_seals where window_start = ${at(3)}`);
    await ledger.tamper(tenantId, `delete from audit_logs where created_at >= ${at(3)}`);
    await ledger.tamper(tenantId, "update audit_heads set number = number - 1");
    await ledger.log(tenantId, 1);
    later(2);
    expect(await ledger.runJob()).toEqual({ failed: [], broken: [tenantId] });
    expect((await ledger.verify(tenantId)).findings).toMatchObject([{ kind: "seal_missing" }]);
    const noticed = "select operation, entity_id from audit_logs where entity_type = 'log'";
    expect(await ledger.rows(tenantId, noticed)).toEqual([{ operation: "break", entity_id: tenantId }]);
    // It is not reported again: the chain continues from there.
    await ledger.log(tenantId, 1);
    later(2);
    expect(await ledger.runJob()).toEqual({ failed: [], broken: [] });
    expect((await ledger.verify(tenantId)).findingCount).toBe(1);
  });

  it("remove the key: no seal is valid any more", async () => {
    const { tenantId } = await sealedTenant();
    await ledger.tamper(tenantId, "delete from tenant_keys where purpose = 'audit'");
    ledger.keyring.forget(tenantId);
    const kinds = (await ledger.verify(tenantId)).findings.map(({ kind }) => kind);
    expect(kinds).toEqual(["seal_changed", "seal_changed", "seal_changed", "end_changed"]);
  });
});

describe("a row that arrives late", () => {
  it("is rewritten with a new time, and never enters a closed minute", async () => {
    const tenantId = await ledger.newTenant();
    const early = ledger.clock.time;
    later(2);
    await ledger.runJob();
    // A transaction that took its time before the minute was closed and reaches the database afterwards.
    let asked = 0;
    const { now } = ledger.clock;
    ledger.clock.now = () => {
      asked += 1;
      return asked === 1 ? early : ledger.clock.time;
    };
    await ledger.log(tenantId, 1).finally(() => {
      ledger.clock.now = now;
    });
    expect(asked).toBe(2);
    const [row] = await ledger.rows<{ created_at: Date }>(
      tenantId,
      "select max(created_at) as created_at from audit_logs",
    );
    expect(row?.created_at).toEqual(new Date(ledger.clock.time));
    expect(await ledger.verify(tenantId)).toMatchObject({ findings: [], unsealedRows: 1 });
  });

  it("is rejected if the server's clock is slow, and leaves nothing", async () => {
    const tenantId = await ledger.newTenant();
    const early = ledger.clock.time;
    later(2);
    await ledger.runJob();
    ledger.clock.time = early;
    await expect(ledger.log(tenantId, 1)).rejects.toMatchObject({ code: "unavailable" });
    later(2);
    expect(await ledger.verify(tenantId)).toMatchObject({ rows: MADE, findings: [] });
  });

  it("keeps its minute open until it arrives", async () => {
    const tenantId = await ledger.newTenant();
    const minute = new Date(ledger.clock.time);
    const sql = await ledger.stored.owner.reserve();
    await sql`begin`;
    await sql.unsafe(`set local role cloakroom_app; set local app.tenant_id = '${tenantId}'`);
    await sql`
      insert into audit_logs (tenant_id, created_at, id, entity_type, entity_id, operation, message, outcome)
      values (${tenantId}, ${minute}, ${tenantId}, 'token', 'slow', 'read', 'Token retrieved', 'allowed')`;
    await sql`select 1 from tenants where tenant_id = ${tenantId} for key share`;
    later(2);
    let isSealed = false;
    const sealing = sealLog(ledger, tenantId, { minute, dueAt: new Date(ledger.clock.time) }).then((outcome) => {
      isSealed = true;
      return outcome;
    });
    await expect
      .poll(() => ledger.stored.owner`select 1 from pg_stat_activity where wait_event_type = 'Lock'`, { interval: 10 })
      .toHaveLength(1);
    expect(isSealed).toBe(false);
    await sql`commit`;
    sql.release();
    expect(await sealing).toBe("sealed");
    expect(await sealsOf(tenantId)).toMatchObject([{ row_count: MADE + 1 }]);
    expect((await ledger.verify(tenantId)).findings).toEqual([]);
  });
});

describe("sealing", () => {
  it("writes each seal once if several servers seal at once", async () => {
    const tenantId = await ledger.newTenant();
    for (let round = 0; round < 5; round += 1) {
      later(1);
      await ledger.log(tenantId, 3);
    }
    const minute = new Date(ledger.clock.time);
    later(2);
    const servers = [ledger, ...Array.from({ length: 4 }, () => ledger.another())];
    const outcomes = await Promise.all(
      servers.map((server) => sealLog(server, tenantId, { minute, dueAt: new Date(ledger.clock.time) })),
    );
    expect(outcomes).toEqual(servers.map(() => "sealed"));
    expect((await sealsOf(tenantId)).map(({ number }) => number)).toEqual([1, 2, 3, 4, 5, 6]);
    expect((await ledger.verify(tenantId)).findings).toEqual([]);
  });

  it("completes after a crash that followed the closing of the minute", async () => {
    const tenantId = await ledger.newTenant();
    const until = new Date(ledger.clock.time + MINUTE).toISOString();
    later(2);
    await ledger.tamper(tenantId, `update tenants set audit_closed_until = '${until}'`);
    await ledger.runJob();
    expect(await sealsOf(tenantId)).toHaveLength(1);
  });

  it("does nothing after a crash between the seal and the deletion of the minute", async () => {
    const { tenantId, minute, at } = await sealedTenant();
    await ledger.tamper(tenantId, `insert into due values ('${tenantId}', 'log_seal', ${at(5)})`);
    expect(await ledger.runJob()).toEqual({ failed: [], broken: [] });
    expect(await sealsOf(tenantId)).toHaveLength(3);
    expect(await dueOf(tenantId, "log_seal")).toEqual([]);
    expect((await ledger.verify(tenantId)).lastSeal?.minute).toEqual(minute(3));
  });

  it("is refused for a chain that has lost its head before its first seal", async () => {
    const tenantId = await ledger.newTenant();
    await ledger.tamper(tenantId, "delete from audit_heads");
    later(3);
    expect(await ledger.runJob()).toEqual({ failed: [], broken: [`refused ${tenantId}`] });
    expect((await ledger.verify(tenantId)).findings).toMatchObject([{ kind: "chain_missing" }]);
  });
});

describe("rows past their retention time", () => {
  const DAY = 24 * 60;

  it("are kept if retention is unlimited, and are looked for again once a day", async () => {
    const { time } = ledger.clock;
    ledger.clock.time = time - 400 * DAY * MINUTE;
    const { tenantId } = await sealedTenant();
    later(390 * DAY);
    await ledger.runJob({ retentionDays: 0 });
    expect(await ledger.verify(tenantId)).toMatchObject({ rows: 11, findings: [] });
    const [due, ...others] = await dueOf(tenantId, "log_retention");
    expect(others).toEqual([]);
    expect(due?.due_at.getTime()).toBeGreaterThan(ledger.clock.time);
    expect(due?.due_at.getTime()).toBeLessThanOrEqual(ledger.clock.time + DAY * MINUTE);
    ledger.clock.time = time;
  });
});
