// Computes: 10 s
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { type EmbeddedDatabase, shareEmbeddedDatabase } from "../../../src/store/embedded/embedded-database.js";
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

const newCopy = (): string => copyOf(seed, join(scratch(), "data"));

async function share(dataDir: string, mayCreate = false): Promise<EmbeddedDatabase> {
  const database = await shareEmbeddedDatabase({ dataDir, mayCreate, announce: () => {} });
  onTestFinished(() => database.stop());
  return database;
}

describe("a command next to a server", () => {
  it("uses the server's database and leaves it running", async () => {
    const dataDir = newCopy();
    const owner = new DatabaseUser({ mode: "start", dataDir });
    const { connection } = await owner.says("ready");
    const pid = serverPid(dataDir);

    const command = await share(dataDir);
    expect(command).toMatchObject({ isNew: false, connection, dataDir });
    await query(command.connection, "insert into coats values (2, 'Grace')");
    await command.stop();

    expect(serverPid(dataDir)).toBe(pid);
    expect(await query(connection, "select count(*)::int as n from coats")).toEqual([{ n: 2 }]);
    await owner.stop();
    expect(leftovers({ dataDir, socketDirectory: connection.host, pid })).toEqual(NOTHING);
  });

  it("waits for a server that is just starting, also if that creates the database first", async () => {
    const dataDir = join(scratch(), "data");
    const owner = new DatabaseUser({ mode: "start", dataDir });
    await until(() => existsSync(join(dataDir, "server.pid")));
    const command = await share(dataDir);
    expect(await query(command.connection, "select current_user as me")).toEqual([{ me: "cloakroom" }]);
    expect((await owner.says("ready")).isNew).toBe(true);
    expect(command.isNew).toBe(false);
    await command.stop();
    await owner.stop();
  });

  it("does not keep the server from stopping, and notices its end", async () => {
    const dataDir = newCopy();
    const owner = new DatabaseUser({ mode: "start", dataDir });
    await owner.says("ready");
    const pid = serverPid(dataDir);
    const command = await share(dataDir);
    await owner.stop();
    expect(await command.exited).toEqual({ expected: false, summary: "PostgreSQL ended" });
    await command.stop();
    expect(leftovers({ dataDir, socketDirectory: command.connection.host, pid })).toEqual(NOTHING);
  });

  it("closes the database if the server is killed meanwhile", async () => {
    const dataDir = newCopy();
    const owner = new DatabaseUser({ mode: "start", dataDir });
    await owner.says("ready");
    const pid = serverPid(dataDir);
    const command = await share(dataDir);
    await owner.kill();
    expect(await query(command.connection, "select owner from coats")).toEqual([{ owner: "Ada" }]);
    await command.stop();
    expect(leftovers({ dataDir, socketDirectory: command.connection.host, pid })).toEqual(NOTHING);
  });
});

