import { Readable } from "node:stream";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { LogClock } from "../../src/audit/chain/log-clock.js";
import type { SealParts } from "../../src/audit/chain/seal-log.js";
import { setBackLog } from "../../src/audit/chain/set-back-log.js";
import { exportRange } from "../../src/audit/export/export-range.js";
import { endOfLog, LogFollower } from "../../src/audit/follow/log-follower.js";
import { verifyExport } from "../../src/audit/verify/verify-export.js";
import { type TenantId, VAULT_TENANT_ID } from "../../src/base/ids.js";
import { logSigningKey } from "../../src/crypto/log-signing.js";
import { readLogSnapshot } from "../../src/store/audit/log-snapshot.js";
import { type Ledger, MINUTE, openLedger } from "./support/ledger.js";

const HOUR = 60 * MINUTE;

let ledger: Ledger;
beforeAll(async () => {
  ledger = await openLedger({ hasMovableClock: true });
});
afterAll(() => ledger?.[Symbol.asyncDispose]());

/** Both clocks, the servers' and the database's, as on one machine. */
let ahead = 0;
const setClocks = async (milliseconds: number) => {
  ahead = milliseconds;
  await ledger.setDatabaseAhead(milliseconds);
};
/** Before today: a tenant's id contains its creation time, which must not be before its first seal. */
const truth = Math.ceil(Date.now() / MINUTE) * MINUTE - 400 * 24 * HOUR;
let passed = 0;
beforeEach(async () => {
  ledger.clock.now = () => ledger.clock.time;
  passed += 24 * HOUR;
  await wait(0);
});
const wait = async (minutes: number) => {
  passed += minutes * MINUTE;
  ledger.clock.time = truth + passed + ahead;
  // The database's own clock runs independently.
  await ledger.setDatabaseAhead(ledger.clock.time - Date.now());
};
const setRight = async () => {
  ahead = 0;
  await wait(0);
};
const beFast = async (milliseconds: number) => {
  await setClocks(milliseconds);
  await wait(0);
};
const closedUntil = async (tenantId: TenantId) => {
  const [row] = await ledger.rows<{ at: Date | null }>(tenantId, "select audit_closed_until as at from tenants");
  return row?.at ?? undefined;
};
const numbersOf = async (tenantId: TenantId) =>
  (await ledger.rows<{ number: number }>(tenantId, "select number from audit_seals order by number")).map(
    ({ number }) => number,
  );
const kindsOf = ({ findings }: { readonly findings: readonly { readonly kind: string }[] }) =>
  findings.map(({ kind }) => kind);

/** A sealed tenant whose log was written every minute for an hour while the clocks were an hour fast. */
async function fastTenant(hour = HOUR): Promise<TenantId> {
  const tenantId = await ledger.newTenant();
  await wait(3);
  await ledger.runJob();
  await beFast(hour);
  for (let minute = 0; minute < 5; minute += 1) {
    await ledger.log(tenantId, 3);
    await wait(1);
  }
  await wait(2);
  expect((await ledger.runJob()).failed).toEqual([]);
  expect(await ledger.verify(tenantId)).toMatchObject({ findings: [], unsealedRows: 0 });
  return tenantId;
}

