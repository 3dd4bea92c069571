import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, inject, it } from "vitest";
import { type FeedCaller, LogFeeds } from "../../src/audit/follow/log-feed.js";
import { endOfLog, LogFollower } from "../../src/audit/follow/log-follower.js";
import { systemClock } from "../../src/base/clock.js";
import { Fault } from "../../src/base/fault.js";
import { isTenantId, type TenantId } from "../../src/base/ids.js";
import { readConfig } from "../../src/settings/config.js";
import { openVault, type Vault } from "../../src/vault/vault.js";
import { openStored, type Stored } from "../support/stored.js";
import { newTenant } from "../support/tenant.js";

const EVERYTHING = { entityTypes: undefined, entityId: undefined };

let vault: Vault;
let stored: Stored;
beforeAll(async () => {
  const config = readConfig(inject("serverEnvironment"));
  vault = await openVault({ config, as: "command", announce: () => {}, clock: systemClock });
  stored = await openStored();
});
afterAll(async () => {
  await stored?.[Symbol.asyncDispose]();
  await vault?.[Symbol.asyncDispose]();
});

async function tenantWithLog() {
  const { id } = await newTenant();
  const tenantId = tenantIdOf(id);
  let reads = 0;
  const caller = (revision = 1): FeedCaller => ({
    revision,
    hasEnded: false,
    read(work) {
      reads += 1;
      return vault.database.of(tenantId).bulk(work);
    },
  });
  const insert = (entityId: string, count = 1) =>
    stored.change(
      id,
      `insert into audit_logs (tenant_id, created_at, id, entity_type, entity_id, operation, message, outcome)
       select '${id}', clock_timestamp(), gen_random_uuid(), 'token', '${entityId}', 'create', 'row ' || n, 'allowed'
       from generate_series(1, ${count}) n`,
    );
  return { tenantId, caller, insert, reads: () => reads };
}

function tenantIdOf(id: string): TenantId {
  if (!isTenantId(id)) throw new Error("the tenant has another id");
  return id;
}

it("looks once for all readers, and each takes every row once", async () => {
  const { tenantId, caller, insert, reads } = await tenantWithLog();
  const feeds = new LogFeeds();
  const readers = Array.from({ length: 10 }, () => feeds.join(tenantId));
  await Promise.all(readers.map((reader) => reader.begin(caller())));
  for (const reader of readers) reader.startTaking();
  // Where the log ends, and the first look.
  expect(reads()).toBe(2);
  const entityId = randomUUID();
  await insert(entityId, 700);
  const taken = readers.map(() => new Set<string>());
  while (taken.some((ids) => ids.size < 700)) {
    const before = reads();
    await Promise.all(
      readers.map(async (reader, index) => {
        for (const row of (await reader.take(caller())).rows) {
          expect(taken[index]?.has(row.id)).toBe(false);
          if (row.entity_id === entityId) taken[index]?.add(row.id);
        }
      }),
    );
    expect(reads() - before).toBeLessThanOrEqual(1);
    await Promise.all(readers.map((reader) => reader.wait(AbortSignal.timeout(100))));
  }
});

it("ends a reader that is too slow, and keeps serving the others", async () => {
  const { tenantId, caller, insert } = await tenantWithLog();
  const feeds = new LogFeeds();
  const [slow, fast] = [feeds.join(tenantId), feeds.join(tenantId)];
  await slow.begin(caller());
  for (const reader of [slow, fast]) reader.startTaking();
  const entityId = randomUUID();
  await insert(entityId, 3_000);
  let count = 0;
  while (count < 3_000) {
    count += (await fast.take(caller())).rows.filter((row) => row.entity_id === entityId).length;
    await fast.wait(AbortSignal.timeout(100));
  }
  expect(count).toBe(3_000);
  await expect(slow.take(caller())).rejects.toMatchObject({ code: "unavailable" });
  slow.leave();
  fast.leave();
});

it("checks the rights of a reader whose tenant changed them since the look", async () => {
  const { tenantId, caller, reads } = await tenantWithLog();
  const feeds = new LogFeeds();
  const [one, other] = [feeds.join(tenantId), feeds.join(tenantId)];
  await one.begin(caller());
  other.startTaking();
  const before = reads();
  await other.take(caller());
  expect(reads()).toBe(before);
  await other.take(caller(2));
  expect(reads()).toBe(before + 1);
  const gone = new Fault("unauthenticated", "gone");
  await expect(other.take({ revision: 3, hasEnded: false, read: () => Promise.reject(gone) })).rejects.toBe(gone);
});

it("takes nothing for a caller whose key has ended, though no right has changed", async () => {
  const { tenantId, caller, reads } = await tenantWithLog();
  const reader = new LogFeeds().join(tenantId);
  await reader.begin(caller());
  reader.startTaking();
  const before = reads();
  const over = new Fault("unauthenticated", "over");
  let now = 0;
  const ending: FeedCaller = {
    revision: 1,
    get hasEnded() {
      return now >= 10;
    },
    read: () => Promise.reject(over),
  };
  await expect(reader.take(ending)).resolves.toMatchObject({ rows: [] });
  now = 10;
  await expect(reader.take(ending)).rejects.toBe(over);
  expect(reads()).toBe(before);
});

it("leaves the errors of a look to the reader that looked", async () => {
  const { tenantId, caller } = await tenantWithLog();
  const feeds = new LogFeeds();
  const [one, other] = [feeds.join(tenantId), feeds.join(tenantId)];
  const gone = new Fault("unauthenticated", "gone");
  const failed = one.begin({ revision: 1, hasEnded: false, read: () => Promise.reject(gone) });
  const begun = other.begin(caller());
  await expect(failed).rejects.toBe(gone);
  await expect(begun).resolves.toBeInstanceOf(Date);
});

it("finds the rows of a look again if its transaction runs twice", async () => {
  const { tenantId, insert } = await tenantWithLog();
  const start = await vault.database.of(tenantId).bulk(endOfLog);
  const follower = new LogFollower(EVERYTHING, start);
  const entityId = randomUUID();
  await insert(entityId);
  const looks = await vault.database
    .of(tenantId)
    .bulk(async (tx) => [await follower.poll(tx), await follower.poll(tx)]);
  expect(looks.map(({ rows }) => rows.map((row) => row.entity_id))).toEqual([[entityId], [entityId]]);
  for (const look of looks.slice(0, 1)) follower.accept(look);
  const next = await vault.database.of(tenantId).bulk((tx) => follower.poll(tx));
  expect(next).toMatchObject({ rows: [], isAll: true });
});
