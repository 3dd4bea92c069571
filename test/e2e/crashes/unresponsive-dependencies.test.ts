// Waits: 30 s
import { once } from "node:events";
import { rmSync } from "node:fs";
import { createServer, type Socket } from "node:net";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { cloakroom } from "../../support/command.js";
import { newDirectory } from "../../support/new-directory.js";
import { PostgresCluster } from "../../support/postgres-cluster.js";
import { PostgresProxy } from "../../support/postgres-proxy.js";
import { type Replica, startReplica } from "../../support/replica.js";
import { restClient } from "../../support/rest.js";
import { newTenant } from "../../support/tenant.js";

/** Accepts connections and never sends a byte. */
async function silentServer(): Promise<AsyncDisposable & { readonly port: number; readonly opened: () => number }> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => sockets.add(socket.on("error", () => {}))).listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    port: Number(Object(server.address()).port),
    opened: () => sockets.size,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, "close");
    },
  };
}

/** The reasons in the warnings of a shutdown. */
function leftBehind({ said }: Replica): string[] {
  const lines = said()
    .split("\n")
    .filter((line) => line.includes("was abandoned"));
  return lines.map((line) => String(Object(JSON.parse(line)).reason));
}

describe("a server whose dependencies do not respond", () => {
  it("ends by itself all the same, and names what did not end", async () => {
    const directory = newDirectory();
    await using cluster = await PostgresCluster.start();
    const url = new URL(await cluster.login("vault", { attributes: "createrole" }));
    const target = { host: "127.0.0.1", port: cluster.port, database: "vault", username: "vault", password: "" };
    await using database = await PostgresProxy.before(target);
    url.port = String(database.address.port);
    await using collector = await silentServer();
    await using destination = await silentServer();
    const environment = { DATABASE_URL: url.href, CLOAKROOM_DATA_DIR: join(directory, "data") };
    expect((await cloakroom(environment, "init")).code).toBe(0);
    await using server = await startReplica({
      ...environment,
      CLOAKROOM_EGRESS_ALLOW: "127.0.0.1",
      OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${collector.port}`,
      OTEL_EXPORTER_OTLP_PROTOCOL: "http/json",
    });
    const backEnd = await (await newTenant(server.url, environment)).backEnd();
    const proxied = backEnd("GET", "/proxy", { headers: { "BT-PROXY-URL": `http://127.0.0.1:${destination.port}` } });
    const ended = [proxied.catch(() => {})];
    await expect.poll(destination.opened).toBe(1);
    database.hangAll();
    for (let n = 0; n < 10; n += 1) ended.push(backEnd("GET", "/tokens").catch(() => {}));
    // A server that has not ended by itself after 27.5 s is terminated with another code. test/server/shutdown.test.ts has
    // the time of each part.
    expect(await server.stop()).toBe(0);
    await Promise.all(ended);
    expect(leftBehind(server)).toContain("the traces exporter");
    expect(server.said()).toContain("GET /proxy");
    // No secret, no address, no driver message.
    expect(server.said()).not.toContain(url.password);
    await expect(restClient(server.url)("GET", "/healthz")).rejects.toThrow();
    rmSync(directory, { recursive: true, force: true });
  });
});
