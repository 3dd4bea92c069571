// Computes: 15 s
import { once } from "node:events";
import { renameSync, rmSync } from "node:fs";
import { createConnection } from "node:net";
import { join } from "node:path";
import { afterEach, describe, expect, it, vi } from "vitest";
import { copyMigratedData } from "../../support/migrated-data.js";
import { newDirectory } from "../../support/new-directory.js";
import { startReplica } from "../../support/replica.js";
import { restClient } from "../../support/rest.js";
import { type ServerProcess, startServerProcess } from "../../support/server.js";
import { firstTenant, newTenant } from "../../support/tenant.js";
import { bothOf, isAlive, logLines, processId, servedBy } from "../support/processes.js";

const BODY = JSON.stringify({ type: "token", data: "x".repeat(1_000) });

/** Requests whose heads a server has read and whose bodies it has asked for, each on its own connection. */
async function slowRequests(url: string, key: string, count: number) {
  const { hostname, port } = new URL(url);
  const head = `POST /tokens HTTP/1.1\r\nHost: x\r\nBT-API-KEY: ${key}\r\nContent-Type: application/json\r\n`;
  return await Promise.all(
    Array.from({ length: count }, async () => {
      const socket = createConnection(Number(port), hostname).setEncoding("utf8");
      socket.on("error", () => {});
      await once(socket, "connect");
      let received = "";
      socket.on("data", (chunk) => {
        received += chunk;
      });
      const closed = new Promise((resolve) => socket.once("close", resolve));
      socket.write(`${head}Expect: 100-continue\r\nContent-Length: ${Buffer.byteLength(BODY)}\r\n\r\n`);
      await vi.waitFor(() => expect(received).toBe("HTTP/1.1 100 Continue\r\n\r\n"));
      received = "";
      return {
        finish: () => socket.write(BODY),
        respond: async () => {
          await closed;
          return received;
        },
      };
    }),
  );
}

describe("a server of two processes", () => {
  let server: ServerProcess | undefined;
  afterEach(async () => {
    await server?.[Symbol.asyncDispose]();
    server = undefined;
  });

  it("finishes the requests of both on SIGTERM, accepts no more, and leaves no process behind", async () => {
    server = await startServerProcess({ PROCESSES: "2" });
    const { said, url } = server;
    const { key } = await (await firstTenant(server)).backEnd();
    const requests = await slowRequests(url, key, 8);
    const pids = await bothOf(said);
    const exit = server.stop();
    await vi.waitFor(() => expect(said()).toContain("Stopping"));
    await vi.waitFor(() => expect(fetch(`${url}/healthz`)).rejects.toThrow());
    for (const request of requests) request.finish();
    const responses = await Promise.all(requests.map((request) => request.respond()));
    expect(responses.map((response) => response.slice(0, 12))).toEqual(requests.map(() => "HTTP/1.1 201"));
    expect(await exit).toBe(0);
    expect(servedBy(said(), "CreateToken")).toEqual(new Set([1, 2]));
    expect(pids.filter(isAlive)).toEqual([]);
  });

  it("exits at once on a second signal, with all of its processes", async () => {
    server = await startServerProcess({ PROCESSES: "2" });
    const { key } = await (await firstTenant(server)).backEnd();
    const requests = await slowRequests(server.url, key, 2);
    const pids = await bothOf(server.said);
    const exit = server.stop();
    await vi.waitFor(() => expect(server?.said()).toContain("Stopping"));
    server.process.kill("SIGTERM");
    expect(await exit).toBe(130);
    await vi.waitFor(() => expect(pids.filter(isAlive)).toEqual([]));
    expect(await Promise.all(requests.map((request) => request.respond()))).toEqual(["", ""]);
  });

  it("ends all processes when the first one is killed, and the next start serves their data", async () => {
    const directory = newDirectory();
    const environment = {
      CLOAKROOM_DATA_DIR: copyMigratedData(join(directory, "data")),
      CLOAKROOM_PROCESSES: "2",
      CLOAKROOM_LOG_LEVEL: "info",
    };
    let replica = await startReplica(environment);
    try {
      const backEnd = await (await newTenant(replica.url, environment)).backEnd();
      const { body } = await backEnd("POST", "/tokens", { body: { type: "token", data: "kept" } });
      const pids = await bothOf(replica.said);
      await replica.stop("SIGKILL");
      await vi.waitFor(() => expect(pids.filter(isAlive)).toEqual([]));
      replica = await startReplica(environment);
      const read = await restClient(replica.url, backEnd.key)("GET", `/tokens/${body.id}`);
      expect(read.body.data).toBe("kept");
    } finally {
      await replica.stop();
      rmSync(directory, { recursive: true, force: true });
    }
  });

  it("exits with a reason if a process cannot be restarted", async () => {
    server = await startServerProcess(
      { PROCESSES: "2", BIN_TABLE_FILE: "{directory}/bins.json" },
      { "bins.json": JSON.stringify({ "42424242": { card_brand: "VISA" } }) },
    );
    const file = server.environment.CLOAKROOM_BIN_TABLE_FILE ?? "";
    renameSync(file, `${file}.away`);
    const exited = once(server.process, "close");
    const { said } = server;
    process.kill(await vi.waitFor(() => processId(said(), 2)), "SIGKILL");
    const [code] = await exited;
    expect(code).toBe(1);
    expect(server.said()).toContain("Process 2 could not be started, 5 times in a row.");
    expect(server.said()).toContain("CLOAKROOM_BIN_TABLE_FILE");
    expect(logLines(server.said()).filter(({ msg }) => msg === "a process has ended")).toHaveLength(6);
  });
});
