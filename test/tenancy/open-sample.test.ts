import { afterAll, beforeAll, expect, it } from "vitest";
import { newUuid, type TenantId } from "../../src/base/ids.js";
import { openDatabase } from "../../src/store/database.js";
import { openSample } from "../../src/tenancy/open-sample.js";
import { type Ledger, openLedger } from "../audit/support/ledger.js";

let ledger: Ledger;
let tenantId: TenantId;
beforeAll(async () => {
  ledger = await openLedger();
  tenantId = await ledger.newTenant();
});
afterAll(() => ledger?.[Symbol.asyncDispose]());

/** Tokens whose values do not open: a sample names those that it has read. */
async function damagedTokens(count: number): Promise<void> {
  await ledger.tamper(tenantId, "delete from tokens");
  await ledger.tamper(
    tenantId,
    `insert into tokens (tenant_id, id, type, data, containers, fingerprint, revision, active_month, created_by, created_at)
     select '${tenantId}', 'token-' || n, 'token', '\\x01', '{/a/}', '\\x01', 1, '2026-01-01', '${newUuid()}', now()
     from generate_series(1, ${count}) n`,
  );
}

async function sampled(rows: number, step?: number): Promise<readonly string[]> {
  const keys = await ledger.keyring.of(tenantId);
  const { broken, opened } = await openSample(ledger.database, tenantId, keys, { rows, step });
  expect(opened).toBeGreaterThan(0);
  return broken.named.map(({ table, key }) => `${table} ${key}`);
}

it("opens as many rows of each table as are asked for, each once, or all", async () => {
  await damagedTokens(60);
  for (const step of [undefined, 1, 7, 30, 59, 60, 61]) {
    const some = await sampled(20, step);
    expect([some.length, new Set(some).size]).toEqual([20, 20]);
    const all = Array.from({ length: 60 }, (_, n) => `tokens token-${n + 1}`).sort();
    for (const rows of [60, 80]) expect([...(await sampled(rows, step))].sort()).toEqual(all);
  }
});

it("may open any row", async () => {
  await damagedTokens(12);
  const seen = new Set<string>();
  await expect
    .poll(async () => {
      for (const key of await sampled(3, 5)) seen.add(key);
      return seen.size;
    })
    .toBe(12);
});

it("reads no more rows of a large table", async () => {
  await damagedTokens(50_000);
  const { owner, address } = ledger.stored;
  await owner.unsafe("vacuum analyze tokens");
  const read = async () => {
    const [row] = await owner<{ n: number }[]>`
      select coalesce(sum(idx_tup_fetch), 0)::int as n from pg_stat_user_tables where relname = 'tokens'`;
    return row?.n ?? Number.NaN;
  };
  const backends = async () => {
    const [row] = await owner<{ n: number }[]>`
      select count(*)::int as n from pg_stat_activity where backend_type = 'client backend'`;
    return row?.n ?? Number.NaN;
  };
  const keys = await ledger.keyring.of(tenantId);
  const known = await backends();
  const before = await read();
  const opened = openDatabase({ address, sharedConnections: 1, bulkConnections: 1, clock: ledger.clock });
  const { broken } = await openSample(opened, tenantId, keys, { rows: 20 });
  expect(broken.count).toBe(20);
  await opened[Symbol.asyncDispose]();
  // A connection reports its counters when it ends, at the latest.
  await expect.poll(backends).toBeLessThanOrEqual(known);
  expect((await read()) - before).toBeLessThan(1_000);
});