describe("after fast clocks were corrected, a tenant's log", () => {
  it("is set back and continues; everything written is sealed and kept", async () => {
    const tenantId = await fastTenant();
    const before = await ledger.verify(tenantId);
    await setRight();
    await expect(ledger.log(tenantId, 1)).rejects.toMatchObject({ code: "unavailable" });
    const outcome = await setBackLog(ledger, tenantId);
    const to = new Date(Math.floor(ledger.clock.time / MINUTE) * MINUTE);
    expect(outcome).toMatchObject({ kind: "set back", to, rows: 15 });
    expect(await closedUntil(tenantId)).toEqual(to);
    await ledger.log(tenantId, 2);
    await wait(2);
    expect(await ledger.runJob()).toEqual({ failed: [], broken: [] });
    const verdict = await ledger.verify(tenantId);
    expect(verdict).toMatchObject({ findings: [], unsealedRows: 0, rows: before.rows + 3 });
    expect(verdict.setBacks).toMatchObject([{ to }]);
    expect(await ledger.verifyAttested(tenantId)).toMatchObject({ findings: [] });
    const [row] = await ledger.rows<{ message: string }>(
      tenantId,
      "select message from audit_logs where entity_type = 'log'",
    );
    expect(row?.message).toBe("Log updated: clock set back");
  });

  it("is set back at a cost that grows with its rows, not with their square", async () => {
    const tenantId = await fastTenant();
    const many = 40_000;
    await ledger.log(tenantId, 1);
    await ledger.tamper(
      tenantId,
      `insert into audit_logs (tenant_id, created_at, id, entity_type, entity_id, operation, message, outcome)
       select '${tenantId}', to_timestamp(${ledger.clock.time / 1_000}) + n * interval '1 ms', gen_random_uuid(), 'token', 'many',
         'read', '', 'allowed' from generate_series(1, ${many}) n`,
    );
    await wait(3);
    expect((await ledger.runJob()).failed).toEqual([]);
    await setRight();
    const read = async () => {
      const [row] = await ledger.stored.owner<{ n: number }[]>`
        select sum(idx_tup_fetch)::int as n from pg_stat_user_tables where relname like 'audit_logs%'`;
      return row?.n ?? Number.NaN;
    };
    const backends = async () => {
      const [row] = await ledger.stored.owner<{ n: number }[]>`
        select count(*)::int as n from pg_stat_activity where backend_type = 'client backend'`;
      return row?.n ?? Number.NaN;
    };
    // A connection reports what it has read once it has been idle for a while, or ends.
    await ledger.stored.owner`select pg_stat_force_next_flush()`;
    const known = await backends();
    const before = await read();
    const server = ledger.another();
    expect(await setBackLog(server, tenantId)).toMatchObject({ kind: "set back", rows: many + 16 });
    await server.database[Symbol.asyncDispose]();
    await expect.poll(backends).toBeLessThanOrEqual(known);
    expect(((await read()) - before) / many).toBeLessThan(4.5);
    expect(await ledger.verify(tenantId)).toMatchObject({ findings: [] });
  });

  it("is followed on, each row once", async () => {
    const tenantId = await ledger.newTenant();
    await wait(3);
    const log = () => ledger.log(tenantId, 1);
    const idsNow = async () =>
      (await ledger.rows<{ id: string }>(tenantId, "select id from audit_logs")).map(({ id }) => id);
    const found: string[] = [];
    await beFast(HOUR);
    const filter = { entityTypes: undefined, entityId: undefined };
    const known = new Set(await idsNow());
    const start = await ledger.database.of(tenantId).bulk(endOfLog);
    await wait(1);
    let follower = new LogFollower(filter, start);
    const poll = async () => {
      const polled = await ledger.database.of(tenantId).bulk((tx) => follower.poll(tx));
      follower.accept(polled);
      found.push(...polled.rows.map(({ id }) => id));
    };
    for (let minute = 0; minute < 5; minute += 1) {
      await log();
      await poll();
      await wait(1);
    }
    await wait(2);
    await ledger.runJob();
    await poll();
    await setRight();
    await poll();
    await setBackLog(ledger, tenantId);
    await log();
    await poll();
    for (let minute = 0; minute < 4; minute += 1) {
      await log();
      await poll();
      await wait(1);
      await ledger.runJob();
      await poll();
      // A client that was cut off may get rows again that its stream had.
      if (minute === 1) follower = new LogFollower(filter, follower.position);
      else if (minute === 0) expect(found.length).toBe(new Set(found).size);
    }
    // Beside rows with times to come, which it gets again, those of now come once their minute is closed.
    await wait(2);
    await ledger.runJob();
    await poll();
    const written = (await idsNow()).filter((id) => !known.has(id));
    expect([...new Set(found)].sort()).toEqual(written.sort());
  });

  it("is followed on from a cursor of the fast clock", async () => {
    const tenantId = await fastTenant();
    const filter = { entityTypes: undefined, entityId: undefined };
    const poll = (follower: LogFollower) => ledger.database.of(tenantId).bulk((tx) => follower.poll(tx));
    const before = new LogFollower(filter, new Date(0));
    before.accept(await poll(before));
    await setRight();
    const cut = new LogFollower(filter, before.position);
    expect(await poll(cut)).toMatchObject({ rows: [], isAll: true });
    await setBackLog(ledger, tenantId);
    await ledger.log(tenantId, 2);
    await wait(3);
    await ledger.runJob();
    const again = new LogFollower(filter, before.position);
    const { rows } = await poll(again);
    expect(rows.map(({ operation }) => operation)).toEqual(["update", "read", "read"]);
  });

  it("has second seals for the same minutes once real time reaches them", async () => {
    const tenantId = await fastTenant();
    await setRight();
    await setBackLog(ledger, tenantId);
    for (let minute = 0; minute < 75; minute += 5) {
      await ledger.log(tenantId, 1);
      await wait(5);
    }
    expect(await ledger.runJob()).toEqual({ failed: [], broken: [] });
    expect(await ledger.verify(tenantId)).toMatchObject({ findings: [], unsealedRows: 0 });
    const windows = await ledger.rows<{ n: number }>(
      tenantId,
      "select count(*) as n from audit_seals where kind = 'minute' group by window_start having count(*) = 2",
    );
    expect(windows.length).toBeGreaterThan(0);
  });

  it("reveals tampering with rows of either time", async () => {
    const tenantId = await fastTenant();
    await setRight();
    await setBackLog(ledger, tenantId);
    for (let minute = 0; minute < 70; minute += 1) {
      await ledger.log(tenantId, 1);
      await wait(1);
    }
    await wait(2);
    await ledger.runJob();
    const [{ window_start: twice } = { window_start: new Date(0) }] = await ledger.rows<{ window_start: Date }>(
      tenantId,
      "select window_start from audit_seals where kind = 'minute' group by window_start having count(*) = 2 limit 1",
    );
    const within = `created_at >= '${twice.toISOString()}' and created_at < '${twice.toISOString()}'::timestamptz + interval '1 minute'`;
    const attempts: [string, string][] = [
      [`update audit_logs set message = 'x' where ${within} and set_aside is null`, "rows_changed"],
      [`update audit_logs set message = 'x' where ${within} and set_aside is not null`, "rows_changed"],
      [`delete from audit_logs where ${within} and set_aside is null`, "rows_missing"],
      [`update audit_logs set set_aside = null where ${within} and set_aside is not null`, "rows_added"],
      [
        `update audit_logs set set_aside = (select max(set_aside) from audit_logs) where ${within} and set_aside is null`,
        "rows_missing",
      ],
      ["delete from audit_seals where kind = 'set_back'", "seal_missing"],
      [
        "update audit_seals set window_start = window_start + interval '5 minutes' where kind = 'set_back'",
        "seal_changed",
      ],
    ];
    for (const [statement, kind] of attempts) {
      const tables = ["audit_logs", "audit_seals"];
      const copies = await Promise.all(tables.map((table) => ledger.copy(tenantId, table)));
      await ledger.tamper(tenantId, statement);
      expect(kindsOf(await ledger.verify(tenantId)), statement).toContain(kind);
      for (const [index, table] of tables.entries()) await ledger.putBack(tenantId, table, copies[index] ?? "[]");
      expect(kindsOf(await ledger.verify(tenantId))).toEqual([]);
    }
  });

  it("is set back again if the clocks are corrected in steps and go wrong once more", async () => {
    const tenantId = await fastTenant(2 * HOUR);
    for (const step of [HOUR, 30 * MINUTE, 0, 45 * MINUTE, 0]) {
      await beFast(step);
      const outcome = await setBackLog(ledger, tenantId);
      expect(["set back", "not ahead"]).toContain(outcome.kind);
      for (let minute = 0; minute < 3; minute += 1) {
        await ledger.log(tenantId, 2);
        await wait(1);
      }
      await wait(2);
      expect(await ledger.runJob()).toEqual({ failed: [], broken: [] });
      expect(await ledger.verify(tenantId), `after the step to ${step}`).toMatchObject({
        findings: [],
        unsealedRows: 0,
      });
    }
    expect((await ledger.verify(tenantId)).setBacks).toHaveLength(4);
    await wait(200);
    await ledger.log(tenantId, 2);
    await wait(2);
    await ledger.runJob();
    expect(await ledger.verify(tenantId)).toMatchObject({ findings: [], unsealedRows: 0 });
  });

  it("is set back once, by the first of several servers", async () => {
    const tenantId = await fastTenant();
    await setRight();
    const servers: SealParts[] = [ledger, ledger.another(), ledger.another(), ledger.another()];
    const outcomes = await Promise.all(servers.map((server) => setBackLog(server, tenantId)));
    expect(outcomes.map(({ kind }) => kind)).toContain("set back");
    await ledger.log(tenantId, 1);
    await wait(2);
    expect(await ledger.runJob()).toEqual({ failed: [], broken: [] });
    const verdict = await ledger.verify(tenantId);
    expect(verdict).toMatchObject({ findings: [], unsealedRows: 0 });
    expect(verdict.setBacks).toHaveLength(1);
  });

  it("is set back even if a server crashed while doing it", async () => {
    const tenantId = await fastTenant();
    await setRight();
    // The server crashed after setting the rows aside and before the chain says so.
    const number = Math.max(...(await numbersOf(tenantId))) + 1;
    const at = new Date(Math.floor(ledger.clock.time / MINUTE) * MINUTE).toISOString();
    await ledger.tamper(tenantId, `update tenants set audit_set_back_to = '${at}'`);
    await ledger.tamper(tenantId, `update audit_logs set set_aside = ${number} where created_at >= '${at}'`);
    await wait(7);
    expect(await setBackLog(ledger, tenantId)).toMatchObject({ kind: "set back", to: new Date(at), rows: 15 });
    await ledger.log(tenantId, 1);
    await wait(2);
    await ledger.runJob();
    expect(await ledger.verify(tenantId)).toMatchObject({ findings: [], unsealedRows: 0 });
  });

  it("is set back if a server crashed between closing and sealing", async () => {
    const tenantId = await fastTenant();
    await ledger.log(tenantId, 2);
    await wait(2);
    const end = new Date(Math.floor(ledger.clock.time / MINUTE) * MINUTE).toISOString();
    await ledger.tamper(tenantId, `update tenants set audit_closed_until = '${end}'`);
    await setRight();
    expect(await setBackLog(ledger, tenantId)).toMatchObject({ kind: "set back", rows: 17 });
    await ledger.log(tenantId, 1);
    await wait(2);
    await ledger.runJob();
    expect(await ledger.verify(tenantId)).toMatchObject({ findings: [], unsealedRows: 0 });
  });

  it("is exported with both seals of a minute", async () => {
    const tenantId = await fastTenant();
    await setRight();
    await setBackLog(ledger, tenantId);
    await ledger.log(tenantId, 1);
    await wait(2);
    await ledger.runJob();
    const keys = await ledger.keyring.of(tenantId);
    const log = { tenantId, keys, isWhole: true, tokenOf: async () => undefined };
    const range = { since: new Date(0), until: new Date(ledger.clock.time + 24 * HOUR) };
    let text = "";
    await readLogSnapshot(ledger.stored.address, tenantId, async (snapshot) => {
      for await (const piece of exportRange(snapshot, log, range, () => {})) text += piece;
    });
    const { fingerprint } = logSigningKey(keys.audit, tenantId);
    const verdict = await verifyExport(Readable.from([Buffer.from(text)]), { fingerprint });
    expect(verdict).toMatchObject({ state: "good", findings: [], reasons: [] });
    expect(text.split("\n").filter((line) => line.includes(" kind set_back "))).toHaveLength(1);
    expect(verdict.rows).toBeGreaterThanOrEqual(16);
  });
});

