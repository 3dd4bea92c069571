// Computes: 15 s
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { connect } from "node:http2";
import { createConnection, createServer, type Socket } from "node:net";
import { join } from "node:path";
import { afterEach, describe, expect, it, vi } from "vitest";
import { type ServerProcess, startServerProcess } from "../../support/server.js";
import { firstTenant } from "../../support/tenant.js";

const BODY = JSON.stringify({ type: "token", data: "x".repeat(1_000) });

/** A request that the server has begun to read, and the response to it. */
class SlowRequest {
  readonly #socket: Socket;
  #received = "";
  readonly closed: Promise<unknown>;

  constructor(url: string, key: string) {
    const { hostname, port } = new URL(url);
    this.#socket = createConnection(Number(port), hostname);
    this.#socket.on("data", (chunk: Buffer) => (this.#received += chunk.toString()));
    this.closed = once(this.#socket, "close");
    const head = `POST /tokens HTTP/1.1\r\nHost: x\r\nBT-API-KEY: ${key}\r\nContent-Type: application/json\r\n`;
    this.#socket.write(`${head}Content-Length: ${Buffer.byteLength(BODY)}\r\n\r\n${BODY.slice(0, 100)}`);
  }

  get received(): string {
    return this.#received;
  }

  finish(): void {
    this.#socket.write(BODY.slice(100));
  }
}

describe("a server that is asked to stop", () => {
  let server: ServerProcess;
  afterEach(() => server[Symbol.asyncDispose]());

  const pause = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds));
  /** Waits until the server accepts no connection any more. */
  const refused = () =>
    expect
      .poll(() =>
        fetch(`${server.url}/healthz`).then(
          ({ status }) => status,
          () => "refused",
        ),
      )
      .toBe("refused");
  const isAlive = (pid: number) => {
    try {
      process.kill(pid, 0);
      return true;
    } catch {
      return false;
    }
  };
  const databaseOf = ({ environment }: ServerProcess) =>
    Number(
      readFileSync(join(environment.CLOAKROOM_DATA_DIR ?? "", "pg18", "data", "postmaster.pid"), "utf8").split(
        "\n",
        1,
      )[0],
    );

  it.each(["SIGTERM", "SIGINT", "SIGHUP"] as const)(
    "by %s lets requests in flight finish, takes no more, and exits with 0",
    async (signal) => {
      server = await startServerProcess();
      const tenant = await firstTenant(server);
      const { key } = await tenant.backEnd();
      const database = databaseOf(server);
      const request = new SlowRequest(server.url, key);
      await pause(200);
      const exit = server.stop(signal);
      await vi.waitFor(() => expect(server.said()).toContain("Stopping"));
      await refused();
      expect(request.received).toBe("");
      request.finish();
      await request.closed;
      expect(request.received).toMatch(/^HTTP\/1\.1 201 /);
      expect(request.received).toContain('"type":"token"');
      expect(await exit).toBe(0);
      expect(isAlive(database)).toBe(false);
      expect(server.said()).not.toMatch(/\bat .*\.js:\d+/);
    },
  );

  it("stops at once if no request is in flight: idle and silent connections do not hold it", async () => {
    server = await startServerProcess();
    const { hostname, port } = new URL(server.url);
    const silent = createConnection(Number(port), hostname);
    silent.on("error", () => {});
    await fetch(`${server.url}/healthz`).then((response) => response.text());
    const session = connect(server.url);
    session.on("error", () => {});
    await once(session, "remoteSettings");
    const ended = Promise.all([once(silent, "close"), once(session, "close")]);
    expect(await server.stop()).toBe(0);
    await ended;
  });

  it("accepts no connections while a message waits for a silent mail server, and aborts it", async () => {
    const visited = Promise.withResolvers<Socket>();
    const mailServer = createServer((socket) => {
      socket.on("error", () => {});
      socket.write("220 wait for me\r\n");
      socket.once("data", () => visited.resolve(socket));
    }).listen(0, "127.0.0.1");
    await once(mailServer, "listening");
    const address = mailServer.address();
    if (address === null || typeof address === "string") throw new Error("no port");
    try {
      server = await startServerProcess({ SMTP_URL: `smtp://127.0.0.1:${address.port}` });
      const tenant = await firstTenant(server);
      await tenant.manage("POST", "/tenants/self/invitations", { body: { email: "ada@example.com" } });
      const connection = await visited.promise;
      const exit = server.stop();
      await vi.waitFor(() => expect(server.said()).toContain("Stopping"));
      await refused();
      expect(connection.closed).toBe(false);
      expect(await exit).toBe(0);
      expect(server.said()).not.toContain("the mail server cannot be reached");
    } finally {
      mailServer.close();
    }
  });

  it("stops in order on a signal during its start too, and leaves no database behind", async () => {
    server = await startServerProcess();
    const database = databaseOf(server);
    // The address is announced before the first tenant is created.
    expect(await server.stop()).toBe(0);
    expect(isAlive(database)).toBe(false);
  });

  it("stops at once on a second signal, whatever is in flight", async () => {
    server = await startServerProcess();
    const { key } = await (await firstTenant(server)).backEnd();
    const request = new SlowRequest(server.url, key);
    await pause(200);
    const exit = server.stop();
    await vi.waitFor(() => expect(server.said()).toContain("Stopping"));
    server.process.kill("SIGTERM");
    expect(await exit).toBe(130);
    await request.closed;
    expect(request.received).toBe("");
  });

  it("reports the end of its database in one line and exits with 1", async () => {
    server = await startServerProcess();
    await firstTenant(server);
    const exited = once(server.process, "exit");
    process.kill(databaseOf(server), "SIGQUIT");
    const [code] = await exited;
    expect(code).toBe(1);
    expect(server.said()).toMatch(/^The embedded database has ended: .+\.$/m);
    expect(server.said()).not.toContain("terminating connection");
  });

  it("keeps what it has acknowledged: a restart on the same directory finds it", async () => {
    server = await startServerProcess();
    const backEnd = await (await firstTenant(server)).backEnd();
    const made = await Promise.all(
      Array.from({ length: 50 }, (_, index) => backEnd("POST", "/tokens", { body: { type: "token", data: index } })),
    );
    expect(await server.stop("SIGINT")).toBe(0);
    const again = await startServerProcess({ DATA_DIR: server.environment.CLOAKROOM_DATA_DIR ?? "" });
    try {
      for (const [index, { body }] of made.entries()) {
        const response = await fetch(`${again.url}/tokens/${body.id}`, { headers: { "BT-API-KEY": backEnd.key } });
        expect(await response.json()).toMatchObject({ id: body.id, data: index });
      }
      expect(again.said()).not.toContain("Welcome");
    } finally {
      await again[Symbol.asyncDispose]();
    }
  });
});