describe("a command without a server", () => {
  it.each([
    ["there is no directory", () => {}],
    ["the directory is empty", (dataDir: string) => void mkdirSync(dataDir)],
    [
      "a server was killed before it made one",
      (dataDir: string) => {
        mkdirSync(dataDir);
        writeFileSync(join(dataDir, "cloakroom.lock"), "");
        writeFileSync(join(dataDir, "server.pid"), "1\n\ngone\n");
      },
    ],
  ])("creates no database unless it may: %s", async (_, prepare) => {
    const dataDir = join(scratch(), "data");
    prepare(dataDir);
    await expect(share(dataDir)).rejects.toThrow(
      new RegExp(`^There is no vault in ${dataDir}\\. Set CLOAKROOM_DATA_DIR .* run: cloakroom init$`),
    );
    expect(existsSync(join(dataDir, "pg18"))).toBe(false);
  });

  it("creates the database if it may, and leaves nothing running", async () => {
    const dataDir = join(scratch(), "data");
    const command = await share(dataDir, true);
    expect(command.isNew).toBe(true);
    const before = { dataDir, socketDirectory: command.connection.host, pid: serverPid(dataDir) };
    await query(command.connection, "create table made (id int)");
    await command.stop();
    expect(leftovers(before)).toEqual(NOTHING);
    const again = await share(dataDir);
    expect(again.isNew).toBe(false);
    expect(await query(again.connection, "select count(*)::int as n from made")).toEqual([{ n: 0 }]);
  });

  it("stops the orphan of a killed server", async () => {
    const dataDir = newCopy();
    const owner = new DatabaseUser({ mode: "start", dataDir });
    await owner.says("ready");
    const pid = serverPid(dataDir);
    await owner.kill();
    const command = await share(dataDir);
    expect(serverPid(dataDir)).toBe(pid);
    await command.stop();
    expect(leftovers({ dataDir, socketDirectory: command.connection.host, pid })).toEqual(NOTHING);
  });

  it("lets a server start during its run, which keeps the database at the command's end", async () => {
    const dataDir = newCopy();
    const command = await share(dataDir);
    const pid = serverPid(dataDir);
    const owner = new DatabaseUser({ mode: "start", dataDir });
    expect(await owner.says("ready")).toMatchObject({ isNew: false, connection: command.connection });
    await command.stop();
    expect(isRunning(dataDir, pid)).toBe(true);
    await owner.stop();
    expect(leftovers({ dataDir, socketDirectory: command.connection.host, pid })).toEqual(NOTHING);
  });

  it("does not keep a server from restarting PostgreSQL after a crash, and outlives it", async () => {
    const dataDir = newCopy();
    const command = await share(dataDir);
    process.kill(serverPid(dataDir), "SIGKILL");
    expect(await command.exited).toEqual({ expected: false, summary: "PostgreSQL was ended by SIGKILL" });
    const owner = await start({ dataDir });
    const pid = serverPid(dataDir);
    await command.stop();
    expect(isRunning(dataDir, pid)).toBe(true);
    expect(await query(owner.connection, "select owner from coats")).toEqual([{ owner: "Ada" }]);
  });

  it("stops its database when it exits without a stop, unless others use it", async () => {
    const dataDir = newCopy();
    const [first, second] = [0, 1].map(() => new DatabaseUser({ mode: "share", dataDir }));
    await Promise.all([first?.says("ready"), second?.says("ready")]);
    const pid = serverPid(dataDir);
    await first?.crash();
    expect(isRunning(dataDir, pid)).toBe(true);
    await second?.crash();
    await until(() => !isRunning(dataDir, pid));
    expect(readFileSync(join(dataDir, "pg18", "postgres.log"), "utf8")).toContain("received fast shutdown request");
  });
});

describe("several concurrent commands", () => {
  it.each([
    { order: "the one that started it leaves first", leave: [0, 1, 2] },
    { order: "the one that started it leaves last", leave: [2, 1, 0] },
    { order: "all leave at once", leave: undefined },
  ])("share one database, which ends with the last: $order", async ({ leave }) => {
    const dataDir = newCopy();
    const commands = [0, 1, 2].map(() => new DatabaseUser({ mode: "share", dataDir }));
    const [first] = await Promise.all(commands.map((command) => command.says("ready")));
    const pid = serverPid(dataDir);
    if (leave === undefined) {
      await Promise.all(commands.map((command) => command.stop()));
    } else {
      for (const [count, index] of leave.entries()) {
        await commands[index]?.stop();
        expect(isRunning(dataDir, pid)).toBe(count < 2);
      }
    }
    for (const command of commands) expect(await command.ended()).toBe(0);
    expect(leftovers({ dataDir, socketDirectory: first?.connection.host ?? "", pid })).toEqual(NOTHING);
  });

  it("never leave a server behind, however their ends overlap", async () => {
    const dataDir = newCopy();
    for (let round = 0; round < 12; round++) {
      const commands = await Promise.all(
        [0, 1, 2, 3].map(() => shareEmbeddedDatabase({ dataDir, mayCreate: false, announce: () => {} })),
      );
      const socketDirectory = commands[0]?.connection.host ?? "";
      const pid = serverPid(dataDir);
      await Promise.all(commands.map(async (command, index) => sleep((index * round) / 4).then(() => command.stop())));
      expect(leftovers({ dataDir, socketDirectory, pid })).toEqual(NOTHING);
    }
  });

  it("hand the database to a server that starts meanwhile", async () => {
    const dataDir = newCopy();
    const first = await share(dataDir);
    const second = new DatabaseUser({ mode: "share", dataDir });
    await second.says("ready");
    const pid = serverPid(dataDir);
    await first.stop();
    const owner = await start({ dataDir });
    expect(serverPid(dataDir)).toBe(pid);
    await second.stop();
    expect(await query(owner.connection, "select owner from coats")).toEqual([{ owner: "Ada" }]);
  });

  it("run one after the other without ever meeting a closing database", async () => {
    const dataDir = newCopy();
    const lives = Array.from({ length: 6 }, async (_, id) => {
      for (let round = 0; round < 4; round++) {
        await using database = await shareEmbeddedDatabase({ dataDir, mayCreate: false, announce: () => {} });
        await query(database.connection, `insert into coats values (${100 + id * 10 + round}, 'Guest')`);
      }
    });
    await Promise.all(lives);
    const last = await share(dataDir);
    expect(await query(last.connection, "select count(*)::int as n from coats where owner = 'Guest'")).toEqual([
      { n: 24 },
    ]);
  });
});
