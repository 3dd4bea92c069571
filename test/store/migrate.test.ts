import { setTimeout as pause } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { newUuid } from "../../src/base/ids.js";
import { Lease, withLease } from "../../src/store/jobs/lease.js";
import { migrate, pendingMigrations } from "../../src/store/migrate.js";
import { connect, type Sql } from "../../src/store/postgres/connect.js";
import { awaitedLater } from "../support/awaited-later.js";
import { PostgresCluster } from "../support/postgres-cluster.js";

let cluster: PostgresCluster;
beforeAll(async () => {
  cluster = await PostgresCluster.start();
});
afterAll(() => cluster?.[Symbol.asyncDispose]());

let databases = 0;
/** A new database with a login that may create roles; gone with the cluster. */
async function newDatabase(): Promise<{ url: string }> {
  databases += 1;
  const login = `vault_${databases}`;
  const url = await cluster.login(login, { attributes: "createrole" });
  await cluster.grantRoles(login);
  return { url };
}

async function withSql<T>(address: { url: string }, use: (sql: Sql) => Promise<T>): Promise<T> {
  const sql = connect(address, { connections: 1, statementTimeout: 10_000 });
  try {
    return await use(sql);
  } finally {
    await sql.end();
  }
}

async function tablesOf(address: { url: string }): Promise<string[]> {
  const rows = await withSql(
    address,
    (sql) => sql<{ name: string }[]>`select tablename as name from pg_tables where schemaname = 'public' order by 1`,
  );
  return rows.map(({ name }) => name);
}

describe("migrations", () => {
  it("bring an empty database up to date, in order, and then have nothing left to do", async () => {
    const address = await newDatabase();
    const pending = await pendingMigrations(address);
    expect(pending).toEqual(pending.toSorted());
    expect(pending[0]).toMatch(/^0001_/);
    expect(await migrate(address)).toEqual(pending);
    expect(await pendingMigrations(address)).toEqual([]);
    expect(await migrate(address)).toEqual([]);
    expect(await tablesOf(address)).toEqual(expect.arrayContaining(["tenants", "tokens", "audit_logs", "root_keys"]));
  });

  it("are found and run alone if they are newer", async () => {
    const address = await newDatabase();
    const all = await migrate(address);
    const last = all.at(-1) ?? "";
    await withSql(address, (sql) => sql`delete from migrations where name = ${last}`);
    expect(await pendingMigrations(address)).toEqual([last]);
    expect(await migrate(address)).toEqual([last]);
  });

  it("can each be run again on their own result: an interrupted one that was not recorded loses nothing", async () => {
    const address = await newDatabase();
    const all = await migrate(address);
    const before = await tablesOf(address);
    await withSql(address, (sql) => sql`delete from migrations`);
    expect(await migrate(address)).toEqual(all);
    expect(await tablesOf(address)).toEqual(before);
  });

  it("run once if several processes start concurrently, including roles, and the others wait", async () => {
    await using fresh = await PostgresCluster.start({ binaries: "bundled" });
    const address = { url: await fresh.login("vault", { attributes: "createrole" }) };
    const pending = await pendingMigrations(address);
    const ran = await Promise.all(Array.from({ length: 6 }, () => migrate(address)));
    expect(ran.flat().toSorted()).toEqual(pending);
    expect(ran.filter(({ length }) => length > 0)).toHaveLength(1);
    expect(await withSql(address, (sql) => sql`select * from leases`)).toHaveLength(0);
  });

  it("run once also if one of them takes longer than a lease lasts", async () => {
    const address = await newDatabase();
    const all = await migrate(address);
    await withSql(address, (sql) => sql`delete from migrations`);
    await withSql(address, async (sql) => {
      // Delays the first of them for longer than the lease.
      await sql`begin`;
      await sql`lock table tenants in access exclusive mode`;
      const both = awaitedLater(
        Promise.all([migrate(address, { leaseSeconds: 1 }), migrate(address, { leaseSeconds: 1 })]),
      );
      await pause(2_500);
      await sql`commit`;
      const ran = await both;
      expect(ran.flat()).toEqual(all);
    });
  });

  it("wait for a process that died, until its lease has expired", async () => {
    const address = await newDatabase();
    await migrate(address);
    await withSql(address, (sql) => leaseOn(sql, "migrate", 1).hold());
    expect(await migrate(address)).toEqual([]);
  });

  it("create the roles together in two databases of one cluster", async () => {
    await using fresh = await PostgresCluster.start();
    const urls = [
      await fresh.login("one", { attributes: "createrole" }),
      await fresh.login("two", { attributes: "createrole" }),
    ];
    const [one, two] = await Promise.allSettled(urls.map((url) => migrate({ url })));
    // From PostgreSQL 16 on only the creator of a role may grant it: the other login gets the grants to run.
    const granted = { status: "fulfilled" };
    const told = {
      status: "rejected",
      reason: {
        name: "DatabaseSetupError",
        message: expect.stringMatching(/\ngrant cloakroom_app, cloakroom_jobs to "(one|two)";$/),
      },
    };
    const outcomes = [one, two].toSorted((a, b) => (a?.status ?? "").localeCompare(b?.status ?? ""));
    expect(outcomes).toMatchObject(fresh.major >= 16 ? [granted, told] : [granted, granted]);
  });
});

