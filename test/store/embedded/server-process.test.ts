import { spawn } from "node:child_process";
import { symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { type PostgresServer, stopServer } from "../../../src/store/embedded/postgres-server.js";
import { isAlive, isServerOf } from "../../../src/store/embedded/process-identity.js";
import { query, scratch, serverPid, start, until } from "./support/databases.js";

describe("a server process", () => {
  it("is known by its data directory, by whatever name, and its backends are not taken for it", async () => {
    const dataDir = join(scratch(), "data");
    const database = await start({ dataDir });
    const pid = serverPid(dataDir);
    const data = join(dataDir, "pg18", "data");
    const alias = join(scratch(), "alias");
    symlinkSync(data, alias);
    expect(isServerOf(pid, data)).toBe(true);
    expect(isServerOf(pid, alias)).toBe(true);
    expect(isServerOf(pid, scratch())).toBe(false);
    const backends = await query(database.connection, "select pid from pg_stat_activity");
    expect(backends.length).toBeGreaterThan(3);
    for (const backend of backends) expect(isServerOf(backend.pid, data)).toBe(false);
    await database.stop();
    expect(isServerOf(pid, data)).toBe(false);
  });

  it("is not any process that only mentions the directory or works in it", () => {
    const data = scratch();
    const impostor = spawn("sleep", ["60"], { argv0: "cat", cwd: data, stdio: "ignore" });
    onTestFinished(() => void impostor.kill());
    expect(isServerOf(impostor.pid ?? 0, data)).toBe(false);
    expect(isServerOf(process.pid, data)).toBe(false);
  });

  it.runIf(process.platform === "linux")("counts as gone when nobody has waited for it", async () => {
    // The shell becomes a sleep, which never waits for the child that the shell began.
    const parent = spawn("sh", ["-c", "sleep 0.05 & echo $!; exec sleep 60"], { stdio: ["ignore", "pipe", "ignore"] });
    onTestFinished(() => void parent.kill());
    const pid = await new Promise<number>((resolve) => parent.stdout.once("data", (text) => resolve(Number(text))));
    await until(() => !isAlive(pid));
    // Signal 0 still finds the zombie.
    expect(process.kill(pid, 0)).toBe(true);
  });
});

describe("stopping a server", () => {
  /** A server that ends at the given signal, or at none. */
  function stubborn(until?: string): { server: PostgresServer; signals: string[] } {
    const signals: string[] = [];
    const hasEnded = (): boolean => until !== undefined && signals.includes(until);
    const server: PostgresServer = {
      pid: 4242,
      origin: "adopted",
      ended: new Promise(() => {}),
      hasEnded,
      signal: (signal) => void signals.push(signal),
    };
    return { server, signals };
  }

  it.each([
    { until: "SIGINT", expected: ["SIGINT"] },
    { until: "SIGQUIT", expected: ["SIGINT", "SIGQUIT"] },
  ])("asks kindly, then firmly: a server that ends at $until", async ({ until: end, expected }) => {
    const { server, signals } = stubborn(end);
    await stopServer(server, 50);
    expect(signals).toEqual(expected);
  });

  it("never kills: a server that withstands both is named to the operator", async () => {
    const { server, signals } = stubborn();
    await expect(stopServer(server, 50)).rejects.toThrow(/\(pid 4242\) did not stop .* still runs\. .*kill -QUIT 4242/);
    expect(signals).toEqual(["SIGINT", "SIGQUIT"]);
  });
});
