// Computes: 10 s
import { readFileSync, renameSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { query, scratch, serverPid, start, until } from "./support/databases.js";
import { DatabaseUser } from "./support/processes.js";

/** The process that replays the write-ahead log, while it does. */
function recoveryProcess(dataDir: string): number | undefined {
  try {
    const server = serverPid(dataDir);
    const children = readFileSync(`/proc/${server}/task/${server}/children`, "utf8").trim().split(" ").map(Number);
    return children.find((pid) => readFileSync(`/proc/${pid}/cmdline`, "utf8").includes("startup"));
  } catch {
    return undefined;
  }
}

// They wait for seconds, and share nothing.
describe.concurrent("a server whose socket is gone or hidden", () => {
  it("is named to the next server and to a command, each of which says what to do", async ({
    onTestFinished: atTheEnd,
  }) => {
    const hidden = async (mode: "start" | "share"): Promise<string> => {
      const dataDir = join(scratch(atTheEnd), "data");
      const owner = new DatabaseUser({ mode: "start", dataDir }, { atTheEnd });
      const { connection } = await owner.says("ready");
      renameSync(connection.host, `${connection.host}.hidden`);
      if (mode === "start") await owner.kill();
      const message = await new DatabaseUser({ mode, dataDir }, { atTheEnd }).says("failed");
      renameSync(`${connection.host}.hidden`, connection.host);
      return message;
    };
    const [server, command] = await Promise.all([hidden("start"), hidden("share")]);
    expect(server).toMatch(
      /PostgreSQL \(pid \d+\) runs, but its socket cannot be reached .*\nStop it and start again: kill -INT \d+/,
    );
    expect(command).toMatch(
      /another Cloakroom server \(pid \d+\), whose database cannot be reached from here\.\nRun this command where/,
    );
  });
});

describe.concurrent("a recovery that takes long", () => {
  it.runIf(process.platform === "linux")(
    "is waited for, by the server and by a command, and both say why",
    async ({ onTestFinished: atTheEnd }) => {
      const dataDir = join(scratch(atTheEnd), "data");
      const database = await start({ dataDir }, atTheEnd);
      await query(
        database.connection,
        "create table coats (id int primary key, owner text)",
        "insert into coats select n, repeat('x', 200) from generate_series(1, 200000) n",
      );
      process.kill(serverPid(dataDir), "SIGKILL");
      await database.exited;
      await database.stop();

      const server = new DatabaseUser({ mode: "start", dataDir }, { atTheEnd });
      let replaying: number | undefined;
      await until(() => {
        replaying = recoveryProcess(dataDir);
        return replaying !== undefined;
      });
      process.kill(replaying ?? 0, "SIGSTOP");
      const command = new DatabaseUser({ mode: "share", dataDir }, { atTheEnd });
      try {
        expect(await server.says("announced")).toMatch(
          /^PostgreSQL is still starting, most likely recovering .*postgres\.log\)\.$/,
        );
        expect(await command.says("announced")).toBe(
          `Waiting for the database that another Cloakroom server (pid ${server.pid}) is starting.`,
        );
      } finally {
        process.kill(replaying ?? 0, "SIGCONT");
      }
      const [{ connection }] = await Promise.all([server.says("ready"), command.says("ready")]);
      expect(await query(connection, "select count(*)::int as n from coats")).toEqual([{ n: 200_000 }]);
      const log = readFileSync(join(dataDir, "pg18", "postgres.log"), "utf8");
      expect(log, "waiting must not fill the log with refused connections").not.toContain("the database system is");
      await command.stop();
      await server.stop();
    },
  );
});
