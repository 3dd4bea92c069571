import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { systemClock } from "../../src/base/clock.js";
import { newTenantId, type TenantId } from "../../src/base/ids.js";
import { KEY_PURPOSES } from "../../src/crypto/tenant-keys.js";
import type { Job } from "../../src/jobs/schedule.js";
import { type SweepParts, sweepJobs } from "../../src/jobs/sweep.js";
import { type Database, openDatabase } from "../../src/store/database.js";
import { Keyring } from "../../src/tenancy/keyring.js";
import { Tenants } from "../../src/tenancy/tenants.js";
import { startDatabase, type TestDatabase } from "../support/databases.js";

describe("the sweeps", () => {
  let stored: TestDatabase;
  let database: Database;
  beforeAll(async () => {
    stored = await startDatabase();
    database = openDatabase({ address: stored.address, sharedConnections: 2, bulkConnections: 4, clock: systemClock });
  });
  afterAll(async () => {
    await database?.[Symbol.asyncDispose]();
    await stored?.[Symbol.asyncDispose]();
  });

  /** The root key's holder does not respond. */
  const silent = () => new Keyring(database, { find: () => new Promise(() => {}) });
  const jobs = (parts: Partial<SweepParts> = {}) =>
    sweepJobs({
      database,
      tenants: new Tenants(database, silent()),
      clock: systemClock,
      onFailure: () => {},
      ...parts,
    });
  const codesOf = (all: readonly Job[]) => {
    const job = all.find(({ name }) => name === "sweep of codes");
    if (!job) throw new Error("there is no sweep of codes");
    return job;
  };
  /** Codes that expired this many minutes ago. */
  const codes = async (count: number, minutes: number): Promise<TenantId> => {
    const tenantId = newTenantId();
    await stored.asTenant(
      tenantId,
      `insert into token_cvc (tenant_id, token_id, code, due_at)
       select '${tenantId}', 'token-' || n, '\\x01', now() - interval '${minutes} minutes' + n * interval '1 microsecond'
       from generate_series(1, ${count}) n;
       insert into due values ('${tenantId}', 'cvc', date_trunc('minute', now() - interval '${minutes} minutes'))`,
    );
    return tenantId;
  };
  const left = async (tenantId: TenantId): Promise<number> => {
    const [row] = await stored.asTenant<{ n: number }>(tenantId, "select count(*)::int as n from token_cvc");
    return row?.n ?? Number.NaN;
  };
  const leases = async () => (await stored.owner<{ name: string }[]>`select name from leases`).map(({ name }) => name);

  it("remove codes while the root key's holder does not respond, and tokens wait for it", async () => {
    const tenantId = newTenantId();
    await stored.asTenant(
      tenantId,
      `insert into tenants (tenant_id, name, owner_id, settings, state, auth_revision, event_types, created_at)
         values ('${tenantId}', '', '${tenantId}', '{}', 'active', 1, '{}', now());
       insert into tenant_keys (tenant_id, purpose, version, wrapped, root_key_id, state, created_at)
         select '${tenantId}', purpose, 1, '\\x01', 'unknown', 'current', now()
         from unnest(array['${KEY_PURPOSES.join("', '")}']) purpose;
       insert into due values ('${tenantId}', 'token', date_trunc('minute', now() - interval '9 minutes'))`,
    );
    const other = await codes(3, 5);
    const stopping = new AbortController();
    const failed: TenantId[] = [];
    const all = jobs({ onFailure: (failing) => failed.push(failing) });
    const runs = all.map((job) => job.run(stopping.signal));
    await runs[all.indexOf(codesOf(all))];
    expect(await left(other)).toBe(0);
    expect(failed).toEqual([]);
    stopping.abort();
    await stored.asTenant(tenantId, "delete from due");
    for (const job of all) await job.end?.();
  });

  it("take turns among tenants: one with many codes delays no other", async () => {
    const [many, few, failing] = [await codes(12_000, 9), await codes(1, 8), await codes(1, 7)];
    await stored.owner.unsafe(`
      create function refuse() returns trigger language plpgsql as $$ begin raise exception 'no'; end $$;
      create trigger refuse before delete on token_cvc for each row when (old.tenant_id = '${failing}')
        execute function refuse()`);
    const stopping = new AbortController();
    const failed: TenantId[] = [];
    const job = codesOf(
      jobs({
        onFailure(tenantId) {
          failed.push(tenantId);
          stopping.abort();
        },
      }),
    );
    await job.run(stopping.signal);
    expect(failed).toEqual([failing]);
    expect([await left(few), await left(many)]).toEqual([0, 7_000]);
    await stored.owner.unsafe("drop trigger refuse on token_cvc; drop function refuse");
    // The rest is found again, and the turns continue until nothing is left.
    await job.run(new AbortController().signal);
    expect([await left(failing), await left(many)]).toEqual([0, 0]);
    await job.end?.();
  });

  it("run on one replica at a time, and on another at once when that one stops", async () => {
    const [one, other] = [codesOf(jobs()), codesOf(jobs())];
    const run = (job: Job) => job.run(new AbortController().signal);
    await run(one);
    expect(await leases()).toContain("sweep of codes");
    const tenantId = await codes(1, 5);
    await run(other);
    expect(await left(tenantId)).toBe(1);
    await other.end?.();
    await run(other);
    expect(await left(tenantId)).toBe(1);
    await one.end?.();
    expect(await leases()).not.toContain("sweep of codes");
    await run(other);
    expect(await left(tenantId)).toBe(0);
    await other.end?.();
  });
});
