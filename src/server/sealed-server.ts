import { once } from "node:events";
import { chmod, mkdir, rm } from "node:fs/promises";
import type { RequestListener, Server as WebServer } from "node:http";
import { createServer, type Server, type Socket } from "node:net";
import { dirname } from "node:path";
import { refuseRequest } from "../api/arrival/refuse-request.js";
import { createCors } from "../api/browser/cors.js";
import { prepareResponse } from "../api/browser/prepare-response.js";
import { CONNECTION_LIMITS } from "../api/connection/connection-limits.js";
import { createMultiProtocolServer } from "../api/connection/multi-protocol-server.js";
import type { ServerCertificate } from "../api/connection/server-certificate.js";
import { isHealthCheck, type Readiness } from "../api/health/health.js";
import { createHealthPort } from "../api/health/health-port.js";
import { Fault } from "../base/fault.js";
import { LineSplitter } from "../base/line-splitter.js";
import { Sensitive } from "../crypto/sensitive.js";
import { MAX_SHARE_LINE_LENGTH, notAShare } from "../crypto/shares.js";
import type { Config } from "../settings/config.js";
import {
  keptInShares,
  ShareCollector,
  type ShareResult,
  type Unseal,
  type UnsealedKey,
  unsealSocketPath,
} from "../vault/unsealing.js";
import { listenAt } from "./listening.js";
import { StoppedAtStart } from "./running-server.js";

/** How long a refused client may continue sending. */
const LINGER_MS = 1_000;

/** Clients retry after this many seconds, because people must provide their shares. */
const RETRY_AFTER_SECONDS = 30;

const SEALED = new Fault("unavailable", "This server is sealed: it waits for the shares of its root key.", {
  retryAfter: RETRY_AFTER_SECONDS,
});

export interface SealedServer {
  readonly config: Config;
  readonly say: (line: string) => void;
  readonly stopping: AbortSignal;
  /**
   * The main port's certificate while serving, used here too: after a failed probe, an orchestrator would restart the
   * server, and the shares already provided would be lost.
   */
  readonly tls: ServerCertificate | undefined;
  /** The names of the services that it will serve. */
  readonly services: readonly string[];
}

/**
 * Waits for shares on a local socket that only this user may open. Meanwhile both ports report the health of a sealed
 * server (/healthz succeeds, /readyz and gRPC's health check do not), and refuse every call as unavailable: a client
 * must not mistake a sealed server for one that has none of its tokens.
 */
export function waitForShares({ config, say, stopping, tls, services }: SealedServer): Unseal {
  return async (needed) => {
    await using sealed = new AsyncDisposableStack();
    const path = unsealSocketPath(config);
    const { promise, resolve, reject } = Promise.withResolvers<readonly UnsealedKey[]>();
    const collector = new ShareCollector(needed, resolve);
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    await rm(path, { force: true });
    const sockets = new Set<Socket>();
    const server = createServer((socket) => {
      sockets.add(socket);
      socket.on("close", () => sockets.delete(socket));
      socket.on("error", () => socket.destroy());
      serveShares(socket, collector);
    });
    await listen(server, path);
    sealed.defer(() => closeServer(server, sockets));
    const readiness: Readiness = {
      draining: stopping,
      check: async () => ({ checks: { root_key: "sealed" }, warnings: [] }),
    };
    const health = sealed.use(await createHealthPort(services, readiness));
    const listener = refuseAllBut(health.listener, config.corsOrigins);
    const places = [
      { prefix: "", host: config.host, port: config.port, tls },
      { prefix: "ADMIN_", host: config.adminHost, port: config.adminPort, tls: undefined },
    ] as const;
    for (const { prefix, host, port, tls: certificate } of places) {
      const { server: web, destroy } = createMultiProtocolServer(listener, CONNECTION_LIMITS, certificate);
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
      say(`Sealed: health at ${urlOf(web, host, certificate ? "https" : "http")}/readyz`);
    }
    for (const key of needed) {
      say(`${keptInShares(key)}. Hand in ${key.threshold ?? "some"} of them, one per line: cloakroom keys unseal`);
    }
    const stop = () => reject(new StoppedAtStart("stopped while sealed"));
    stopping.addEventListener("abort", stop);
    sealed.defer(() => stopping.removeEventListener("abort", stop));
    if (stopping.aborted) stop();
    const keys = await promise;
    say("Unsealed: starting.");
    return keys;
  };
}

/** Serves health checks alone. */
function refuseAllBut(health: RequestListener, origins: readonly string[]): RequestListener {
  const cors = createCors(origins);
  return (request, response) => {
    const traceId = prepareResponse(cors, request, response);
    if (request.method === "OPTIONS") return cors.respondToPreflight(request, response);
    if (isHealthCheck(request)) return health(request, response);
    refuseRequest(request, response, SEALED, traceId);
  };
}

function urlOf(web: WebServer, host: string, scheme: "http" | "https"): string {
  const address = web.address();
  const port = typeof address === "object" && address ? address.port : 0;
  return `${scheme}://${host.includes(":") ? `[${host}]` : host}:${port}`;
}

/**
 * Reads one share per line, and responds to each with one line. A line too long for a share gets a response, which ends the
 * connection: further input is read and discarded for a moment, because a reset would make a sending client lose the
 * response.
 */
function serveShares(socket: Socket, collector: ShareCollector): void {
  const splitter = new LineSplitter(MAX_SHARE_LINE_LENGTH);
  const send = (text: ShareResult) => socket.write(`${JSON.stringify(text)}\n`);
  socket.setEncoding("utf8");
  const take = (piece: string) => {
    try {
      for (const line of splitter.push(piece)) void collector.take(new Sensitive(line)).then(send);
    } catch {
      socket.off("data", take).resume();
      send(collector.refuse(notAShare()));
      socket.end();
      setTimeout(() => socket.destroy(), LINGER_MS).unref();
    }
  };
  socket.on("data", take);
}

async function listen(server: Server, path: string): Promise<void> {
  // The mask applies when the socket is created: no other user may open it, not even in the moment before a chmod.
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

/** Responses already written are still sent. */
function closeServer(server: Server, sockets: ReadonlySet<Socket>): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    for (const socket of sockets) socket.end();
    setTimeout(() => {
      for (const socket of sockets) socket.destroy();
    }, 1_000).unref();
  });
}
