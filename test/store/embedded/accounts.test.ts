import { execFileSync } from "node:child_process";
import { chmodSync, chownSync, cpSync, existsSync, mkdirSync, readdirSync, rmdirSync, rmSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { installedPackage } from "../../../src/store/embedded/postgres-programs.js";
import { copyOf, isRoot, leftovers, makeSeed, NOTHING, query, scratch, serverPid, start } from "./support/databases.js";
import { DatabaseUser } from "./support/processes.js";

/** Debian's; other systems use the same by convention. */
const NOBODY_UID = 65_534;
/** No entry in /etc/passwd. */
const NAMELESS = 54_321;

const uidOf = (path: string): number => statSync(path).uid;
const serverUid = (dataDir: string): number => uidOf(`/proc/${serverPid(dataDir)}`);

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

/** As in a backup that root or another user has restored. */
function chownAll(directory: string, uid: number): void {
  execFileSync("chown", ["-R", `${uid}:${uid}`, directory]);
}

const newCopy = (): string => copyOf(seed, join(scratch(), "data"));

/** A directory below one that only root may enter, such as a clone in /root. */
function belowClosedHome(): string {
  const home = join(scratch(), "home");
  mkdirSync(join(home, "project"), { recursive: true });
  chmodSync(home, 0o700);
  return join(home, "project");
}

function removeRelocated(dataDir: string): void {
  rmSync(dataDir, { recursive: true, force: true });
  if (readdirSync(dirname(dataDir)).length === 0) rmdirSync(dirname(dataDir));
}

describe.runIf(isRoot)("as root", () => {
  it("runs PostgreSQL as another user, and hides Cloakroom's own files from it", async () => {
    const dataDir = join(scratch(), "data");
    const database = await start({ dataDir });
    expect(serverUid(dataDir)).not.toBe(0);
    expect(uidOf(join(dataDir, "pg18", "data"))).toBe(serverUid(dataDir));
    for (const file of [
      ".",
      "cloakroom.lock",
      "start.lock",
      "server.pid",
      "pg18",
      "pg18/password",
      "pg18/postgres.log",
    ]) {
      expect(uidOf(join(dataDir, file)), file).toBe(0);
    }
    expect(uidOf(database.connection.host)).toBe(serverUid(dataDir));
  });

  it("gives a database that root restored to the account that runs it", async () => {
    const dataDir = newCopy();
    const data = join(dataDir, "pg18", "data");
    chownAll(dataDir, 0);
    await (await start({ dataDir })).stop();
    const { uid } = statSync(data);
    expect(uid).not.toBe(0);
    expect(uidOf(join(data, "base", "1", "PG_VERSION"))).toBe(uid);
    expect(uidOf(join(dataDir, "pg18", "password"))).toBe(0);
  });

  it("leaves a database with the user that owns it", async () => {
    const dataDir = newCopy();
    chownAll(join(dataDir, "pg18", "data"), NOBODY_UID);
    const database = await start({ dataDir });
    expect(serverUid(dataDir)).toBe(NOBODY_UID);
    await query(database.connection, "create table t (id int)");
  });

  it("runs the database of an unprivileged user as that user, who can continue with it", async () => {
    const home = scratch();
    chownSync(home, NOBODY_UID, NOBODY_UID);
    chmodSync(home, 0o700);
    const dataDir = join(home, "data");
    const user = (mode: "start" | "share") => new DatabaseUser({ mode, dataDir }, { uid: NOBODY_UID, gid: NOBODY_UID });
    const first = user("start");
    expect(await first.says("ready")).toMatchObject({ isNew: true, dataDir });
    expect(serverUid(dataDir)).toBe(NOBODY_UID);
    expect(statSync(dataDir).mode & 0o777).toBe(0o700);
    await first.stop();

    const asRoot = await start({ dataDir });
    expect(asRoot).toMatchObject({ isNew: false, dataDir });
    expect(serverUid(dataDir)).toBe(NOBODY_UID);
    await asRoot.stop();

    const again = user("share");
    expect(await again.says("ready")).toMatchObject({ isNew: false });
    const { connection } = await again.says("ready");
    const pid = serverPid(dataDir);
    await again.stop();
    expect(leftovers({ dataDir, socketDirectory: connection.host, pid })).toEqual(NOTHING);
  });

  it("refuses another user's database to an unprivileged user", async () => {
    const dataDir = newCopy();
    await (await start({ dataDir })).stop();
    const other = new DatabaseUser({ mode: "start", dataDir }, { uid: NOBODY_UID, gid: NOBODY_UID });
    chmodSync(dataDir, 0o755);
    expect(await other.says("failed")).toMatch(
      /belongs to postgres \(uid \d+\), and this is \w+ \(uid 65534\)\.\nRun Cloakroom as/,
    );
  });

  it("explains that a uid without a passwd entry cannot create a database, and leaves no partial one", async () => {
    const home = scratch();
    chownSync(home, NAMELESS, NAMELESS);
    const dataDir = join(home, "data");
    const user = new DatabaseUser({ mode: "start", dataDir }, { uid: NAMELESS, gid: NAMELESS });
    expect(await user.says("failed")).toBe(
      `EmbeddedDatabaseError: PostgreSQL cannot set up a database under uid ${NAMELESS}, because that uid has no entry in /etc/passwd.\n` +
        "Add one, start the container under a named user, or set DATABASE_URL.",
    );
    expect(readdirSync(dataDir)).toEqual(["cloakroom.lock", "start.lock", "users.lock"]);
  });

  it("lets a uid without a passwd entry use an existing database", async () => {
    const dataDir = newCopy();
    chownAll(join(dataDir, "pg18", "data"), NAMELESS);
    const database = await start({ dataDir });
    expect(serverUid(dataDir)).toBe(NAMELESS);
    await query(database.connection, "create table t (id int)");
  });
});

describe.runIf(isRoot)("below a home that only root may enter", () => {
  it("keeps database and programs in /var/lib/cloakroom, says so in one line, and finds them again", async () => {
    const project = belowClosedHome();
    const packageDir = join(project, "node_modules", "postgres-package");
    cpSync(installedPackage() ?? "", packageDir, { recursive: true, verbatimSymlinks: true });
    const dataDir = join(project, ".cloakroom");
    const lines: string[] = [];
    const options = { dataDir, packageDir, announce: (line: string): void => void lines.push(line) };

    const database = await start(options);
    onTestFinished(() => removeRelocated(database.dataDir));
    expect(database.isNew).toBe(true);
    expect(database.dataDir).toMatch(/^\/var\/lib\/cloakroom\/[\w-]*project-cloakroom-[0-9a-f]{12}$/);
    expect(lines).toEqual([
      expect.stringMatching(/^The database is kept in \/var\/lib\/cloakroom\/.* who runs it, cannot reach .*\.$/),
    ]);
    expect(existsSync(dataDir)).toBe(false);
    expect(readdirSync(database.dataDir).filter((name) => name.startsWith("postgresql-"))).toEqual([
      "postgresql-18.4.0-beta.17",
    ]);
    await query(database.connection, "create table kept (id int)");
    await database.stop();

    const visitor = new DatabaseUser({ mode: "share", dataDir, packageDir });
    expect(await visitor.says("ready")).toMatchObject({ isNew: false, dataDir: database.dataDir });
    expect(visitor.said.filter(({ announced }) => announced)).toEqual([]);
    await visitor.stop();

    // Opening the home must not lead to a second, empty vault in the original place.
    chmodSync(join(project, ".."), 0o755);
    const again = await start(options);
    expect(again).toMatchObject({ isNew: false, dataDir: database.dataDir });
    expect(await query(again.connection, "select count(*)::int as n from kept")).toEqual([{ n: 0 }]);
    await again.stop();

    chownSync(project, NOBODY_UID, NOBODY_UID);
    const user = new DatabaseUser({ mode: "start", dataDir }, { uid: NOBODY_UID, gid: NOBODY_UID });
    expect(await user.says("failed")).toMatch(
      /ran as root here and keeps the database of .* in \/var\/lib\/cloakroom\/.*\nStart it as root again/,
    );
  });

  it("keeps the database in the requested place if only the programs are unreachable", async () => {
    const packageDir = join(belowClosedHome(), "postgres-package");
    cpSync(installedPackage() ?? "", packageDir, { recursive: true, verbatimSymlinks: true });
    const dataDir = newCopy();
    const database = await start({ dataDir, packageDir });
    expect(database.dataDir).toBe(dataDir);
    expect(existsSync(join(dataDir, "postgresql-18.4.0-beta.17"))).toBe(true);
  });

  it("refuses an existing database instead of creating another one", async () => {
    const project = belowClosedHome();
    chmodSync(join(project, ".."), 0o755);
    const dataDir = copyOf(seed, join(project, "data"));
    await (await start({ dataDir })).stop();
    chmodSync(join(project, ".."), 0o700);
    await expect(start({ dataDir })).rejects.toThrow(
      /out of reach for postgres \(uid \d+\), who runs PostgreSQL: .*\/home is closed to that user\.\nOpen it \(chmod o\+x\)/,
    );
  });

  it("opens a data directory of its own that only root could enter", async () => {
    const dataDir = join(scratch(), "volume");
    mkdirSync(dataDir, { mode: 0o700 });
    const database = await start({ dataDir });
    expect(database.dataDir).toBe(dataDir);
    expect(statSync(dataDir).mode & 0o777).toBe(0o711);
  });
});
