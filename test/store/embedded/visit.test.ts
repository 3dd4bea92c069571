import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import type { EmbeddedDatabase } from "../../../src/store/embedded/embedded-database.js";
import { isAlive } from "../../../src/store/embedded/process-identity.js";
import { visitEmbeddedDatabase } from "../../../src/store/embedded/visit.js";
import { copyOf, leftovers, makeSeed, NOTHING, query, scratch, serverPid, start, until } from "./support/databases.js";
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

async function visit(dataDir: string, mayCreate = false): Promise<EmbeddedDatabase> {
  const database = await visitEmbeddedDatabase({ dataDir, mayCreate, announce: () => {} });
  onTestFinished(() => database.stop());
  return database;
}

describe("a command beside a server", () => {
  it("uses the server's database and leaves it running", async () => {
    const dataDir = newCopy();
    const owner = new DatabaseUser({ mode: "start", dataDir });
    const { connection } = await owner.says("ready");
    const pid = serverPid(dataDir);

    const visitor = await visit(dataDir);
    expect(visitor).toMatchObject({ isNew: false, connection, dataDir });
    await query(visitor.connection, "insert into coats values (2, 'Grace')");
    await visitor.stop();

    expect(serverPid(dataDir)).toBe(pid);
    expect(await query(connection, "select count(*)::int as n from coats")).toEqual([{ n: 2 }]);
    await owner.stop();
    expect(leftovers({ dataDir, socketDirectory: connection.host, pid })).toEqual(NOTHING);
  });

  it("waits for a server that is just starting, also when that makes the database first", async () => {
    const dataDir = join(scratch(), "data");
    const owner = new DatabaseUser({ mode: "start", dataDir });
    await until(() => existsSync(join(dataDir, "holder.json")));
    const visitor = await visit(dataDir);
    expect(await query(visitor.connection, "select current_user as me")).toEqual([{ me: "cloakroom" }]);
    expect((await owner.says("ready")).isNew).toBe(true);
    expect(visitor.isNew).toBe(false);
    await visitor.stop();
    await owner.stop();
  });

  it("does not keep the server from stopping, and sees it go", async () => {
    const dataDir = newCopy();
    const owner = new DatabaseUser({ mode: "start", dataDir });
    await owner.says("ready");
    const pid = serverPid(dataDir);
    const visitor = await visit(dataDir);
    await owner.stop();
    expect(await visitor.exited).toEqual({ expected: false, summary: "PostgreSQL ended" });
    await visitor.stop();
    expect(leftovers({ dataDir, socketDirectory: visitor.connection.host, pid })).toEqual(NOTHING);
  });

  it("closes the database when the server is killed meanwhile", async () => {
    const dataDir = newCopy();
    const owner = new DatabaseUser({ mode: "start", dataDir });
    await owner.says("ready");
    const pid = serverPid(dataDir);
    const visitor = await visit(dataDir);
    await owner.kill();
    expect(await query(visitor.connection, "select owner from coats")).toEqual([{ owner: "Ada" }]);
    await visitor.stop();
    expect(leftovers({ dataDir, socketDirectory: visitor.connection.host, pid })).toEqual(NOTHING);
  });
});