describe("a log is not set back", () => {
  it("if only one server's clock is slow: that server gets an error", async () => {
    const tenantId = await ledger.newTenant();
    await wait(3);
    await ledger.runJob();
    const behind: number[] = [];
    const clock = { now: () => ledger.clock.time - HOUR };
    const logClock = new LogClock({
      ...{ ...ledger, clock },
      onSetBack: () => {
        throw new Error("was set back");
      },
      onRefused: () => {},
      onBehind: (milliseconds) => behind.push(milliseconds),
      onFailure: () => {},
    });
    logClock.noticed(tenantId);
    await logClock.stop();
    expect(behind).toHaveLength(1);
    expect(Math.abs((behind[0] ?? 0) - HOUR)).toBeLessThan(MINUTE);
    expect(await setBackLog(ledger, tenantId)).toMatchObject({ kind: "not ahead" });
  });

  it("into the past, whatever the database's owner writes into its rows", async () => {
    const tenantId = await ledger.newTenant();
    await wait(3);
    await ledger.log(tenantId, 2);
    await wait(3);
    await ledger.runJob();
    const past = new Date(ledger.clock.time - 30 * 24 * HOUR).toISOString();
    const future = new Date(Math.floor(ledger.clock.time / MINUTE) * MINUTE + HOUR).toISOString();
    await ledger.tamper(tenantId, `update tenants set audit_closed_until = '${future}', audit_set_back_to = '${past}'`);
    const to = new Date(Math.floor(ledger.clock.time / MINUTE) * MINUTE);
    expect(await setBackLog(ledger, tenantId)).toMatchObject({ kind: "set back", to, rows: 0 });
    await ledger.log(tenantId, 1);
    await wait(2);
    await ledger.runJob();
    expect(await ledger.verify(tenantId)).toMatchObject({ findings: [] });
  });

  it("if its chain has no head", async () => {
    const tenantId = await fastTenant();
    await ledger.tamper(tenantId, "delete from audit_heads");
    await setRight();
    expect(await setBackLog(ledger, tenantId)).toEqual({ kind: "refused" });
  });
});

