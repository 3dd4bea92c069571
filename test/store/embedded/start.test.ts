// Computes: 10 s
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import postgres from "postgres";
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from "vitest";
import { EmbeddedDatabaseError } from "../../../src/store/embedded/embedded-database.js";
import { awaitedLater } from "../../support/awaited-later.js";
import { canMount, SmallDisk } from "../../support/small-disk.js";
import {
  copyOf,
  isRunning,
  leftovers,
  makeSeed,
  NOTHING,
  query,
  scratch,
  serverPid,
  start,
  until,
} from "./support/databases.js";
import { DatabaseUser } from "./support/processes.js";

let seed: string;
let removeSeed = (): void => {};
beforeAll(async () => {
  seed = await makeSeed(
    scratch((remove) => {
      removeSeed = remove;
    }),
  );
});
afterAll(() => removeSeed());

describe("the first start", () => {
  it("creates a database whatever locale it is started in, and keeps its files private", async () => {
    const dataDir = join(scratch(), "new", "data");
    vi.stubEnv("LANG", "en_US.UTF-8");
    vi.stubEnv("LC_ALL", "xx_YY.nonsense");
    const database = await start({ dataDir }).finally(() => vi.unstubAllEnvs());
    expect(database).toMatchObject({ isNew: true, dataDir });

    const settings = await query(
      database.connection,
      `select name, setting from pg_settings where name in ('listen_addresses', 'fsync', 'data_checksums', 'server_encoding',
        'log_statement', 'log_min_messages', 'log_min_error_statement', 'log_parameter_max_length', 'unix_socket_permissions',
        'max_connections', 'wal_compression', 'TimeZone')`,
    );
    expect(Object.fromEntries(settings.map(({ name, setting }) => [name, setting]))).toEqual({
      listen_addresses: "",
      fsync: "on",
      data_checksums: "on",
      server_encoding: "UTF8",
      log_statement: "none",
      log_min_messages: "warning",
      log_min_error_statement: "panic",
      log_parameter_max_length: "0",
      unix_socket_permissions: "0700",
      max_connections: "200",
      wal_compression: "pglz",
      TimeZone: "UTC",
    });
    const [locale] = await query(
      database.connection,
      "select datlocprovider, datlocale, datcollate, pg_get_userbyid(datdba) as owner from pg_database where datname = current_database()",
    );
    expect(locale).toMatchObject({ datlocprovider: "b", datlocale: "C.UTF-8", datcollate: "C", owner: "cloakroom" });

    const mode = (path: string): number => statSync(path).mode & 0o777;
    expect(mode(join(dataDir, "pg18", "data"))).toBe(0o700);
    expect(mode(join(dataDir, "pg18", "password"))).toBe(0o600);
    expect(mode(join(dataDir, "pg18", "postgres.log"))).toBe(0o600);
    expect(mode(database.connection.host)).toBe(0o700);
    expect(mode(dataDir) & 0o066, "other users cannot list the data directory").toBe(0);
  });

  it.runIf(process.platform === "linux")(
    "passes none of its settings on to PostgreSQL, and keeps it out of the terminal's reach",
    async () => {
      vi.stubEnv("CLOAKROOM_TEST_SECRET", "s3cret-of-the-environment");
      const dataDir = copyOf(seed, join(scratch(), "data"));
      await start({ dataDir }).finally(() => vi.unstubAllEnvs());
      const environment = readFileSync(`/proc/${serverPid(dataDir)}/environ`, "utf8");
      expect(environment).toContain("LC_ALL=C");
      expect(environment).not.toContain("s3cret-of-the-environment");
      // A server that leads its own session gets no Ctrl-C. The session is the sixth field of the line.
      const [, , , session] =
        readFileSync(`/proc/${serverPid(dataDir)}/stat`, "utf8")
          .split(") ")[1]
          ?.split(" ") ?? [];
      expect(Number(session)).toBe(serverPid(dataDir));
    },
  );

  it("creates a role that owns its database and may create roles, and is no superuser", async () => {
    const database = await start({ dataDir: copyOf(seed, join(scratch(), "data")) });
    const [role] = await query(
      database.connection,
      "select current_user as name, rolsuper, rolcreaterole, rolbypassrls, rolcreatedb from pg_roles where rolname = current_user",
    );
    expect(role).toEqual({
      name: "cloakroom",
      rolsuper: false,
      rolcreaterole: true,
      rolbypassrls: false,
      rolcreatedb: false,
    });
    await query(database.connection, "create role app nologin", "grant app to current_user", "set role app");
  });

  it.each([{ password: "wrong" }, { password: "" }, { username: "postgres" }])(
    "requires the password: %o",
    async (change) => {
      const database = await start({ dataDir: copyOf(seed, join(scratch(), "data")) });
      await expect(query({ ...database.connection, ...change }, "select 1")).rejects.toMatchObject({ code: "28P01" });
    },
  );

  it("works below a path far longer than a socket address", async () => {
    const dataDir = join(
      scratch(),
      ..."0123456".split("").map((letter) => letter.repeat(40)),
      "with a space, 'quotes' & ümlauts",
    );
    expect(dataDir.length).toBeGreaterThan(300);
    const database = await start({ dataDir: copyOf(seed, dataDir) });
    expect(await query(database.connection, "select owner from coats")).toEqual([{ owner: "Ada" }]);
  });

  it("rejects a path that cannot be locked", async () => {
    await expect(start({ dataDir: `/tmp/${"long/".repeat(100)}` })).rejects.toThrow(
      /longer than 400 bytes: .*\nName a shorter one in CLOAKROOM_DATA_DIR/,
    );
  });
});