describe("a command on its own", () => {
  it.each([
    ["there is no directory", () => {}],
    ["the directory is empty", (dataDir: string) => void mkdirSync(dataDir)],
    [
      "a server was killed before it made one",
      (dataDir: string) => {
        mkdirSync(dataDir);
        const holder = { pid: 1, holding: "server", host: "gone", pidNamespace: "" };
        writeFileSync(join(dataDir, "holder.json"), JSON.stringify(holder));
      },
    ],
  ])("makes no database unless it may: %s", async (_, prepare) => {
    const dataDir = join(scratch(), "data");
    prepare(dataDir);
    await expect(visit(dataDir)).rejects.toThrow(
      new RegExp(`^There is no vault in ${dataDir}\\. Set CLOAKROOM_DATA_DIR .* run: cloakroom init$`),
    );
    expect(existsSync(join(dataDir, "pg18"))).toBe(false);
  });

  it("makes the database where it may, and leaves nothing running", async () => {
    const dataDir = join(scratch(), "data");
    const visitor = await visit(dataDir, true);
    expect(visitor.isNew).toBe(true);
    const before = { dataDir, socketDirectory: visitor.connection.host, pid: serverPid(dataDir) };
    await query(visitor.connection, "create table made (id int)");
    await visitor.stop();
    expect(leftovers(before)).toEqual(NOTHING);
    const again = await visit(dataDir);
    expect(again.isNew).toBe(false);
    expect(await query(again.connection, "select count(*)::int as n from made")).toEqual([{ n: 0 }]);
  });

  it("takes the orphan of a killed server along", async () => {
    const dataDir = newCopy();
    const owner = new DatabaseUser({ mode: "start", dataDir });
    await owner.says("ready");
    const pid = serverPid(dataDir);
    await owner.kill();
    const visitor = await visit(dataDir);
    expect(serverPid(dataDir)).toBe(pid);
    await visitor.stop();
    expect(leftovers({ dataDir, socketDirectory: visitor.connection.host, pid })).toEqual(NOTHING);
  });

  it("lets a server wait for its end", async () => {
    const dataDir = newCopy();
    const visitor = await visit(dataDir);
    const owner = new DatabaseUser({ mode: "start", dataDir });
    expect(await owner.says("announced")).toBe(
      `Waiting for a Cloakroom command (pid ${process.pid}) to end its work on ${dataDir}.`,
    );
    expect(await query(visitor.connection, "select owner from coats")).toEqual([{ owner: "Ada" }]);
    await visitor.stop();
    expect(await owner.says("ready")).toMatchObject({ isNew: false });
    await owner.stop();
  });
});

describe("several commands at once", () => {
  it.each([
    { order: "the one that started it leaves first", leave: [0, 1, 2] },
    { order: "the one that started it leaves last", leave: [2, 1, 0] },
    { order: "all leave at once", leave: undefined },
  ])("share one database, which ends with the last: $order", async ({ leave }) => {
    const dataDir = newCopy();
    const visitors = [0, 1, 2].map(() => new DatabaseUser({ mode: "visit", dataDir }));
    const [first] = await Promise.all(visitors.map((visitor) => visitor.says("ready")));
    const pid = serverPid(dataDir);
    if (leave === undefined) {
      await Promise.all(visitors.map((visitor) => visitor.stop()));
    } else {
      for (const [count, index] of leave.entries()) {
        await visitors[index]?.stop();
        expect(isAlive(pid)).toBe(count < 2);
      }
    }
    for (const visitor of visitors) expect(await visitor.ended()).toBe(0);
    expect(leftovers({ dataDir, socketDirectory: first?.connection.host ?? "", pid })).toEqual(NOTHING);
  });

  it("never leave a server behind, however their ends meet", async () => {
    const dataDir = newCopy();
    for (let round = 0; round < 12; round++) {
      const visitors = await Promise.all(
        [0, 1, 2, 3].map(() => visitEmbeddedDatabase({ dataDir, mayCreate: false, announce: () => {} })),
      );
      const socketDirectory = visitors[0]?.connection.host ?? "";
      const pid = serverPid(dataDir);
      await Promise.all(visitors.map(async (visitor, index) => sleep((index * round) / 4).then(() => visitor.stop())));
      expect(leftovers({ dataDir, socketDirectory, pid })).toEqual(NOTHING);
    }
  });

  it("hand the database to a server that starts meanwhile", async () => {
    const dataDir = newCopy();
    const first = await visit(dataDir);
    const second = new DatabaseUser({ mode: "visit", dataDir });
    await second.says("ready");
    const pid = serverPid(dataDir);
    await first.stop();
    const owner = await start({ dataDir });
    expect(serverPid(dataDir)).toBe(pid);
    await second.stop();
    expect(await query(owner.connection, "select owner from coats")).toEqual([{ owner: "Ada" }]);
  });

  it("come and go in a row without ever meeting a closing database", async () => {
    const dataDir = newCopy();
    const lives = Array.from({ length: 6 }, async (_, id) => {
      for (let round = 0; round < 4; round++) {
        await using database = await visitEmbeddedDatabase({ dataDir, mayCreate: false, announce: () => {} });
        await query(database.connection, `insert into coats values (${100 + id * 10 + round}, 'Guest')`);
      }
    });
    await Promise.all(lives);
    const last = await visit(dataDir);
    expect(await query(last.connection, "select count(*)::int as n from coats where owner = 'Guest'")).toEqual([
      { n: 24 },
    ]);
  });
});
