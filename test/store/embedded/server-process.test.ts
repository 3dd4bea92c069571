import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import {
  existingServer,
  isServerOn,
  type PostgresServer,
  startPostgres,
  stopServer,
} from "../../../src/store/embedded/postgres-server.js";
import { query, scratch, serverPid, start, until } from "./support/databases.js";

describe("a server process", () => {
  it("is recognized by its data directory, and its backends are not mistaken for it", async () => {
    const dataDir = join(scratch(), "data");
    const database = await start({ dataDir });
    const pid = serverPid(dataDir);
    const data = join(dataDir, "pg18", "data");
    expect(isServerOn(pid, data)).toBe(true);
    expect(isServerOn(pid, join(dataDir, "pg18"))).toBe(false);
    expect(isServerOn(pid, scratch())).toBe(false);
    const backends = await query(database.connection, "select pid from pg_stat_activity");
    expect(backends.length).toBeGreaterThan(3);
    for (const backend of backends) expect(isServerOn(backend.pid, data)).toBe(false);
    await database.stop();
    expect(isServerOn(pid, data)).toBe(false);
  });

  it("is not any process that only mentions the directory or works in it", () => {
    const data = scratch();
    const impostor = spawn("tail", ["-f", "/dev/null", data], { cwd: data, stdio: "ignore" });
    onTestFinished(() => void impostor.kill());
    expect(isServerOn(impostor.pid ?? 0, data)).toBe(false);
    expect(isServerOn(process.pid, data)).toBe(false);
    for (const pid of [0, -1, Number.NaN, 4_194_300]) expect(isServerOn(pid, data)).toBe(false);
  });

  it("runs from its start to its exit, whatever its command line says meanwhile", async () => {
    const { program, data } = fakePostgres("sleep 0.3");
    const account = { uid: 0, gid: 0, label: "own", spawnAs: {} };
    // As while the kernel loads the program: the command line is not PostgreSQL's.
    const renamed = `${program}-loading`;
    renameSync(program, renamed);
    const server = startPostgres({ postgres: renamed, data, settings: [], account, log: 1 });
    expect([isServerOn(server.pid, data), server.isRunning]).toEqual([false, true]);
    expect(await server.ended).toBe("PostgreSQL ended with exit code 0");
    expect(server.isRunning).toBe(false);
    const missing = startPostgres({ postgres: join(data, "missing"), data, settings: [], account, log: 1 });
    expect(missing.isRunning).toBe(false);
    expect(await missing.ended).toBe("PostgreSQL could not be started (ENOENT)");
  });

  it.runIf(process.platform === "linux")("counts as gone if its parent never waits for it", async () => {
    const { program, data } = fakePostgres("sleep 0.3");
    // The shell becomes a sleep, which never waits for the shell's child.
    const command = `'${program}' -D '${data}' -c x=y & echo $!; exec sleep 60`;
    const parent = spawn("sh", ["-c", command], { stdio: ["ignore", "pipe", "ignore"] });
    onTestFinished(() => void parent.kill());
    const pid = await new Promise<number>((resolve) => parent.stdout.once("data", (text) => resolve(Number(text))));
    await until(() => isServerOn(pid, data));
    await until(() => !isServerOn(pid, data));
    // Signal 0 still finds the zombie.
    expect(process.kill(pid, 0)).toBe(true);
  });
});

/** A program with PostgreSQL's command line. */
function fakePostgres(script: string): { program: string; data: string } {
  const directory = scratch();
  const program = join(directory, "postgres");
  writeFileSync(program, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  const data = join(directory, "data");
  mkdirSync(data);
  return { program, data };
}

describe("stopping a server", () => {
  /** A process that prints the signals it gets, and ends at one of them or at none. */
  async function stubborn(end: string | undefined): Promise<{ server: PostgresServer; signals: () => string }> {
    const traps = ["INT", "QUIT"].map((name) => `trap 'echo ${name}${end === name ? "; exit 0" : ""}' ${name}`);
    const { program, data } = fakePostgres(`${traps.join("\n")}\necho ready\nwhile :; do sleep 0.01; done`);
    const child = spawn(program, ["-D", data, "-c", "x=y"], { stdio: ["ignore", "pipe", "ignore"] });
    onTestFinished(() => void child.kill("SIGKILL"));
    let said = "";
    child.stdout.on("data", (text) => {
      said += text;
    });
    await once(child.stdout, "data");
    return { server: existingServer(child.pid ?? 0, data), signals: () => said.replace("ready\n", "").trim() };
  }

  it.each([
    { end: "INT", expected: "INT" },
    { end: "QUIT", expected: "INT\nQUIT" },
  ])("asks for a fast shutdown, then for an immediate one: a server that ends at $end", async ({ end, expected }) => {
    const { server, signals } = await stubborn(end);
    await stopServer(server, 500);
    await until(() => signals() === expected);
    expect(await server.ended).toBe("PostgreSQL ended");
  });

  it("never kills: a server that survives both is reported to the operator", async () => {
    const { server, signals } = await stubborn(undefined);
    const failure = stopServer(server, 500);
    await expect(failure).rejects.toThrow(
      new RegExp(`\\(pid ${server.pid}\\) did not stop .* still runs\\. .*kill -QUIT ${server.pid}`),
    );
    await until(() => signals() === "INT\nQUIT");
    expect(isServerOn(server.pid, server.data)).toBe(true);
  });
});
