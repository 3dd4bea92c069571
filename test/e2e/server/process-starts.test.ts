// Computes: 10 s
import { once } from "node:events";
import { rmSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { describe, expect, it, vi } from "vitest";
import { cloakroom, cloakroomFed, cloakroomProcess } from "../../support/command.js";
import { copyMigratedData } from "../../support/migrated-data.js";
import { newDirectory } from "../../support/new-directory.js";
import { type Replica, startReplica } from "../../support/replica.js";
import { restClient } from "../../support/rest.js";
import { newTenant } from "../../support/tenant.js";
import { bothOf, servedBy } from "../support/processes.js";

describe("a server of two processes that cannot start", () => {
  it("says once that its port is in use", async () => {
    const taken = createServer().listen(0, "127.0.0.1");
    await once(taken, "listening");
    const address = taken.address();
    const port = typeof address === "object" && address ? address.port : 0;
    const directory = newDirectory();
    try {
      // Processes are forked from the program that runs in this one.
      const { code, stderr } = await cloakroomProcess(
        {
          CLOAKROOM_DATA_DIR: copyMigratedData(join(directory, "data")),
          CLOAKROOM_PROCESSES: "2",
          CLOAKROOM_PORT: String(port),
          CLOAKROOM_ADMIN_PORT: "0",
        },
        "serve",
      );
      expect(code).toBe(1);
      expect(stderr.match(/another process listens there/g)).toHaveLength(1);
      expect(stderr).toContain("Process 1 ended before it took requests");
    } finally {
      taken.close();
      rmSync(directory, { recursive: true, force: true });
    }
  });
});

describe("a sealed server of two processes", () => {
  it("unseals all of them at once, and those that replace them", async () => {
    const directory = newDirectory();
    const dataDir = copyMigratedData(join(directory, "data"));
    const environment = { CLOAKROOM_DATA_DIR: dataDir, CLOAKROOM_LOG_LEVEL: "info" };
    const port = await freePort();
    let server: Replica | undefined = await startReplica(environment);
    try {
      const backEnd = await (await newTenant(server.url, environment)).backEnd();
      const { body } = await backEnd("POST", "/tokens", { body: { type: "token", data: "kept" } });
      const split = await cloakroom(environment, "keys", "split", "--shares", "3", "--threshold", "2", "--json");
      const shares: string[] = JSON.parse(split.stdout).map(({ text }: { text: string }) => text);
      await server.stop();
      server = undefined;
      rmSync(join(dataDir, "root.key"));
      const starting = startReplica({ ...environment, CLOAKROOM_PROCESSES: "2", CLOAKROOM_PORT: String(port) });
      const sealedUrl = `http://127.0.0.1:${port}`;
      await vi.waitFor(async () => expect((await fetch(`${sealedUrl}/readyz`)).status).toBe(503));
      const unsealed = await cloakroomFed(environment, { lines: shares.slice(0, 2) }, "keys", "unseal");
      expect(unsealed.code, unsealed.stderr).toBe(0);
      server = await starting;
      const { said, url } = server;
      const client = restClient(url, backEnd.key);
      const readAll = async () => {
        const responses = await Promise.all(Array.from({ length: 20 }, () => client("GET", `/tokens/${body.id}`)));
        expect(new Set(responses.map((response) => response.body.data))).toEqual(new Set(["kept"]));
      };
      await readAll();
      await vi.waitFor(() => expect(servedBy(said(), "GetToken")).toEqual(new Set([1, 2])));
      const killed = await bothOf(said);
      for (const pid of killed) process.kill(pid, "SIGKILL");
      await vi.waitFor(async () => {
        const now = await bothOf(said);
        expect(now.filter((pid) => killed.includes(pid))).toEqual([]);
      });
      await readAll();
    } finally {
      await server?.stop();
      rmSync(directory, { recursive: true, force: true });
    }
  });
});

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, "127.0.0.1");
  await once(probe, "listening");
  const address = probe.address();
  probe.close();
  return typeof address === "object" && address ? address.port : 0;
}
