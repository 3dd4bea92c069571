// Computes: 60 s
import { mkdir, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { archiveOldLog } from "../../src/audit/archive/archive-old-log.js";
import { archivedFile, type LogArchive } from "../../src/audit/archive/log-archive.js";
import { restartChain } from "../../src/audit/chain/restart-chain.js";
import type { ExportRange } from "../../src/audit/export/export-range.js";
import { ArchivedLog } from "../../src/audit/follow/archived-log.js";
import { findLogRows } from "../../src/audit/follow/find-log-rows.js";
import { type LogQuery, prepareLogPage } from "../../src/audit/follow/log-page.js";
import { logEntry } from "../../src/audit/log-entry.js";
import { verifyExport } from "../../src/audit/verify/verify-export.js";
import { openTarget } from "../../src/backups/open-target.js";
import { newUuid, type TenantId } from "../../src/base/ids.js";
import { logSigningKey } from "../../src/crypto/log-signing.js";
import { readBuckets } from "../../src/settings/buckets.js";
import { writeLog } from "../../src/store/audit/audit-logs.js";
import { listLogPartitions, monthStart } from "../../src/store/audit/log-partitions.js";
import { startBucket } from "../backups/bucket-server.js";
import { exportMonth, piecesOf, readPages } from "./support/archived-log.js";
import { type Ledger, MINUTE, openLedger } from "./support/ledger.js";

const DAY = 24 * 60 * MINUTE;
const RETENTION = { retentionDays: 40 };

let ledger: Ledger;
let now: Date;
let directory: string;
beforeEach(async () => {
  ledger = await openLedger();
  now = new Date(ledger.clock.time);
  directory = join(ledger.stored.dataDir, "..", "log-archive");
  await mkdir(directory);
  ledger.settings.archiving = openTarget(directory, readBuckets({}));
});
afterEach(() => ledger?.[Symbol.asyncDispose]());

const month = (ago: number) => monthStart(now, -ago);
const fileOf = (tenantId: TenantId, ago: number) => join(directory, archivedFile(tenantId, month(ago)));
const partitions = async () => (await listLogPartitions(ledger.stored.owner)).map(({ from }) => from);
const archive = (): LogArchive => {
  const { archiving } = ledger.settings;
  if (typeof archiving !== "object") throw new Error("no archive");
  return archiving;
};

async function write(tenantId: TenantId, at: number, rows: number) {
  ledger.clock.time = at;
  await ledger.log(tenantId, rows);
}

async function seal(time = ledger.clock.time + 3 * MINUTE) {
  ledger.clock.time = time;
  expect(await ledger.runJob(RETENTION)).toEqual({ failed: [], broken: [] });
}

/** Tenants with rows three months ago and in the last month, all sealed, at the present time. */
async function aged(count = 2): Promise<readonly TenantId[]> {
  ledger.clock.time = month(3).getTime() + 10 * DAY;
  const tenants: TenantId[] = [];
  for (let made = 0; made < count; made += 1) tenants.push(await ledger.newTenant());
  await seal();
  for (const tenantId of tenants) await write(tenantId, month(1).getTime() + 10 * DAY, 6);
  await seal();
  await seal(now.getTime());
  return tenants;
}

async function firstOf(tenants: Promise<readonly TenantId[]>): Promise<TenantId> {
  const [first] = await tenants;
  if (!first) throw new Error("no tenant");
  return first;
}

async function fingerprintOf(tenantId: TenantId) {
  return logSigningKey((await ledger.keyring.of(tenantId)).audit, tenantId).fingerprint;
}

/** All pages of a list, as callers of a server with this archive get them. */
const pagesOf = (tenantId: TenantId, query: Partial<LogQuery> = {}, from: LogArchive | "none" = archive()) =>
  readPages(ledger, { tenantId, archive: from, ...query });

describe("the archive of the log", () => {
  it("has a file of each tenant and month, which an auditor can verify, before the month is removed", async () => {
    const tenants = await aged();
    const before = await Promise.all(tenants.map((tenantId) => pagesOf(tenantId)));
    expect(await ledger.turnMonths(RETENTION)).toEqual([]);
    expect(ledger.unarchived).toEqual([]);
    expect((await partitions())[0]).toEqual(month(1));
    expect(await readdir(directory)).toEqual(
      tenants.flatMap((tenantId) => [3, 2].map((ago) => archivedFile(tenantId, month(ago)))).toSorted(),
    );
    for (const [index, tenantId] of tenants.entries()) {
      const file = [await readFile(fileOf(tenantId, 3))];
      const verdict = await verifyExport(piecesOf(file), { fingerprint: await fingerprintOf(tenantId) });
      expect(verdict).toMatchObject({ state: "good", rows: 4, warnings: [], sealedUntil: month(2) });
      const idle = [await readFile(fileOf(tenantId, 2))];
      expect(await verifyExport(piecesOf(idle), { fingerprint: await fingerprintOf(tenantId) })).toMatchObject({
        ...{ state: "good", rows: 0, warnings: [] },
      });
      expect(await pagesOf(tenantId)).toEqual(before[index]);
      expect(await ledger.verifyAttested(tenantId)).toMatchObject({ rows: 6, findings: [] });
    }
    // Sealing goes on, and keeps what the head says of the archive.
    const [first] = tenants;
    if (!first) return;
    await write(first, now.getTime(), 2);
    await seal();
    expect((await pagesOf(first)).flat()).toHaveLength(12);
  });

  it("may be down: months stay, and are archived when it works again", async () => {
    const tenants = await aged();
    await rename(directory, `${directory}-away`);
    expect(await ledger.turnMonths(RETENTION)).toMatchObject([{ month: month(3), tenants: expect.any(Array) }]);
    expect(ledger.unarchived).toEqual([
      `The directory ${directory} cannot be written to: it or the file does not exist.`,
    ]);
    await seal(now.getTime() + DAY);
    expect(await ledger.turnMonths(RETENTION)).toHaveLength(1);
    for (const tenantId of tenants) expect((await pagesOf(tenantId)).flat()).toHaveLength(10);
    await rename(`${directory}-away`, directory);
    expect(await ledger.turnMonths(RETENTION)).toEqual([]);
    // Then a page is not complete without it, and is refused; newer rows are there.
    await rename(directory, `${directory}-away`);
    for (const tenantId of tenants) {
      await expect(pagesOf(tenantId)).rejects.toMatchObject({
        ...{ code: "unavailable", retryAfter: 60, message: expect.stringContaining("are in the archive of the log") },
      });
      expect((await pagesOf(tenantId, { startDate: month(1).toISOString() })).flat()).toHaveLength(6);
    }
  });

  it("frees no log of a server without the setting, and ends with `off`", async () => {
    const tenantId = await firstOf(aged(1));
    await ledger.turnMonths({ retentionDays: 75 });
    const head = async () => {
      const heads = await ledger.rows<object>(tenantId, "select kept_from, archived_from from audit_heads");
      return heads[0];
    };
    const archived = { kept_from: month(2), archived_from: month(3) };
    expect(await head()).toEqual(archived);
    await seal(now.getTime() + DAY);
    ledger.settings.archiving = undefined;
    await seal(now.getTime() + 2 * DAY);
    expect(await head()).toEqual(archived);
    ledger.settings.archiving = "off";
    await seal(now.getTime() + 3 * DAY);
    expect(await head()).toEqual({ kept_from: month(1), archived_from: null });
  });

  it("does not take the place of rows that were changed, or that no seal covers, until an operator has seen it", async () => {
    const [first, second] = await aged();
    if (!first || !second) throw new Error("no tenants");
    await ledger.tamper(
      first,
      "update audit_logs set message = 'nothing' where created_at < now() - interval '70 days'",
    );
    await ledger.tamper(
      second,
      "insert into audit_logs (tenant_id, created_at, id, entity_type, entity_id, operation, message, outcome) select tenant_id, created_at + interval '5 minutes', gen_random_uuid(), 'token', 'x', 'read', 'Token retrieved', 'allowed' from audit_logs order by created_at limit 1",
    );
    expect(await ledger.turnMonths(RETENTION)).toEqual([
      { month: month(3), tenants: expect.arrayContaining([first, second]) },
    ]);
    expect(ledger.unarchived).toEqual([
      expect.stringContaining("rows of this minute are not those that were sealed"),
      expect.stringContaining("it has 4 rows, and the log 5"),
    ]);
    expect((await partitions()).length).toBeGreaterThan(4);
    const known = await ledger.verify(first);
    await restartChain(ledger, first, known);
    await seal();
    expect(await ledger.turnMonths(RETENTION)).toEqual([{ month: month(3), tenants: [second] }]);
  });

  it("takes the place of no row that it misses, whatever an operator has seen of the others", async () => {
    const tenantId = await firstOf(aged(1));
    await ledger.tamper(
      tenantId,
      "update audit_logs set message = 'nothing' where created_at < now() - interval '70 days'",
    );
    await ledger.tamper(
      tenantId,
      "insert into audit_logs (tenant_id, created_at, id, entity_type, entity_id, operation, message, outcome) select tenant_id, created_at + interval '5 minutes', gen_random_uuid(), 'token', 'x', 'read', 'Token retrieved', 'allowed' from audit_logs order by created_at limit 1",
    );
    await ledger.turnMonths(RETENTION);
    await restartChain(ledger, tenantId, await ledger.verify(tenantId));
    await seal();
    expect(await ledger.turnMonths(RETENTION)).toEqual([{ month: month(3), tenants: [tenantId] }]);
    expect(ledger.unarchived.at(-1)).toContain("it has 4 rows, and the log 5");
  });

  it("is not believed if a file is altered, truncated, missing, or of another tenant, month, moment or vault", async () => {
    const [first, second] = await aged();
    if (!first || !second) throw new Error("no tenants");
    const half = await exported(first, { since: month(3), until: month(2) }, false);
    await ledger.turnMonths(RETENTION);
    const removed = await exported(first, { since: month(3), until: month(2) }, true);
    const file = fileOf(first, 3);
    const whole = await readFile(file);
    const refused = async (content: Buffer | string) => {
      await writeFile(file, content);
      // The operator's log shows the cause.
      const cause = { message: expect.stringContaining(archivedFile(first, month(3))) };
      await expect(pagesOf(first)).rejects.toMatchObject({ code: "unavailable", cause });
    };
    for (const at of fc.sample(fc.integer({ min: 0, max: whole.length - 1 }), 40)) {
      const changed = Buffer.from(whole);
      changed[at] = (changed[at] ?? 0) ^ 1;
      await refused(changed);
      await refused(whole.subarray(0, at));
    }
    await refused(Buffer.concat([whole, Buffer.from("\n")]));
    await refused(await readFile(fileOf(second, 3)));
    await refused(await readFile(fileOf(first, 2)));
    await refused(half);
    await refused(removed);
    await refused("");
    await rm(file);
    await expect(pagesOf(first)).rejects.toMatchObject({ code: "unavailable" });
    await writeFile(file, whole);
    expect((await pagesOf(first)).flat()).toHaveLength(10);
    await ledger.tamper(first, "update audit_heads set archived_from = null");
    await expect(pagesOf(first)).rejects.toMatchObject({ code: "unavailable" });
    expect((await ledger.verify(first)).findings).toContainEqual(expect.objectContaining({ kind: "end_changed" }));
  });

  it("is a bucket too, and each step may be the last of its process", async () => {
    const login = { accessKeyId: "AKIATEST", secretAccessKey: "s3cr3t-of-the-bucket" };
    await using bucket = await startBucket("log", login);
    const tenants = await aged();
    const before = await Promise.all(tenants.map((tenantId) => pagesOf(tenantId, {}, "none")));
    ledger.settings.archiving = openTarget(
      "s3://log/archive",
      readBuckets({
        CLOAKROOM_S3_ENDPOINT: bucket.endpoint,
        CLOAKROOM_S3_REGION: "eu-central-1",
        CLOAKROOM_S3_ACCESS_KEY_ID: login.accessKeyId,
        CLOAKROOM_S3_SECRET_ACCESS_KEY: login.secretAccessKey,
      }),
    );
    // Each run gets one request further, and all others fail, as if the process had been killed there.
    for (let allowed = 0; allowed < 12; allowed += 1) {
      let seen = 0;
      bucket.refuse = () => (++seen > allowed ? { status: 503, code: "SlowDown" } : undefined);
      await ledger.turnMonths(RETENTION);
      bucket.refuse = () => undefined;
      for (const [index, tenantId] of tenants.entries()) expect(await pagesOf(tenantId)).toEqual(before[index]);
    }
    expect(await ledger.turnMonths(RETENTION)).toEqual([]);
    expect((await partitions())[0]).toEqual(month(1));
    const files = tenants.map((tenantId) => `archive/${archivedFile(tenantId, month(3))}`);
    expect([...bucket.objects.keys()]).toEqual(expect.arrayContaining(files));
  });

  it("goes on after a kill before and after each file, whatever was written", async () => {
    const tenantId = await firstOf(aged(1));
    const parts = { ...ledger.another(), address: ledger.stored.address };
    const times = { oldest: month(1), now: new Date(ledger.clock.time), signal: new AbortController().signal };
    const killed = new Error("killed");
    const real = archive();
    const dies = (before: boolean): LogArchive => ({
      ...{ name: real.name, read: (name) => real.read(name) },
      async write(name, content) {
        if (!before) await real.write(name, content);
        throw killed;
      },
    });
    for (const before of [true, false, true]) {
      await archiveOldLog({ ...parts, archive: dies(before) }, tenantId, times).catch(() => undefined);
      expect(await pagesOf(tenantId)).toEqual(await pagesOf(tenantId, {}, "none"));
    }
    await Promise.all(
      [1, 2].map(() => archiveOldLog({ ...parts, archive: real }, tenantId, times).catch(() => undefined)),
    );
    expect(await ledger.turnMonths(RETENTION)).toEqual([]);
    expect((await pagesOf(tenantId)).flat()).toHaveLength(10);
  });

  it("keeps what a deleted tenant's log was, and nothing of it is in the way of others", async () => {
    const [first, second] = await aged();
    if (!first || !second) throw new Error("no tenants");
    const fingerprint = await fingerprintOf(first);
    await ledger.turnMonths({ retentionDays: 75 });
    await ledger.stored.owner`update tenants set state = 'deleted' where tenant_id = ${first}`;
    expect(await ledger.turnMonths(RETENTION)).toEqual([]);
    const file = [await readFile(fileOf(first, 3))];
    expect(await verifyExport(piecesOf(file), { fingerprint })).toMatchObject({ state: "good", rows: 4 });
    expect((await pagesOf(second)).flat()).toHaveLength(10);
  });
});

const filter = fc.record(
  {
    entityType: fc.constantFrom("token", "card", "proxy"),
    entityId: fc.constantFrom("token-0", 'quote"d', "ü"),
    outcome: fc.constantFrom("allowed", "denied"),
    operation: fc.constantFrom("read", "create"),
    sourceIp: fc.constantFrom("203.0.113.0/24", "203.0.113.7", "2001:db8::/32", "::ffff:0:0/96"),
    hasReason: fc.boolean(),
    client: fc.constantFrom("curl", "browser"),
  },
  { requiredKeys: [] },
);
const row = fc.record({
  ago: fc.constantFrom(1, 2, 3),
  day: fc.integer({ min: 0, max: 27 }),
  entityType: fc.constantFrom("token" as const, "card" as const, "proxy" as const),
  entityId: fc.constantFrom("token-0", 'quote"d', "ü", '"outcome":"denied"'),
  operation: fc.constantFrom("read" as const, "create" as const),
  outcome: fc.constantFrom("allowed" as const, "denied" as const),
  address: fc.constantFrom("203.0.113.7", "198.51.100.1", "2001:db8::1", "::ffff:203.0.113.7", undefined),
  client: fc.constantFrom("curl", "browser"),
  reason: fc.constantFrom('said "source_ip":"203.0.113.7"', undefined),
  trace: fc.constantFrom(...Array.from({ length: 3 }, () => newUuid())),
});

it("lists the same pages before and after, whatever the rows, filters and sizes", async () => {
  let crossed = 0;
  await fc.assert(
    fc.asyncProperty(
      fc.array(row, { minLength: 4, maxLength: 10 }),
      fc.array(fc.record({ filter, size: fc.integer({ min: 2, max: 12 }), wholeCalls: fc.boolean() }), {
        minLength: 4,
        maxLength: 4,
      }),
      async (rows, lists) => {
        ledger.clock.time = month(3).getTime() - DAY;
        const tenantId = await ledger.newTenant();
        await seal();
        const inOrder = rows.toSorted((one, other) => other.ago - one.ago || one.day - other.day);
        for (const { ago, day, address, client, reason, trace, entityType, entityId, operation, outcome } of inOrder) {
          ledger.clock.time = month(ago).getTime() + day * DAY;
          const context = { address, client, traceId: trace, reason, via: undefined, destinationHost: undefined };
          await ledger.database.of(tenantId).shared(async (tx) => {
            for (let n = 0; n < 2; n += 1)
              writeLog(tx, logEntry(entityType, entityId, operation, { outcome, context }));
          });
        }
        await seal();
        await seal(now.getTime());
        const times = [month(4), month(3), month(2), new Date(month(1).getTime() + 5 * DAY)];
        const queries = lists.map(({ filter: asked, size, wholeCalls }, index) => {
          // Filters without an index need a time.
          const startDate = times[index % times.length]?.toISOString();
          const endDate = new Date(new Date(startDate ?? 0).getTime() + 31 * DAY).toISOString();
          const isNarrow = Object.keys(asked).length > 0;
          return { ...asked, size, wholeCalls, ...(isNarrow ? { startDate, endDate } : {}) };
        });
        const before: (readonly (readonly string[])[])[] = [];
        for (const query of queries) before.push(await pagesOf(tenantId, query, "none"));
        const numbered = await pageNumber(tenantId, 2, undefined);
        await ledger.turnMonths(RETENTION);
        await ledger.turnMonths(RETENTION);
        expect(ledger.unarchived).toEqual([]);
        // A month without rows has no partition.
        expect((await partitions())[0]?.getTime()).toBeGreaterThanOrEqual(month(1).getTime());
        for (const [index, query] of queries.entries()) expect(await pagesOf(tenantId, query)).toEqual(before[index]);
        expect(await pageNumber(tenantId, 2, archive())).toEqual(numbered);
        if (rows.some(({ ago }) => ago > 1)) crossed += 1;
        for (const name of await readdir(directory)) await rm(join(directory, name));
        await ledger.stored.owner`update tenants set state = 'deleted' where tenant_id = ${tenantId}`;
        await ledger.stored.owner`delete from leases`;
      },
    ),
    { numRuns: 5, endOnFailure: true },
  );
  expect(crossed).toBeGreaterThan(0);
});

async function pageNumber(tenantId: TenantId, page: number, from: LogArchive | undefined) {
  const keys = await ledger.keyring.of(tenantId);
  const log = from && new ArchivedLog({ database: ledger.database, keys, archive: from });
  const read = prepareLogPage(keys, { page, size: 7 }, new Date(ledger.clock.time));
  const found = await ledger.database
    .of(tenantId)
    .bulk((tx) => (log ? log.pageIn(tx, read) : read((listing) => findLogRows(tx, listing))));
  const { rows } = typeof found === "function" ? await found() : found;
  return rows.map((row) => JSON.stringify(row));
}

const exported = (tenantId: TenantId, range: ExportRange, isWhole: boolean) =>
  exportMonth(ledger, tenantId, { ...range, isWhole });
