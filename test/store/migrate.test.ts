import { cpSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { readBuildVersion } from "../../src/base/build-version.js";
import { newUuid } from "../../src/base/ids.js";
import { Lease, withLease } from "../../src/store/jobs/lease.js";
import { migrate, pendingMigrations } from "../../src/store/migrate.js";
import { LEDGER_TABLE } from "../../src/store/migration-ledger.js";
import { connect, type Sql } from "../../src/store/postgres/connect.js";
import { awaitedLater } from "../support/awaited-later.js";
import { newDirectory } from "../support/new-directory.js";
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

async function ledgerOf(address: { url: string }): Promise<string[]> {
  const rows = await withSql(address, (sql) => sql<{ name: string }[]>`select name from migrations order by name`);
  return rows.map(({ name }) => name);
}

/** A folder with this release's migrations and later ones, by their paths. */
function laterFolder(files: Readonly<Record<string, string>>): string {
  const directory = newDirectory();
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  const folder = join(directory, "migrations");
  cpSync("src/store/migrations", folder, { recursive: true });
  for (const [path, statements] of Object.entries(files)) {
    mkdirSync(join(folder, dirname(path)), { recursive: true });
    writeFileSync(join(folder, path), statements);
  }
  return folder;
}

/** The migrations of a checkout before the first release. */
const EARLIER_LEDGER = [
  "0001_tenancy.sql",
  "0002_applications.sql",
  "0003_tokens.sql",
  "0004_audit.sql",
  "0005_isolation.sql",
  "0006_proxies.sql",
  "0007_reactors.sql",
  "0008_payments.sql",
  "0009_members.sql",
  "0011_audit_seals.sql",
  "0012_key_rotation.sql",
  "0013_fingerprint_age.sql",
  "0017_failed_runs.sql",
  "0018_replays.sql",
  "0019_log_anchors.sql",
  "0020_bound_access.sql",
  "0021_log_fields.sql",
  "0022_log_indexes.sql",
  "0024_log_signatures.sql",
  "0025_audit_sinks.sql",
  "0026_audit_anchors.sql",
  "0027_sign_ins.sql",
  "0035_log_outages.sql",
  "0040_passkeys.sql",
  "0044_log_key_index.sql",
  "0045_vault_events.sql",
  "0050_shared_sign_in_mails.sql",
  "0051_mail_counts.sql",
  "0052_power.sql",
];

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

  it("are found and run alone if they are newer, from a file or a folder of files", async () => {
    const address = await newDatabase();
    const all = await migrate(address);
    const folder = laterFolder({
      "0002_plans.sql": "create table plans (id int);",
      "0003_prices/01_table.sql": "create table prices (id int);",
      "0003_prices/02_comment.sql": "comment on table prices is 'Prices.';",
    });
    expect(await migrate(address, { folder })).toEqual(["0002_plans.sql", "0003_prices"]);
    expect(await migrate(address, { folder })).toEqual([]);
    expect(await ledgerOf(address)).toEqual([...all, "0002_plans.sql", "0003_prices"]);
    expect(await tablesOf(address)).toEqual(expect.arrayContaining(["plans", "prices"]));
  });

  it("are each one transaction with their record: what fails leaves nothing, and runs again", async () => {
    const address = await newDatabase();
    const all = await migrate(address);
    const broken = laterFolder({
      "0002_broken/01_table.sql": "create table plans (id int);",
      "0002_broken/02_fails.sql": "alter table missing add column x int;",
    });
    await expect(migrate(address, { folder: broken })).rejects.toThrow(/missing/);
    expect([await tablesOf(address), await ledgerOf(address)]).toEqual([expect.not.arrayContaining(["plans"]), all]);
    const mended = laterFolder({ "0002_broken/01_table.sql": "create table plans (id int);" });
    expect(await migrate(address, { folder: mended })).toEqual(["0002_broken"]);
  });

  it("are refused on the schema of a newer program, which stays as it is", async () => {
    const address = await newDatabase();
    const all = await migrate(address);
    await withSql(address, (sql) => sql`insert into migrations values ('9999_later.sql', now(), '9.8.7')`);
    // Missing migrations are not run either.
    const folder = laterFolder({ "0002_plans.sql": "create table plans (id int);" });
    const { version } = readBuildVersion();
    const told = (last: string | undefined) => ({
      name: "DatabaseSetupError",
      message: `The database's schema is newer than this program: 9999_later.sql of Cloakroom 9.8.7 has run, and this is Cloakroom ${version}, which knows migrations up to ${last}. Start Cloakroom 9.8.7 or newer, or restore a backup from before the upgrade.`,
    });
    await expect(migrate(address, { folder })).rejects.toMatchObject(told("0002_plans.sql"));
    await expect(migrate(address)).rejects.toMatchObject(told(all.at(-1)));
    await expect(pendingMigrations(address)).rejects.toMatchObject(told(all.at(-1)));
    expect(await ledgerOf(address)).toEqual([...all, "9999_later.sql"]);
    expect(await tablesOf(address)).not.toContain("plans");
  });

  it.each([
    ["without versions", "create table migrations (name text primary key, ran_at timestamptz)", []],
    ["with versions", LEDGER_TABLE, EARLIER_LEDGER],
  ])("are refused on a database of an earlier checkout, which stays as it is: a ledger %s", async (_, table, names) => {
    const address = await newDatabase();
    const before = await withSql(address, async (sql) => {
      await sql.unsafe(table);
      for (const name of names) await sql`insert into migrations values (${name}, now(), '0.1.0')`;
      return sql`select * from migrations order by name`;
    });
    const told = {
      name: "DatabaseSetupError",
      message:
        "This database is older than the first release of Cloakroom, 0.1.0, and was not changed. Use an empty database or another CLOAKROOM_DATA_DIR.",
    };
    await expect(pendingMigrations(address)).rejects.toMatchObject(told);
    await expect(migrate(address)).rejects.toMatchObject(told);
    expect(await tablesOf(address)).toEqual(["migrations"]);
    expect(await withSql(address, (sql) => sql`select * from migrations order by name`)).toEqual(before);
  });

  it("record the version of the program that ran them", async () => {
    const address = await newDatabase();
    await migrate(address);
    const versions = await withSql(address, (sql) => sql`select distinct version from migrations`);
    expect(versions).toEqual([readBuildVersion()].map(({ version }) => ({ version })));
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
    await migrate(address);
    const folder = laterFolder({ "0002_plans.sql": "alter table tenants add column plan text;" });
    await withSql(address, async (sql) => {
      // Delays it for longer than the lease.
      await sql`begin`;
      await sql`lock table tenants in access exclusive mode`;
      const options = { folder, leaseSeconds: 1 };
      const both = awaitedLater(Promise.all([migrate(address, options), migrate(address, options)]));
      await pause(2_500);
      await sql`commit`;
      expect((await both).flat()).toEqual(["0002_plans.sql"]);
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
      /run the command again:\ngrant cloakroom_app, cloakroom_jobs to "Another-Vault";$/,
    );
  });

  it("gets the missing grants if it may create no tables", async () => {
    await newDatabase();
    const outsider = await cluster.login("outsider", { attributes: "createrole", ownsDatabase: false });
    await expect(migrate({ url: outsider.replace(/\/outsider$/, `/vault_${databases}`) })).rejects.toThrow(
      /run the command again:\ngrant create on schema public to "outsider";$/,
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
        .poll(async () => {
          await lease.hold();
          return asked;
        })
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

  it("build an index beside writers: only a lock that lets them write is taken, and a broken index is made again", async () => {
    const address = await newDatabase();
    const all = await migrate(address);
    const folder = laterFolder({
      "0002_notes.sql": "create table notes (id int, note text);",
      "0003_index.concurrent.sql": "-- For lists.\ncreate index concurrently if not exists notes_by_id on notes (id);",
    });
    await migrate(address, { folder, only: [...all, "0002_notes.sql"] });
    const [writer, looker] = [0, 1].map(() => connect(address, { connections: 1, statementTimeout: 20_000 }));
    if (!writer || !looker) throw new Error("no connections");
    onTestFinished(async () => void (await Promise.all([writer.end(), looker.end()])));
    // What a build that was killed leaves: the second of two equal rows fails it.
    await looker`insert into notes values (1, 'a'), (1, 'b')`;
    await expect(looker.unsafe("create unique index concurrently notes_by_id on notes (id)")).rejects.toThrow();
    // The build waits for this one. Others write meanwhile.
    await writer.unsafe("begin");
    await writer`insert into notes values (2, 'c')`;
    const migrated = migrate(address, { folder });
    const locks = () => looker<{ mode: string }[]>`
      select mode from pg_locks join pg_stat_activity using (pid)
      where relation = 'notes'::regclass and query ilike '%index concurrently%' and pid <> pg_backend_pid()`;
    await expect.poll(async () => (await locks()).length).toBeGreaterThan(0);
    expect(new Set((await locks()).map(({ mode }) => mode))).toEqual(new Set(["ShareUpdateExclusiveLock"]));
    await looker`insert into notes values (3, 'd')`;
    await writer.unsafe("commit");
    expect(await migrated).toEqual(["0003_index.concurrent.sql"]);
    const [made] = await looker`
      select indisvalid as valid, indisunique as unique from pg_index where indexrelid = 'notes_by_id'::regclass`;
    expect(made).toEqual({ valid: true, unique: false });
  });

  it("wait for a lock for less than a second at a time", async () => {
    const address = await newDatabase();
    await migrate(address);
    const setting = "create table seen as select current_setting('lock_timeout') as lock_timeout;";
    await migrate(address, { folder: laterFolder({ "0002_seen.sql": setting }) });
    expect(await withSql(address, (sql) => sql`select lock_timeout from seen`)).toEqual([{ lock_timeout: "900ms" }]);
  });

  it.each([
    ["0002_slow.sql", "create index on tokens (created_at);", "0002_slow.sql builds an index on tokens"],
    ["0002_two.concurrent.sql", "create index concurrently if not exists a on tokens (type); select 1;", "must be one"],
    ["0002_again.concurrent.sql", "create index concurrently a on tokens (type);", "must be one statement"],
  ])("refuse %s, which would make writers wait or could not run again", async (name, text, problem) => {
    const address = await newDatabase();
    const all = await migrate(address);
    await expect(migrate(address, { folder: laterFolder({ [name]: text }) })).rejects.toThrow(problem);
    expect(await ledgerOf(address)).toEqual(all);
  });
});
