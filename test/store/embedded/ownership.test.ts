// Computes: 10 s
import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import {
  copyOf,
  isRoot,
  isRunning,
  leftovers,
  makeSeed,
  NOTHING,
  query,
  scratch,
  serverPid,
  start,
} from "./support/databases.js";
import { CONTAINER, canContain, DatabaseUser } from "./support/processes.js";

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

describe("a second owner", () => {
  it("is refused in one line that says what to do, and the first continues", async () => {
    const dataDir = newCopy();
    const owner = new DatabaseUser({ mode: "start", dataDir });
    const { connection } = await owner.says("ready");
    const line = `EmbeddedDatabaseError: ${dataDir} is in use by another Cloakroom server (pid ${owner.pid}). Stop that first, or give this server a CLOAKROOM_DATA_DIR of its own.`;
    const second = new DatabaseUser({ mode: "start", dataDir });
    expect(await second.says("failed")).toBe(line);
    expect(await second.ended()).toBe(1);
    expect(await query(connection, "select owner from coats")).toEqual([{ owner: "Ada" }]);
    await owner.stop();
  });

  it("is refused in the same process, and the first keeps its lock", async () => {
    const dataDir = newCopy();
    const first = await start({ dataDir });
    await expect(start({ dataDir })).rejects.toThrow(`(pid ${process.pid})`);
    await expect(start({ dataDir })).rejects.toThrow(`(pid ${process.pid})`);
    const other = new DatabaseUser({ mode: "start", dataDir });
    expect(await other.says("failed")).toContain(`(pid ${process.pid})`);
    await first.stop();
    await start({ dataDir });
  });

  it("is refused although somebody deleted the lock files, and a command leaves the first its PostgreSQL", async () => {
    const dataDir = newCopy();
    const first = await start({ dataDir });
    const pid = serverPid(dataDir);
    const deleteLocks = (): void => {
      for (const name of ["cloakroom.lock", "start.lock", "users.lock", "server.pid"]) {
        rmSync(join(dataDir, name), { force: true });
      }
    };
    deleteLocks();
    await expect(start({ dataDir })).rejects.toThrow(
      `${dataDir} is in use by another Cloakroom server (pid ${process.pid}). Stop that first`,
    );
    const other = new DatabaseUser({ mode: "start", dataDir });
    expect(await other.says("failed")).toContain(`is in use by another Cloakroom server (pid ${process.pid})`);
    deleteLocks();
    const command = new DatabaseUser({ mode: "share", dataDir });
    expect((await command.says("ready")).connection).toEqual(first.connection);
    await command.stop();
    expect(isRunning(dataDir, pid)).toBe(true);
    expect(await query(first.connection, "select owner from coats")).toEqual([{ owner: "Ada" }]);
  });

  it.runIf(canContain)("is refused in another container on the same volume, which sees no pid of ours", async () => {
    const dataDir = newCopy();
    const first = await start({ dataDir });
    const pid = serverPid(dataDir);
    const second = new DatabaseUser({ mode: "start", dataDir }, { prefix: CONTAINER });
    expect(await second.says("failed")).toMatch(
      /in use by another Cloakroom server \(in another container or host, .*\)\. Stop/,
    );
    const command = new DatabaseUser({ mode: "share", dataDir }, { prefix: CONTAINER });
    expect(await command.says("failed")).toMatch(
      /cannot be reached from here\.\nRun this command where the server runs/,
    );
    expect(serverPid(dataDir)).toBe(pid);
    expect(await query(first.connection, "select owner from coats")).toEqual([{ owner: "Ada" }]);
  });

  it.runIf(canContain)("may be in another container, once the first is gone", async () => {
    const dataDir = newCopy();
    // Its pids begin at 1 again, so those in postmaster.pid belong to other processes here.
    const first = new DatabaseUser({ mode: "start", dataDir }, { prefix: CONTAINER });
    await query((await first.says("ready")).connection, "insert into coats values (2, 'Grace')");
    await first.kill();
    expect(existsSync(join(dataDir, "pg18", "data", "postmaster.pid"))).toBe(true);
    const second = await start({ dataDir });
    expect(await query(second.connection, "select owner from coats order by id")).toEqual([
      { owner: "Ada" },
      { owner: "Grace" },
    ]);
  });
});

