import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { EMPTY_CONTEXT } from "../../src/audit/audit-context.js";
import { type Activity, type ActivityQuery, prepareActivity } from "../../src/audit/follow/activity.js";
import { logEntry, type Outcome, type ShownAs } from "../../src/audit/log-entry.js";
import { newUuid, type TenantId, type Uuid } from "../../src/base/ids.js";
import { writeLog } from "../../src/store/audit/audit-logs.js";
import { type Ledger, MINUTE, openLedger } from "./support/ledger.js";

const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

let ledger: Ledger;
beforeAll(async () => {
  ledger = await openLedger({ hasMovableClock: true });
  // The clock of the servers is moved by more than a year, and must stay behind the database's.
  await ledger.setDatabaseAhead(1_000 * DAY);
});
afterAll(() => ledger?.[Symbol.asyncDispose]());

interface Kind {
  readonly operation: "read" | "create" | "use";
  readonly outcome: Outcome;
  readonly transform: ShownAs | undefined;
  readonly actorId: Uuid | undefined;
}

/** Writes rows of one kind at the current time. */
const write = (tenantId: TenantId, { operation, outcome, transform, actorId }: Kind, rows: number) =>
  ledger.database.of(tenantId).shared(async (tx) => {
    const actor = actorId === undefined ? undefined : { id: actorId, type: "application" as const, keyId: undefined };
    for (let row = 0; row < rows; row += 1) {
      const entry = logEntry("card", "*", operation, { outcome, transform });
      writeLog(tx, { ...entry, actor });
    }
  });

const ask = (tenantId: TenantId, query: ActivityQuery = {}): Promise<Activity> => {
  const now = new Date(ledger.clock.time + 1);
  return ledger.database.of(tenantId).bulk(prepareActivity(query, now));
};

/** What the log itself says: rows by outcome and transform. */
async function logged(tenantId: TenantId): Promise<Record<string, number>> {
  const rows = await ledger.rows<{ name: string; n: number }>(
    tenantId,
    `select case outcome when 'allowed' then case transform when 'reveal' then 'revealed' when 'mask' then 'masked' when 'redact' then 'redacted' else 'other' end else outcome end as name, count(*)::int as n
     from audit_logs group by 1`,
  );
  return Object.fromEntries(rows.map(({ name, n }) => [name, n]));
}

/** The sums of groups or buckets, without those of nothing. */
function sumsOf(counted: readonly { readonly counts: object }[]): Record<string, number> {
  const sums: Record<string, number> = {};
  for (const { counts } of counted)
    for (const [name, n] of Object.entries(counts)) if (n > 0) sums[name] = (sums[name] ?? 0) + n;
  delete sums.changes;
  return sums;
}

const ACTORS = [newUuid(), newUuid(), undefined];
const kinds = fc.record({
  operation: fc.constantFrom("read", "create", "use"),
  outcome: fc.constantFrom("allowed", "denied", "failed"),
  transform: fc.constantFrom("reveal", "mask", "redact", undefined),
  actorId: fc.constantFrom(...ACTORS),
});
const steps = fc.oneof(
  { weight: 4, arbitrary: fc.record({ kind: kinds, rows: fc.integer({ min: 1, max: 4 }) }) },
  { weight: 2, arbitrary: fc.record({ minutes: fc.integer({ min: 1, max: 90 }) }) },
  { weight: 2, arbitrary: fc.constantFrom("seal" as const, "two servers" as const) },
);