describe("a stop", () => {
  it("leaves only the data, and can be repeated", async () => {
    const dataDir = copyOf(seed, join(scratch(), "data"));
    const database = await start({ dataDir });
    await query(database.connection, "insert into coats values (2, 'Grace')");
    const before = { dataDir, socketDirectory: database.connection.host, pid: serverPid(dataDir) };
    await Promise.all([database.stop(), database.stop()]);
    expect(leftovers(before)).toEqual(NOTHING);
    expect(existsSync(join(dataDir, "server.pid"))).toBe(false);
    expect(await database.exited).toEqual({ expected: true, summary: "PostgreSQL ended with exit code 0" });

    const again = await start({ dataDir });
    expect(again.isNew).toBe(false);
    expect(await query(again.connection, "select owner from coats order by id")).toEqual([
      { owner: "Ada" },
      { owner: "Grace" },
    ]);
  });

  it("happens at the end of a block", async () => {
    const dataDir = copyOf(seed, join(scratch(), "data"));
    let before = { dataDir, socketDirectory: "", pid: 0 };
    {
      await using database = await start({ dataDir });
      before = { dataDir, socketDirectory: database.connection.host, pid: serverPid(dataDir) };
    }
    expect(leftovers(before)).toEqual(NOTHING);
  });

  it("does not wait for a transaction that was left open", async () => {
    const dataDir = copyOf(seed, join(scratch(), "data"));
    const database = await start({ dataDir });
    const pid = serverPid(dataDir);
    const open = query(database.connection, "begin", "insert into coats values (3, 'Open')", "select pg_sleep(60)");
    const dropped = awaitedLater(expect(open).rejects.toThrow());
    await until(
      async () =>
        (
          await query(
            database.connection,
            "select 1 from pg_stat_activity where state = 'active' and query like '%pg_sleep(60)%' and pid <> pg_backend_pid()",
          )
        ).length > 0,
    );
    await database.stop();
    await dropped;
    expect(leftovers({ dataDir, socketDirectory: database.connection.host, pid })).toEqual(NOTHING);
  });
});

describe("a copy of a stopped database", () => {
  it("starts whatever modes the copying gave it, and is closed to others again", async () => {
    const dataDir = copyOf(seed, join(scratch(), "data"));
    chmodSync(join(dataDir, "pg18", "data"), 0o755);
    chmodSync(join(dataDir, "pg18", "password"), 0o644);
    const database = await start({ dataDir });
    expect(await query(database.connection, "select owner from coats")).toEqual([{ owner: "Ada" }]);
    expect(statSync(join(dataDir, "pg18", "data")).mode & 0o777).toBe(0o700);
    expect(statSync(join(dataDir, "pg18", "password")).mode & 0o777).toBe(0o600);
  });
});