describe("a killed owner", () => {
  it("leaves a server that the next one takes over with its data, and stops at its end", async () => {
    const dataDir = newCopy();
    const owner = new DatabaseUser({ mode: "start", dataDir });
    const { connection } = await owner.says("ready");
    await query(connection, "insert into coats values (2, 'Grace')");
    const pid = serverPid(dataDir);
    await owner.kill();
    expect(isRunning(dataDir, pid)).toBe(true);

    const next = await start({ dataDir });
    expect(serverPid(dataDir), "the same server goes on").toBe(pid);
    expect(next).toMatchObject({ isNew: false, connection });
    expect(await query(next.connection, "select owner from coats order by id")).toEqual([
      { owner: "Ada" },
      { owner: "Grace" },
    ]);
    await next.stop();
    expect(leftovers({ dataDir, socketDirectory: connection.host, pid })).toEqual(NOTHING);
    expect(await next.exited).toEqual({ expected: true, summary: "PostgreSQL ended" });
  });

  it("leaves a server whose own end the next owner notices too", async () => {
    const dataDir = newCopy();
    const owner = new DatabaseUser({ mode: "start", dataDir });
    await owner.says("ready");
    await owner.kill();
    const next = await start({ dataDir });
    process.kill(serverPid(dataDir), "SIGKILL");
    expect(await next.exited).toEqual({ expected: false, summary: "PostgreSQL ended" });
    await next.stop();
    expect(existsSync(next.connection.host)).toBe(false);
  });

  it("may have lost its server at the same moment", async () => {
    const dataDir = newCopy();
    const owner = new DatabaseUser({ mode: "start", dataDir });
    await query(
      (await owner.says("ready")).connection,
      "insert into coats select n, 'Many' from generate_series(2, 20000) n",
    );
    process.kill(serverPid(dataDir), "SIGKILL");
    await owner.kill();
    // The dead server's processes may still hold its shared memory; the start waits for them.
    const next = await start({ dataDir });
    expect(await query(next.connection, "select count(*)::int as n from coats")).toEqual([{ n: 20_000 }]);
  });

  it("may have been killed while its server was stopping", async () => {
    const dataDir = newCopy();
    const owner = new DatabaseUser({ mode: "start", dataDir });
    await owner.says("ready");
    const pid = serverPid(dataDir);
    await owner.kill();
    process.kill(pid, "SIGINT");
    const next = await start({ dataDir });
    expect(serverPid(dataDir)).not.toBe(pid);
    expect(await query(next.connection, "select owner from coats")).toEqual([{ owner: "Ada" }]);
  });
});

describe("a pid file that outlived its server", () => {
  const lines = (pid: number, dataDir: string, socketDirectory: string): string =>
    [
      pid,
      join(dataDir, "pg18", "data"),
      1_700_000_000,
      5432,
      socketDirectory,
      "",
      "  1234567         0",
      "ready   ",
      "",
    ].join("\n");
  const pidFile = (dataDir: string): string => join(dataDir, "pg18", "data", "postmaster.pid");

  /** A process of the account that runs PostgreSQL, which makes PostgreSQL itself trust the pid. */
  function bystander(dataDir: string): ChildProcess {
    const { uid, gid } = statSync(join(dataDir, "pg18", "data"));
    const child = spawn("sleep", ["60"], { ...(isRoot ? { uid, gid } : {}), stdio: "ignore" });
    onTestFinished(() => void child.kill());
    return child;
  }

  async function stoppedCopy(): Promise<{ dataDir: string; socketDirectory: string }> {
    const dataDir = newCopy();
    const database = await start({ dataDir });
    await database.stop();
    return { dataDir, socketDirectory: database.connection.host };
  }

  it("may name a process of the same user by now", async () => {
    const { dataDir, socketDirectory } = await stoppedCopy();
    const other = bystander(dataDir);
    mkdirSync(socketDirectory, { mode: 0o700 });
    writeFileSync(join(socketDirectory, ".s.PGSQL.5432.lock"), lines(other.pid ?? 0, dataDir, socketDirectory));
    writeFileSync(join(socketDirectory, ".s.PGSQL.5432"), "");
    writeFileSync(pidFile(dataDir), lines(other.pid ?? 0, dataDir, socketDirectory));
    const database = await start({ dataDir });
    expect(serverPid(dataDir)).not.toBe(other.pid);
    expect(await query(database.connection, "select owner from coats")).toEqual([{ owner: "Ada" }]);
    await database.stop();
    expect(other.exitCode ?? other.signalCode, "the other process is left alone").toBeNull();
  });

  it("may name the PostgreSQL of another data directory by now", async () => {
    const { dataDir, socketDirectory } = await stoppedCopy();
    const neighbour = await start({ dataDir: newCopy() });
    const pid = serverPid(neighbour.dataDir);
    writeFileSync(pidFile(dataDir), lines(pid, dataDir, socketDirectory));
    const database = await start({ dataDir });
    expect(database.connection.host).not.toBe(neighbour.connection.host);
    await database.stop();
    expect(isRunning(neighbour.dataDir, pid), "the neighbour is left alone").toBe(true);
    expect(await query(neighbour.connection, "select owner from coats")).toEqual([{ owner: "Ada" }]);
  });

  it.each([
    { what: "is empty, after a power cut", content: "" },
    { what: "names a pid that does not exist", content: "4194300\n/elsewhere\n1\n5432\n/tmp\n" },
    { what: "names this very process", content: `${process.pid}\n` },
    { what: "holds no pid at all", content: "garbage\n" },
  ])("$what", async ({ content }) => {
    const { dataDir } = await stoppedCopy();
    writeFileSync(pidFile(dataDir), content);
    const database = await start({ dataDir });
    expect(await query(database.connection, "select owner from coats")).toEqual([{ owner: "Ada" }]);
  });

  it("is not deleted if its server lives", async () => {
    const dataDir = newCopy();
    const owner = new DatabaseUser({ mode: "start", dataDir });
    await owner.says("ready");
    const before = readFileSync(pidFile(dataDir), "utf8");
    await new DatabaseUser({ mode: "start", dataDir }).says("failed");
    const command = new DatabaseUser({ mode: "share", dataDir });
    await command.says("ready");
    await command.stop();
    expect(readFileSync(pidFile(dataDir), "utf8")).toBe(before);
    await owner.stop();
  });
});
