import { chmod, mkdir, rm } from "node:fs/promises";
import { createServer, type Server, type Socket } from "node:net";
import { dirname } from "node:path";
import { createInterface } from "node:readline";
import Fastify from "fastify";
import { registerHealth } from "./api/health.js";
import type { Config } from "./config.js";
import type { RootKey } from "./crypto/root-key.js";
import { Sensitive } from "./crypto/sensitive.js";
import { listenAt } from "./listening.js";
import { ShareDesk, StoppedSealed, type Unseal, unsealSocketOf } from "./unsealing.js";

const LONGEST_LINE = 1_000;

/**
 * Waits for shares on a local socket that only this user may open, and answers the health of a sealed server meanwhile:
 * /healthz is well, /readyz is not.
 */
export function waitForShares(config: Config, say: (line: string) => void, stopping: AbortSignal): Unseal {
  return async (needed) => {
    await using sealed = new AsyncDisposableStack();
    const path = unsealSocketOf(config);
    const { promise, resolve, reject } = Promise.withResolvers<RootKey>();
    const desk = new ShareDesk(needed, resolve);
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    await rm(path, { force: true });
    const sockets = new Set<Socket>();
    const server = createServer((socket) => {
      sockets.add(socket);
      socket.on("close", () => sockets.delete(socket));
      socket.on("error", () => socket.destroy());
      serveShares(socket, desk);
    });
    await listen(server, path);
    sealed.defer(() => closeServer(server, sockets));
    for (const [host, port] of [
      [config.host, config.port],
      [config.adminHost, config.adminPort],
    ] as const) {
      const app = Fastify({ logger: false });
      registerHealth(app, { draining: stopping, check: async () => ({ root_key: "sealed" }) });
      sealed.defer(() => app.close());
      const url = await listenAt(host === config.host && port === config.port ? "" : "ADMIN_", { host, port }, () =>
        app.listen({ host, port }),
      );
      say(`Sealed: health at ${url}/readyz`);
    }
    say(
      `The root key ${needed.id} is kept in shares. Hand in ${needed.threshold} of them, one per line: cloakroom keys unseal`,
    );
    const stop = () => reject(new StoppedSealed("stopped while sealed"));
    stopping.addEventListener("abort", stop);
    sealed.defer(() => stopping.removeEventListener("abort", stop));
    if (stopping.aborted) stop();
    const key = await promise;
    say("Unsealed: starting.");
    return key;
  };
}

/** One share a line in, one answer a line out. */
function serveShares(socket: Socket, desk: ShareDesk): void {
  let size = 0;
  socket.on("data", (chunk: Buffer) => {
    size += chunk.length;
    if (size > LONGEST_LINE * 255) socket.destroy();
  });
  const lines = createInterface({ input: socket });
  lines.on("line", (line) => {
    if (line.length > LONGEST_LINE) {
      socket.destroy();
      return;
    }
    void desk.take(new Sensitive(line)).then((answer) => socket.write(`${JSON.stringify(answer)}\n`));
  });
}

async function listen(server: Server, path: string): Promise<void> {
  // The socket is made with what the mask leaves: nobody else may open it, not even for the moment before a chmod.
  const mask = process.umask(0o177);
  try {
    await new Promise<void>((resolve, reject) => {
      server.once("error", reject);
      server.listen(path, resolve);
    });
  } finally {
    process.umask(mask);
  }
  await chmod(path, 0o600);
}

/** Answers that were written still leave. */
function closeServer(server: Server, sockets: ReadonlySet<Socket>): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    for (const socket of sockets) socket.end();
    setTimeout(() => {
      for (const socket of sockets) socket.destroy();
    }, 1_000).unref();
  });
}