describe("the owner is notified", () => {
  it("if the server was killed, and can restart it with all its data", async () => {
    const dataDir = copyOf(seed, join(scratch(), "data"));
    const database = await start({ dataDir });
    await query(database.connection, "insert into coats select n, 'Many' from generate_series(10, 5000) n");
    process.kill(serverPid(dataDir), "SIGKILL");
    expect(await database.exited).toEqual({ expected: false, summary: "PostgreSQL was ended by SIGKILL" });
    await database.stop();
    expect(existsSync(database.connection.host)).toBe(false);

    const again = await start({ dataDir });
    expect(await query(again.connection, "select count(*)::int as n from coats")).toEqual([{ n: 4992 }]);
  });

  it("only of the server's end: PostgreSQL recovers from a crashed backend by itself", async () => {
    const dataDir = copyOf(seed, join(scratch(), "data"));
    const database = await start({ dataDir });
    const pid = serverPid(dataDir);
    const backend = postgres({ ...database.connection, max: 1, fetch_types: false });
    onTestFinished(() => backend.end({ timeout: 0 }));
    const [row] = await backend`select pg_backend_pid() as pid`;
    process.kill(row?.pid, "SIGKILL");
    await until(() =>
      query(database.connection, "select 1").then(
        () => true,
        () => false,
      ),
    );
    expect(isRunning(dataDir, pid)).toBe(true);
    const gone = await Promise.race([database.exited, Promise.resolve("still there")]);
    expect(gone).toBe("still there");
    await expect(start({ dataDir }), "no other server gets in").rejects.toThrow(
      "is in use by another Cloakroom server",
    );
  });
});

describe("PostgreSQL's log", () => {
  it("has the errors, and none of the values that caused them", async () => {
    const database = await start({ dataDir: copyOf(seed, join(scratch(), "data")) });
    const failing = ["insert into coats values (1, 'secret-in-a-literal')", "insert into coats values (7, 'Eve')"];
    await query(database.connection, "alter table coats add check (owner <> 'Eve')");
    for (const statement of failing) await expect(query(database.connection, statement)).rejects.toThrow();
    const log = readFileSync(database.logFile, "utf8");
    expect(log).toContain("duplicate key value violates unique constraint");
    expect(log).toContain("violates check constraint");
    expect(log).not.toMatch(/secret-in-a-literal|Eve|DETAIL|STATEMENT|insert into/);
  });
});

describe("a database that does not fit", () => {
  it.each([
    {
      name: "another major version, of which no programs are here",
      spoil: (dataDir: string) => renameSync(join(dataDir, "pg18"), join(dataDir, "pg13")),
      says: /pg13 holds a PostgreSQL 13 database, but this Cloakroom comes with PostgreSQL 18\.\nInstall PostgreSQL 13 .*DATABASE_URL/,
    },
    {
      name: "a directory that lies about its version",
      spoil: (dataDir: string) => writeFileSync(join(dataDir, "pg18", "data", "PG_VERSION"), "16\n"),
      says: /holds a PostgreSQL 16 database where version 18 is expected\. Move it to .*pg16/,
    },
    {
      name: "something that is no database",
      spoil: (dataDir: string) => rmSync(join(dataDir, "pg18", "data", "PG_VERSION")),
      says: /is not a PostgreSQL database .* Restore it from a backup/,
    },
    {
      name: "a database without its password",
      spoil: (dataDir: string) => rmSync(join(dataDir, "pg18", "password")),
      says: /password is missing: restore .*pg18\/password/,
    },
    {
      name: "a database with another one's password",
      spoil: (dataDir: string) => writeFileSync(join(dataDir, "pg18", "password"), "of-another-database\n"),
      says: /does not accept the password in .*pg18\/password\. Restore that file/,
    },
    {
      name: "a database that lost its control file",
      spoil: (dataDir: string) => rmSync(join(dataDir, "pg18", "data", "global", "pg_control")),
      says: /PostgreSQL did not start: could not find the database system\nIts log is .*\. If files .* restore .*pg18 from a backup\./,
    },
    {
      name: "a configuration that PostgreSQL refuses",
      spoil: (dataDir: string) => writeFileSync(join(dataDir, "pg18", "data", "postgresql.conf"), "work_mem = much\n"),
      says: /PostgreSQL did not start: configuration file .* contains errors\nIts log is .*postgres\.log/,
    },
  ])("is refused, and nothing keeps running: $name", async ({ spoil, says }) => {
    const dataDir = copyOf(seed, join(scratch(), "data"));
    spoil(dataDir);
    const failure = await start({ dataDir }).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(EmbeddedDatabaseError);
    expect(failure).toHaveProperty("message", expect.stringMatching(says));
    expect(failure).toHaveProperty("message", expect.not.stringContaining("of-another-database"));
    expect(existsSync(join(dataDir, "pg18", "data", "postmaster.pid"))).toBe(false);
    expect(existsSync(join(dataDir, "server.pid"))).toBe(false);
  });

  it.each([
    {
      name: "a file",
      make: (path: string) => writeFileSync(path, ""),
      says: /cannot use .*: a file .* where a directory is needed\.\nPut this right/,
    },
    {
      name: "a link that leads nowhere",
      make: (path: string) => symlinkSync("/nowhere/data", path),
      says: /data is a symbolic link to \/nowhere\/data, which does not exist\.\nPut this right/,
    },
    {
      name: "a link to itself",
      make: (path: string) => symlinkSync(path, path),
      says: /cannot use .*data: a symbolic link is not allowed here\.\nPut this right/,
    },
  ])("is refused if $name is in its place", async ({ make, says }) => {
    const path = join(scratch(), "data");
    make(path);
    await expect(start({ dataDir: path })).rejects.toThrow(says);
  });

  it("is refused if its name is too long for the file system", async () => {
    await expect(start({ dataDir: join(scratch(), "n".repeat(300)) })).rejects.toThrow(
      /cannot use .*n: a name on its path is too long\.\nPut this right/,
    );
  });

  it.runIf(canMount)(
    "is not set up on a full disk, which is named as the cause, and leaves no partial one",
    async () => {
      using disk = new SmallDisk(20);
      const dataDir = join(disk.directory, "data");
      await expect(start({ dataDir })).rejects.toThrow(
        /could not set up its database: .*: No space left on device\nPut this right/,
      );
      expect(readdirSync(dataDir)).toEqual(["cloakroom.lock", "start.lock", "users.lock"]);
    },
  );
});