describe("a login without the necessary privileges", () => {
  it("gets the statements for an administrator, which then suffice", async () => {
    await using fresh = await PostgresCluster.start();
    const address = { url: await fresh.login("vault") };
    const refusal = await migrate(address).catch((error: unknown) => error);
    expect(refusal).toMatchObject({ name: "DatabaseSetupError" });
    const statements = refusal instanceof Error ? refusal.message.split("\n").slice(1) : [];
    expect(statements).toEqual([
      "create role cloakroom_app nologin nosuperuser nobypassrls;",
      "create role cloakroom_jobs nologin nosuperuser nobypassrls;",
      'grant cloakroom_app, cloakroom_jobs to "vault";',
    ]);
    for (const statement of statements) await fresh.admin.unsafe(statement);
    expect(await migrate(address)).not.toEqual([]);
  });

  it("gets the missing grants if the roles exist already", async () => {
    const address = await newDatabase();
    await migrate(address);
    const outsider = await cluster.login("Another-Vault");
    await expect(migrate({ url: outsider })).rejects.toThrow(
      /start again:\ngrant cloakroom_app, cloakroom_jobs to "Another-Vault";$/,
    );
  });

  it("gets the missing grants if it may create no tables", async () => {
    await newDatabase();
    const outsider = await cluster.login("outsider", { attributes: "createrole", ownsDatabase: false });
    await expect(migrate({ url: outsider.replace(/\/outsider$/, `/vault_${databases}`) })).rejects.toThrow(
      /start again:\ngrant create on schema public to "outsider";$/,
    );
  });
});

/** A lease as each process creates its own. */
function leaseOn(sql: Sql, name: string, seconds = 60): Lease {
  return new Lease(async (query) => await query(sql), name, seconds);
}

describe("a lease", () => {
  let address: { url: string };
  beforeAll(async () => {
    address = await newDatabase();
    await migrate(address);
  });

  it("is held by one holder, which alone may renew and release it", async () => {
    const work = newUuid();
    await withSql(address, async (sql) => {
      const [one, two] = [leaseOn(sql, work), leaseOn(sql, work)];
      expect(await one.hold()).toBe(true);
      expect(await two.hold()).toBe(false);
      expect(await leaseOn(sql, newUuid()).hold()).toBe(true);
      expect(await one.hold()).toBe(true);
      await two.release();
      expect(await two.hold()).toBe(false);
      await one.release();
      expect(await two.hold()).toBe(true);
      await one.release();
      expect(await leaseOn(sql, work).hold()).toBe(false);
    });
  });

  it("is renewed before it expires, with one query per quarter of its time", async () => {
    const work = newUuid();
    await withSql(address, async (sql) => {
      let asked = 0;
      const lease = new Lease(
        async (query) => {
          asked += 1;
          return await query(sql);
        },
        work,
        4,
      );
      const until = async () => (await sql`select until from leases where name = ${work}`)[0]?.until.getTime();
      for (let attempt = 0; attempt < 5; attempt += 1) expect(await lease.hold()).toBe(true);
      expect(asked).toBe(1);
      const first = await until();
      await expect
        .poll(
          async () => {
            await lease.hold();
            return asked;
          },
          { timeout: 10_000 },
        )
        .toBe(2);
      expect(await until()).toBeGreaterThan(first);
    });
  });

  it("is free once it has expired, on the database's clock", async () => {
    const work = newUuid();
    await withSql(address, async (sql) => {
      const [one, two] = [leaseOn(sql, work), leaseOn(sql, work)];
      await one.hold();
      await sql`update leases set until = clock_timestamp() - interval '1 millisecond' where name = ${work}`;
      expect(await two.hold()).toBe(true);
      await one.release();
      expect(await one.hold()).toBe(false);
      expect(await leaseOn(sql, work).hold()).toBe(false);
    });
  });

  it("goes to exactly one of many concurrent requests", async () => {
    const work = newUuid();
    const sqls = Array.from({ length: 8 }, () => connect(address, { connections: 1, statementTimeout: 10_000 }));
    const got = await Promise.all(sqls.map((sql) => leaseOn(sql, work).hold()));
    expect(got.filter(Boolean)).toHaveLength(1);
    await Promise.all(sqls.map((sql) => sql.end()));
  });

  it("is released if the work under it fails, and lets one at a time work", async () => {
    const work = newUuid();
    const failing = withLease(address, work, 60, async () => {
      throw new Error("failed");
    });
    await expect(failing).rejects.toThrow("failed");
    let working = 0;
    const most = await Promise.all(
      Array.from({ length: 3 }, () =>
        withLease(address, work, 60, async () => {
          working += 1;
          const now = working;
          await pause(20);
          working -= 1;
          return now;
        }),
      ),
    );
    expect(most).toEqual([1, 1, 1]);
  });
});