describe("replicas whose clocks differ", () => {
  it("write, seal and verify together: rows of the fast one wait for their minute", async () => {
    const tenantId = await ledger.newTenant();
    await wait(3);
    await ledger.runJob();
    const { now } = ledger.clock;
    for (let minute = 0; minute < 10; minute += 1) {
      await ledger.log(tenantId, 1);
      ledger.clock.now = () => ledger.clock.time + HOUR;
      await ledger.log(tenantId, 1);
      ledger.clock.now = now;
      await wait(1);
    }
    await wait(2);
    expect(await ledger.runJob()).toEqual({ failed: [], broken: [] });
    expect(await ledger.verify(tenantId)).toMatchObject({ findings: [], unsealedRows: 10 });
    await wait(70);
    expect(await ledger.runJob()).toEqual({ failed: [], broken: [] });
    expect(await ledger.verify(tenantId)).toMatchObject({ findings: [], unsealedRows: 0 });
  });

  it("remove rows only when they expire by the database's clock", async () => {
    const tenantId = await ledger.newTenant();
    await ledger.log(tenantId, 5);
    await wait(3);
    await ledger.runJob();
    const { now } = ledger.clock;
    ledger.clock.now = () => ledger.clock.time + 40 * 24 * HOUR;
    await ledger.runJob({ retentionDays: 30 });
    await ledger.turnMonths({ retentionDays: 1 });
    ledger.clock.now = now;
    expect(await ledger.verify(tenantId)).toMatchObject({ findings: [], rows: 9 });
  });
});

it("the vault's own chain stays intact through all of this", async () => {
  expect((await ledger.verifyVault()).findings).toEqual([]);
  expect((await numbersOf(VAULT_TENANT_ID)).length).toBeGreaterThan(5);
});
