import { mkdirSync, mkdtempSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { archiveOldLog } from "../../../src/audit/archive/archive-old-log.js";
import { archivedFile, type LogArchive } from "../../../src/audit/archive/log-archive.js";
import { removeOldMonths } from "../../../src/audit/chain/log-months.js";
import { ArchivedLog } from "../../../src/audit/follow/archived-log.js";
import { findLogRows } from "../../../src/audit/follow/find-log-rows.js";
import { type LogQuery, prepareLogPage } from "../../../src/audit/follow/log-page.js";
import { logEntry } from "../../../src/audit/log-entry.js";
import { verifyExport } from "../../../src/audit/verify/verify-export.js";
import { openTarget } from "../../../src/backups/open-target.js";
import { MINUTE_MS } from "../../../src/base/clock.js";
import { newUuid } from "../../../src/base/ids.js";
import { logSigningKey } from "../../../src/crypto/log-signing.js";
import { readBuckets } from "../../../src/settings/buckets.js";
import { writeLog } from "../../../src/store/audit/audit-logs.js";
import { listLogPartitions, monthStart, monthsPartition } from "../../../src/store/audit/log-partitions.js";
import { readOnlyNumber } from "../options.js";
import { childNamed, ownProcessorTime, processorTime } from "../processor-time.js";
import { say } from "../table.js";
import { fillMonths, type LoggedTenant, MONTHS, type OldVault, openOldVault } from "./old-vault.js";
import { timed } from "./timed.js";

/** A log of months: `npm run bench:log -- 100000000` takes an hour and 50 GB of disk, in `BENCH_DIRECTORY`. */
const ROWS = readOnlyNumber("ROWS", 1_000_000);
const WRITTEN_MS = 15_000;
const WRITERS = 50;
const ROWS_A_CALL = 12;
const TRIES = 5;

const directory = mkdtempSync(join(process.env.BENCH_DIRECTORY ?? tmpdir(), "cloakroom-log-"));
await using old = await openOldVault(directory);
const oldest = monthsPartition(monthStart(new Date(), -MONTHS)).name;
// The owner's login obeys row-level security like any other, and the months are copied, counted and measured here.
await old.owner.unsafe(`alter table ${oldest} no force row level security`);
await fillMonths(old, ROWS);
const [tenant] = old.tenants;
if (!tenant) throw new Error("there is no tenant");
const postmaster = childNamed(process.pid, "-D");
await insertRate(old);
await sizes(old);
await old.owner.unsafe("vacuum analyze audit_logs");
await questions(old, tenant);
await archiveMonth(old, tenant);

/** As requests write rows: those of several calls share a transaction. */
async function insertRate({ vault, tenants, clock }: OldVault): Promise<void> {
  const [node, postgres, begun] = [ownProcessorTime(process.pid), processorTime(postmaster), performance.now()];
  let rows = 0;
  const writer = async (_: unknown, at: number) => {
    const tenantId = tenants[at % tenants.length]?.tenantId;
    while (tenantId && performance.now() - begun < WRITTEN_MS) {
      clock.time = Date.now();
      await vault.database.of(tenantId).shared(async (tx) => {
        for (let row = 0; row < ROWS_A_CALL; row += 1) writeLog(tx, logEntry("token", newUuid(), "read"));
      });
      rows += ROWS_A_CALL;
    }
  };
  await Promise.all(Array.from({ length: WRITERS }, writer));
  const seconds = (performance.now() - begun) / 1_000;
  const each = (micros: number) => `${(micros / rows).toFixed(0)} µs`;
  const [ofNode, ofDatabase] = [ownProcessorTime(process.pid) - node, processorTime(postmaster) - postgres];
  say(
    `inserts: ${Math.round(rows / seconds)} rows/s; of a processor Node ${each(ofNode)}, database ${each(ofDatabase)}`,
  );
}

async function sizes({ owner }: OldVault): Promise<void> {
  const [size] = await owner<{ rows: number; heap: number; indexes: number }[]>`
    select count(*)::int as rows, pg_table_size(${oldest}::text::regclass)::float8 as heap,
      pg_indexes_size(${oldest}::text::regclass)::float8 as indexes
    from ${owner(oldest)}`;
  const { rows = 1, heap = 0, indexes = 0 } = size ?? {};
  const each = (bytes: number) => (bytes / rows).toFixed(0);
  say(`bytes a row: ${each(heap + indexes)}, of which ${each(indexes)} are indexes (${rows} rows of a month)`);
}

async function questions(vault: OldVault, of: LoggedTenant): Promise<void> {
  const startDate = monthStart(new Date(), -1).toISOString();
  const month = { startDate, endDate: monthStart(new Date()).toISOString() };
  const actorId = of.actors[3];
  const asked: Record<string, Partial<LogQuery>> = {
    "no filter": {},
    entity_id: { entityId: "entity-0abcd" },
    actor_id: { actorId },
    "key_id with actor_id": { keyId: actorId, actorId },
    destination_host: { destinationHost: "host-40.example.com" },
    "outcome=denied": { outcome: "denied" },
    "entity_type=proxy": { entityType: "proxy" },
    "entity_type=member": { entityType: "member" },
    "key_id, a month": { keyId: actorId, ...month },
    "source_ip, a month": { sourceIp: "203.0.113.77", ...month },
    "trace_id of no row, a month": { traceId: newUuid(), ...month },
  };
  for (const [name, query] of Object.entries(asked)) say(`${name}: ${await timeOf(vault, of, query)}`);
}

/** The median and the longest time of a page of 20 rows. */
async function timeOf(
  { vault, clock }: OldVault,
  { tenantId }: LoggedTenant,
  query: Partial<LogQuery>,
  archive?: LogArchive,
): Promise<string> {
  const keys = await vault.keyring.of(tenantId);
  const times: number[] = [];
  let found = 0;
  for (let left = TRIES; left > 0; left -= 1) {
    const begun = performance.now();
    const read = prepareLogPage(keys, { page: 1, size: 20, ...query }, new Date(clock.time));
    const page = await vault.database
      .of(tenantId)
      .bulk((tx) =>
        archive
          ? new ArchivedLog({ database: vault.database, keys, archive }).pageIn(tx, read)
          : read((listing) => findLogRows(tx, listing)),
      );
    found = (typeof page === "function" ? await page() : page).rows.length;
    times.push(performance.now() - begun);
  }
  const sorted = times.toSorted((one, other) => one - other);
  return `${sorted[Math.floor(TRIES / 2)]?.toFixed(1)} ms (at most ${sorted.at(-1)?.toFixed(1)}), ${found} rows`;
}

async function archiveMonth(vault: OldVault, of: LoggedTenant): Promise<void> {
  const month = monthStart(new Date(), -MONTHS);
  const oldest = monthStart(month, 1);
  const archive = openTarget(join(directory, "archive"), readBuckets({}));
  mkdirSync(join(directory, "archive"));
  const parts = { ...vault.parts, archive, address: vault.vault.address };
  const page = { startDate: month.toISOString(), endDate: oldest.toISOString() };
  const before = await timeOf(vault, of, page);
  // The rows of later months are not sealed. An archive at a later time would seal them first.
  const now = new Date(oldest.getTime() + 10 * MINUTE_MS);
  const times = { oldest, now, signal: new AbortController().signal };
  for (const { tenantId } of vault.tenants) {
    const { seconds } = await timed(() => archiveOldLog(parts, tenantId, times));
    if (tenantId === of.tenantId) say(`archive of a tenant's month, verified: ${seconds.toFixed(2)} s`);
  }
  const name = archivedFile(of.tenantId, month);
  const { fingerprint } = logSigningKey((await vault.vault.keyring.of(of.tenantId)).audit, of.tenantId);
  const verified = await timed(() => verifyExport(bytesOf(archive, name), { fingerprint }));
  const { state, rows } = verified.result;
  const { size } = statSync(join(directory, "archive", name));
  const verifiedIn = `${verified.seconds.toFixed(2)} s`;
  say(`verification of the file: ${state}, ${rows} rows in ${verifiedIn}, ${Math.round(size / rows)} bytes a row`);
  const removed = await timed(() => removeOldMonths({ ...vault.vault, database: vault.parts.database }, oldest));
  const waiting = removed.result.blocked.length + removed.result.stuck.length;
  const left = (await listLogPartitions(vault.owner)).filter(({ from }) => from <= month).length;
  say(`retention by drop: ${removed.seconds.toFixed(2)} s, ${left} old months left, ${waiting} wait`);
  say(`a page of that month: before ${before}; from the archive ${await timeOf(vault, of, page, archive)}`);
  say(`a page of the newest rows with an archive: ${await timeOf(vault, of, {}, archive)}`);
}

async function* bytesOf(archive: LogArchive, name: string): AsyncGenerator<Buffer> {
  for await (const piece of archive.read(name)) yield Buffer.from(piece);
}
