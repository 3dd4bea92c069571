import fc from "fast-check";
import { afterAll, beforeAll, expect, it } from "vitest";
import { systemClock } from "../../../src/base/clock.js";
import { newTenantId } from "../../../src/base/ids.js";
import { type Database, openDatabase } from "../../../src/store/database.js";
import type { DueKind, DueMinute } from "../../../src/store/jobs/due.js";
import { startDatabase, type TestDatabase } from "../../support/databases.js";

/** Minutes of 500 tenants for a sink that is down, all older than those of other work. */
const BACKLOG = 200_000;

let database: TestDatabase;
beforeAll(async () => {
  database = await startDatabase();
  await database.owner.unsafe(
    "alter table due set (autovacuum_enabled = false); alter table due no force row level security",
  );
});
afterAll(() => database?.[Symbol.asyncDispose]());

const open = () =>
  openDatabase({ address: database.address, sharedConnections: 1, bulkConnections: 1, clock: systemClock });

/** The pages of the indexes of `due` that work reads, as the database counts them. */
async function pagesRead(work: (opened: Database) => Promise<unknown>): Promise<number> {
  const read = async () => {
    const [row] = await database.owner<{ n: number }[]>`
      select sum(idx_blks_hit + idx_blks_read)::int as n from pg_statio_user_indexes where relname = 'due'`;
    return row?.n ?? Number.NaN;
  };
  const backends = async () => {
    const [row] = await database.owner<{ n: number }[]>`
      select count(*)::int as n from pg_stat_activity where backend_type = 'client backend'`;
    return row?.n ?? Number.NaN;
  };
  const known = await backends();
  const before = await read();
  const opened = open();
  await work(opened);
  await opened[Symbol.asyncDispose]();
  // A connection reports its counters when it ends, at the latest.
  await expect.poll(backends).toBeLessThanOrEqual(known);
  return (await read()) - before;
}

it("minutes of a sink that is down for a month are not read to find other work, and its age", async () => {
  const tenantId = newTenantId();
  const [mine] = await database.owner.begin(async (tx) => {
    await tx`
      insert into due (tenant_id, kind, due_at)
      select gen_random_uuid(), 'log_syslog', timestamptz '2026-01-01 00:00Z' + n / 500 * interval '1 minute'
      from generate_series(1, ${BACKLOG}) n`;
    await tx`select pg_stat_force_next_flush()`;
    return tx<{ minute: Date }[]>`
      insert into due (tenant_id, kind, due_at)
      select ${tenantId}, 'log_seal', date_trunc('minute', now()) - n * interval '1 minute' from generate_series(1, 3) n
      returning due_at as minute`;
  });
  const rounds = 10;
  const read = await pagesRead(async (opened) => {
    // Prepared statements are planned for their values at first, and for any later.
    for (let round = 0; round < rounds; round += 1) {
      const now = new Date();
      expect(await opened.due(["log_seal"], { now })).toHaveLength(3);
      expect(await opened.due(["token", "cvc", "mail"], { now })).toEqual([]);
      const oldest = await opened.oldestDue();
      expect([...oldest.keys()].sort()).toEqual(["log_seal", "log_syslog"]);
      expect(oldest.get("log_seal")).toEqual(new Date((mine?.minute.getTime() ?? 0) - 2 * 60_000));
    }
  });
  // An index of the backlog has more than 1,000 pages.
  expect(read / rounds).toBeLessThan(300);
});

const KINDS: readonly DueKind[] = ["token", "cvc", "log_seal"];

it("several kinds are listed in the order of their minutes, each minute once, over any number of pages", async () => {
  const opened = open();
  const tenants = Array.from({ length: 40 }, newTenantId);
  await fc.assert(
    fc.asyncProperty(
      fc.uniqueArray(fc.nat(40 * 3 * 40 - 1), { minLength: 900, maxLength: 2_500 }),
      fc.subarray([...KINDS], { minLength: 1 }),
      async (numbers, kinds) => {
        const base = Date.UTC(2026, 0, 1);
        const rows = numbers.map((n) => ({
          tenant_id: tenants[n % 40] ?? newTenantId(),
          kind: KINDS[Math.floor(n / 40) % 3] ?? "token",
          due_at: new Date(base + Math.floor(n / 120) * 60_000),
        }));
        await database.owner`delete from due where kind = any(${[...KINDS]})`;
        await database.owner`insert into due ${database.owner(rows)}`;
        const listed: DueMinute[] = [];
        for (;;) {
          const page = await opened.due(kinds, { now: new Date(), after: listed.at(-1) });
          if (page.length === 0) break;
          listed.push(...page);
        }
        const expected = await database.owner<DueMinute[]>`
          select tenant_id as "tenantId", kind, due_at as minute from due where kind = any(${[...kinds]})
          order by due_at, tenant_id, kind`;
        expect(listed).toEqual([...expected]);
      },
    ),
    { numRuns: 15 },
  );
  await opened[Symbol.asyncDispose]();
});
