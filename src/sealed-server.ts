import { once } from "node:events";
import { chmod, mkdir, rm } from "node:fs/promises";
import type { Server as WebServer } from "node:http";
import { createServer, type Server, type Socket } from "node:net";
import { dirname } from "node:path";
import { createInterface } from "node:readline";
import Fastify from "fastify";
import { registerHealth } from "./api/health.js";
import { CONNECTION_LIMITS, createOnePort } from "./api/one-port.js";
import type { Config } from "./config.js";
import { Sensitive } from "./crypto/sensitive.js";
import { listenAt, type TlsIdentity } from "./listening.js";
import { keptInShares, ShareDesk, StoppedSealed, type Unseal, type UnsealedKey, unsealSocketOf } from "./unsealing.js";

const LONGEST_LINE = 1_000;

/**
 * Waits for shares on a local socket that only this user may open, and answers the health of a sealed server meanwhile:
 * /healthz is well, /readyz is not.
 * @param tls what the main port speaks once it serves: a probe that is told the server were dead would have it started
 * again, and the shares that were handed in would be lost.
 */
export function waitForShares(
  config: Config,
  say: (line: string) => void,
  stopping: AbortSignal,
  tls: TlsIdentity | undefined,
): Unseal {
  return async (needed) => {
    await using sealed = new AsyncDisposableStack();
    const path = unsealSocketOf(config);
    const { promise, resolve, reject } = Promise.withResolvers<readonly UnsealedKey[]>();
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
    const health = Fastify({ logger: false });
    registerHealth(health, { draining: stopping, check: async () => ({ root_key: "sealed" }) });
    await health.ready();
    sealed.defer(() => health.close());
    const places = [
      { prefix: "", host: config.host, port: config.port, tls },
      { prefix: "ADMIN_", host: config.adminHost, port: config.adminPort, tls: undefined },
    ] as const;
    for (const { prefix, host, port, tls: identity } of places) {
      const { server: web, destroy } = createOnePort(
        (request, response) => health.routing(request, response),
        CONNECTION_LIMITS,
        identity,
      );
      await listenAt(prefix, { host, port }, async () => {
        web.listen({ host, port });
        await once(web, "listening");
      });
      sealed.defer(async () => {
        const closed = once(web, "close");
        web.close();
        destroy();
        await closed;
      });
      say(`Sealed: health at ${urlOf(web, host, identity)}/readyz`);
    }
    for (const key of needed) {
      say(`${keptInShares(key)}. Hand in ${key.threshold ?? "some"} of them, one per line: cloakroom keys unseal`);
    }
    const stop = () => reject(new StoppedSealed("stopped while sealed"));
    stopping.addEventListener("abort", stop);
    sealed.defer(() => stopping.removeEventListener("abort", stop));
    if (stopping.aborted) stop();
    const keys = await promise;
    say("Unsealed: starting.");
    return keys;
  };
}

function urlOf(web: WebServer, host: string, tls: TlsIdentity | undefined): string {
  const address = web.address();
  const port = typeof address === "object" && address ? address.port : 0;
  return `${tls ? "https" : "http"}://${host.includes(":") ? `[${host}]` : host}:${port}`;
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
