// Computes: 20 s
import { rmSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { systemClock } from "../../../src/base/clock.js";
import { isTenantId, type TenantId } from "../../../src/base/ids.js";
import { sweepJobs } from "../../../src/jobs/sweep.js";
import { readConfig } from "../../../src/settings/config.js";
import { openDatabase } from "../../../src/store/database.js";
import { connect, type Sql } from "../../../src/store/postgres/connect.js";
import { Keyring } from "../../../src/tenancy/keyring.js";
import { Tenants } from "../../../src/tenancy/tenants.js";
import { openVault, type Vault } from "../../../src/vault/vault.js";
import { asTenant } from "../../support/databases.js";
import { copyMigratedData } from "../../support/migrated-data.js";
import { newDirectory } from "../../support/new-directory.js";
import { type Replica, startReplica } from "../../support/replica.js";
import { restClient } from "../../support/rest.js";
import { newTenant } from "../../support/tenant.js";
import { expectBooksBalanced } from "../support/simulator-store.js";

const EXPIRING = 4_000;
const KEPT = 50;

describe("a sweep that is killed midway", () => {
  const directory = newDirectory();
  const environment = { CLOAKROOM_DATA_DIR: copyMigratedData(join(directory, "data")) };
  const config = readConfig(environment);
  let server: Replica;
  let tenantId: TenantId;
  beforeAll(async () => {
    server = await startReplica(environment);
    const tenant = await newTenant(server.url, environment);
    if (!isTenantId(tenant.id)) throw new Error("this is no tenant");
    tenantId = tenant.id;
    const { key } = await tenant.backEnd();
    const client = restClient(server.url, key);
    const metadata = { swept: "together" };
    const expiring = { type: "token", data: "over", expires_at: "2090-01-01", metadata };
    const hundreds = Array.from({ length: EXPIRING / 100 }, () => Array.from({ length: 100 }, () => expiring));
    await Promise.all(hundreds.map((body) => client("POST", "/tokenize", { body })));
    const kept = Array.from({ length: KEPT }, () => ({ type: "token", data: "kept", metadata }));
    await client("POST", "/tokenize", { body: kept });
  });
  afterAll(async () => {
    await server?.stop();
    rmSync(directory, { recursive: true, force: true });
  });

  const open = () => openVault({ config, as: "command", announce: () => {}, clock: systemClock });
  const count = async (sql: Sql, query: string): Promise<number> =>
    (await asTenant<{ n: number }>(sql, tenantId, `select count(*)::int as n from ${query}`))[0]?.n ?? Number.NaN;
  const expired = (sql: Sql) => count(sql, "audit_logs where operation = 'expire'");

  /** All of the expiring tokens have expired, as if years had passed; one of them is the last. */
  const expireAll = (sql: Sql) =>
    asTenant(
      sql,
      tenantId,
      `update tokens set expires_at = now() - interval '2 minutes' where expires_at is not null;
       update tokens set expires_at = now() - interval '1 minute'
       where id = (select max(id) from tokens where expires_at is not null)`,
    );
  const noteDue = (sql: Sql) =>
    asTenant(
      sql,
      tenantId,
      `insert into due values ('${tenantId}', 'token', date_trunc('minute', now()) - interval '2 minutes')`,
    );

  /** Another replica's sweep. It has its own lease, so both sweep concurrently. */
  async function sweepBeside({ address, rootKeys }: Vault, failures: unknown[]): Promise<void> {
    await using database = openDatabase({ address, sharedConnections: 1, bulkConnections: 2, clock: systemClock });
    const jobs = sweepJobs({
      database: { ...database, lease: (name, seconds) => database.lease(`${name}, another`, seconds) },
      tenants: new Tenants(database, new Keyring(database, rootKeys)),
      clock: systemClock,
      onFailure: (_, error) => failures.push(error),
    });
    await Promise.all(jobs.map((job) => job.run(new AbortController().signal)));
  }

  it("is finished by several replicas concurrently: each token is removed once, with one row in the log", async () => {
    const vault = await open();
    const sql = connect(vault.ownerAddress, { connections: 1, statementTimeout: 120_000 });
    const holder = connect(vault.ownerAddress, { connections: 1, statementTimeout: 120_000 });
    await expireAll(sql);
    // The sweep cannot finish before it is killed: the last of its tokens is locked.
    const [held, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const holding = holder.begin(async (tx) => {
      // The next sweep begins within 15 s; an idle transaction of this connection ends after 10 s.
      await tx`set local idle_in_transaction_session_timeout = 0`;
      await tx`select set_config('app.tenant_id', ${tenantId}, true)`;
      await tx`select 1 from tokens where expires_at is not null order by expires_at desc limit 1 for update`;
      held.resolve();
      await released.promise;
    });
    await held.promise;
    await noteDue(sql);
    await expect.poll(() => expired(sql), { interval: 1 }).toBeGreaterThan(0);
    await server.stop("SIGKILL");
    released.resolve();
    await holding;
    await Promise.all([sql.end(), holder.end()]);
    await vault[Symbol.asyncDispose]();

    await using survivor = await open();
    const beside = connect(survivor.ownerAddress, { connections: 1, statementTimeout: 120_000 });
    const swept = await expired(beside);
    expect(swept).toBeGreaterThan(0);
    expect(swept, "it was killed too late").toBeLessThan(EXPIRING);
    expect((await expectBooksBalanced(survivor.ownerAddress, tenantId)).tokens).toBe(EXPIRING + KEPT - swept);

    const failures: unknown[] = [];
    await Promise.all(Array.from({ length: 3 }, () => sweepBeside(survivor, failures)));
    expect(failures).toEqual([]);
    expect((await expectBooksBalanced(survivor.ownerAddress, tenantId)).tokens).toBe(KEPT);
    expect(await expired(beside)).toBe(EXPIRING);
    expect(await count(beside, "due where kind = 'token' and due_at <= now()")).toBe(0);
    await beside.end();
  });
});