describe("a start that was killed while it set up a database", () => {
  it("leaves drafts, which the next start removes", async () => {
    const dataDir = join(scratch(), "data");
    for (const draft of ["pg18.new", "pg18.new-AbC123", "pg17.new-0"]) {
      mkdirSync(join(dataDir, draft, "data", "base"), { recursive: true });
    }
    expect((await start({ dataDir })).isNew).toBe(true);
    expect(readdirSync(dataDir).toSorted()).toEqual([
      "cloakroom.lock",
      "pg18",
      "server.pid",
      "start.lock",
      "users.lock",
    ]);
  });

  it("may leave an initdb, which goes on and cannot touch the next start's files", async () => {
    const dataDir = join(scratch(), "data");
    const killed = new DatabaseUser({ mode: "start", dataDir });
    const draftsOf = (): string[] => readdirSync(dataDir).filter((name) => name.startsWith("pg18.new"));
    await until(() => existsSync(dataDir) && draftsOf().length > 0);
    const [draft = ""] = draftsOf();
    await killed.kill();
    const next = new DatabaseUser({ mode: "start", dataDir });
    await until(() => existsSync(join(dataDir, "pg18")) || draftsOf().some((name) => name !== draft));
    const { connection } = await next.says("ready");
    expect(await query(connection, "select current_user as me")).toEqual([{ me: "cloakroom" }]);
    await next.stop();
    expect(readdirSync(dataDir).filter((name) => name.startsWith("pg"))).toEqual(["pg18"]);
  });
});

describe("a process that ends without a stop", () => {
  it("ends its server as well", async () => {
    const dataDir = copyOf(seed, join(scratch(), "data"));
    const owner = new DatabaseUser({ mode: "start", dataDir });
    const { connection } = await owner.says("ready");
    const pid = serverPid(dataDir);
    await owner.crash();
    expect(await owner.ended()).toBe(1);
    // The next start need not wait for the old server to end: it does so itself.
    const database = await start({ dataDir });
    expect(serverPid(dataDir)).not.toBe(pid);
    expect(existsSync(connection.host), "the old socket is removed").toBe(false);
    const log = readFileSync(database.logFile, "utf8");
    expect(log).toContain("received fast shutdown request");
    expect(log).not.toContain("was interrupted");
  });
});