describe("the counts of a log", () => {
  it("are those of its rows at any time, by any server that seals them", async () => {
    const [first, second] = [ledger.another(), ledger.another()];
    await fc.assert(
      fc.asyncProperty(fc.array(steps, { minLength: 4, maxLength: 12 }), async (chain) => {
        ledger.clock.time -= ledger.clock.time % MINUTE;
        const tenantId = await ledger.newTenant();
        const start = new Date(ledger.clock.time - (ledger.clock.time % DAY)).toISOString();
        for (const step of chain) {
          if (step === "seal") await ledger.runJob();
          else if (step === "two servers") {
            await Promise.all([ledger.runJob({ server: first }), ledger.runJob({ server: second })]);
          } else if ("minutes" in step) ledger.clock.time += step.minutes * MINUTE;
          else await write(tenantId, step.kind, step.rows);
          const expected = await logged(tenantId);
          const hours = await ask(tenantId, { startDate: start, by: "operation" });
          expect(sumsOf(hours.buckets)).toEqual(expected);
          expect(sumsOf(hours.groups)).toEqual(expected);
          expect(sumsOf((await ask(tenantId, { startDate: start, step: "day" })).buckets)).toEqual(expected);
          expect(sumsOf((await ask(tenantId, { startDate: start, step: "month", by: "entity_type" })).groups)).toEqual(
            expected,
          );
          const { groups } = await ask(tenantId, { startDate: start, by: "actor" });
          const [byActor] = await ledger.rows<{ n: number }>(
            tenantId,
            "select count(*)::int as n from audit_logs where actor_id is not null",
          );
          expect(Object.values(sumsOf(groups)).reduce((sum, n) => sum + n, 0)).toBe(byActor?.n);
        }
      }),
      { numRuns: 12 },
    );
  });

  it("fall into the hour of their row, and into whole days and months", async () => {
    ledger.clock.time = Math.ceil(ledger.clock.time / DAY) * DAY;
    const midnight = ledger.clock.time;
    const tenantId = await ledger.newTenant();
    const read: Kind = { operation: "read", outcome: "allowed", transform: "reveal", actorId: ACTORS[0] };
    ledger.clock.time = midnight + HOUR - 1;
    await write(tenantId, read, 2);
    ledger.clock.time = midnight + HOUR;
    await write(tenantId, read, 3);
    ledger.clock.time = midnight + 3 * HOUR;
    const startDate = new Date(midnight).toISOString();
    const revealsOf = async (step: string) =>
      (await ask(tenantId, { startDate, step })).buckets.map(({ at, counts }) => [
        at.getTime() - midnight,
        counts.revealed,
      ]);
    const expected = [
      [0, 2],
      [HOUR, 3],
      [2 * HOUR, 0],
      [3 * HOUR, 0],
    ];
    expect(await revealsOf("hour")).toEqual(expected);
    await ledger.runJob();
    expect(await revealsOf("hour")).toEqual(expected);
    expect(await revealsOf("day")).toEqual([[0, 5]]);
    const [month] = (await ask(tenantId, { startDate, step: "month" })).buckets;
    expect(month?.at.getUTCDate()).toBe(1);
    expect(month?.counts.revealed).toBe(5);
  });

  it("name up to 500 actors of a day, and count further ones together", async () => {
    const tenantId = await ledger.newTenant();
    const read = { operation: "read", outcome: "allowed", transform: "reveal" } as const;
    for (let actor = 0; actor < 503; actor += 1) await write(tenantId, { ...read, actorId: newUuid() }, 1);
    ledger.clock.time += 3 * MINUTE;
    await ledger.runJob();
    const counted = await ledger.rows<{ actor_id: string; n: number }>(
      tenantId,
      "select actor_id, n::int as n from log_actor_counts order by actor_id",
    );
    expect(counted).toHaveLength(501);
    expect(counted[0]).toEqual({ actor_id: "00000000-0000-0000-0000-000000000000", n: 3 });
    const { groups } = await ask(tenantId, { by: "actor" });
    expect(groups).toHaveLength(50);
    expect(groups[0]).toMatchObject({ name: "", actorId: undefined, counts: { revealed: 3 } });
  });

  it("leave out more rows without a seal than a read may count, and say so", async () => {
    const tenantId = await ledger.newTenant();
    ledger.clock.time += 3 * MINUTE;
    await ledger.runJob();
    const before = await ask(tenantId);
    expect(before.countedUntil?.getTime()).toBe(ledger.clock.time + 1);
    const kind = { operation: "read", outcome: "allowed", transform: undefined, actorId: undefined } as const;
    for (let part = 0; part < 11; part += 1) await write(tenantId, kind, 1_000);
    const after = await ask(tenantId);
    expect(sumsOf(after.buckets)).toEqual(sumsOf(before.buckets));
    expect(after.countedUntil?.getTime()).toBeLessThan(ledger.clock.time);
    ledger.clock.time += 3 * MINUTE;
    const counted = async () => {
      // A run whose statement met its time limit leaves the minute to the next one.
      await ledger.runJob();
      return sumsOf((await ask(tenantId)).buckets).other;
    };
    await expect.poll(counted).toBe((sumsOf(before.buckets).other ?? 0) + 11_000);
  });

  it("come with the last use of each key, which a later seal moves on", async () => {
    const tenantId = await ledger.newTenant();
    const [key] = await ledger.rows<{ id: Uuid }>(tenantId, "select id from application_keys");
    const used = () =>
      ledger.database.of(tenantId).shared(async (tx) => {
        const actor = { id: newUuid(), type: "application" as const, keyId: key?.id, context: EMPTY_CONTEXT };
        writeLog(tx, logEntry("token", "*", "list", { actor }));
      });
    const lastUse = async () => {
      const [row] = await ledger.rows<{ at: Date | null }>(tenantId, "select last_used_at as at from application_keys");
      return row?.at?.getTime();
    };
    for (let use = 0; use < 2; use += 1) {
      const at = ledger.clock.time;
      await used();
      ledger.clock.time += 3 * MINUTE;
      await ledger.runJob();
      expect(await lastUse()).toBe(at);
    }
  });

  it("are forgotten after their time, those of actors with the rows", async () => {
    const tenantId = await ledger.newTenant();
    const read: Kind = { operation: "read", outcome: "allowed", transform: "reveal", actorId: ACTORS[0] };
    await write(tenantId, read, 1);
    ledger.clock.time += 3 * MINUTE;
    await ledger.runJob();
    const left = async () => {
      const [row] = await ledger.rows<{ hours: number; days: number; actors: number }>(
        tenantId,
        `select (select count(*)::int from log_counts where step = 'hour' and shown = 'reveal') as hours,
           (select count(*)::int from log_counts where step = 'day' and shown = 'reveal') as days,
           (select count(*)::int from log_actor_counts) as actors`,
      );
      return row;
    };
    expect(await left()).toEqual({ hours: 1, days: 1, actors: 1 });
    const passed = async (days: number, retentionDays: number) => {
      ledger.clock.time += days * DAY;
      await write(tenantId, { ...read, transform: "mask", actorId: undefined }, 1);
      await ledger.runJob({ retentionDays });
      return left();
    };
    await passed(1, 90);
    expect(await passed(35, 90)).toEqual({ hours: 0, days: 1, actors: 1 });
    expect(await passed(60, 90)).toEqual({ hours: 0, days: 1, actors: 0 });
    expect(await passed(310, 90)).toEqual({ hours: 0, days: 0, actors: 0 });
  });

  it("take words of any length that an owner of the database wrote into the log", async () => {
    const tenantId = await ledger.newTenant();
    await ledger.log(tenantId, 1);
    await ledger.tamper(
      tenantId,
      "update audit_logs set operation = (select string_agg(md5(i::text), '') from generate_series(1, 900) i)",
    );
    ledger.clock.time += 3 * MINUTE;
    expect(await ledger.runJob()).toEqual({ failed: [], broken: [] });
    expect((await ask(tenantId)).buckets.at(-1)?.counts.other).toBeGreaterThan(0);
  });
});

describe("a question about the activity", () => {
  const now = new Date("2026-11-28T10:00:00Z");
  it.each([
    [{ startDate: "yesterday" }, "start_date"],
    [{ endDate: "2026-13-01" }, "end_date"],
    [{ startDate: "2026-11-28T10:00:00Z" }, "start_date"],
    [{ startDate: "2026-10-01" }, "start_date"],
    [{ startDate: "2025-09-01", step: "day" }, "start_date"],
    [{ startDate: "2025-09-01", step: "month" }, "start_date"],
    [{ by: "actor", operation: "read" }, "operation"],
    [{ by: "actor", entityType: "card" }, "entity_type"],
  ])("%o names the field that is wrong", (query, field) => {
    expect(() => prepareActivity(query, now)).toThrow(
      expect.objectContaining({ code: "validation_failed", fields: { [field]: [expect.any(String)] } }),
    );
  });
});
