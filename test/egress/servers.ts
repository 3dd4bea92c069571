import { once } from "node:events";
import http, { type RequestListener } from "node:http";
import https from "node:https";
import { createServer, type Server, type Socket } from "node:net";
import type { Identity } from "./certificates.js";

/** A test server that records what it saw. */
export interface TestServer {
  readonly port: number;
  /** Connections so far, each with the local address it was dialled at. */
  readonly connections: readonly Socket[];
  /** Every received byte, TLS removed, as latin1. */
  received(): string;
  close(): Promise<void>;
}

const running = new Set<TestServer>();

/** Closes what a test left open. */
export async function closeServers(): Promise<void> {
  await Promise.all([...running].map((server) => server.close()));
}

export function serveHttp(listener: RequestListener, host = "127.0.0.1"): Promise<TestServer> {
  const server = http.createServer(listener);
  return start(server, "connection", host);
}

export function serveHttps(
  identity: Identity & https.ServerOptions,
  listener: RequestListener,
  host = "127.0.0.1",
): Promise<TestServer> {
  return start(https.createServer(identity, listener), "secureConnection", host);
}

/** A TCP server that answers every connection's first bytes with `reply`, or runs it. */
export function serveRaw(reply: string | ((socket: Socket) => void), host = "127.0.0.1"): Promise<TestServer> {
  const server = createServer((socket) => {
    // Reads everything to see the end of the connection.
    socket.resume();
    if (typeof reply === "string") socket.on("data", () => socket.write(reply, "latin1"));
    else reply(socket);
  });
  return start(server, "connection", host);
}

async function start(server: Server, accepted: "connection" | "secureConnection", host: string): Promise<TestServer> {
  const open = new Set<Socket>();
  const connections: Socket[] = [];
  const chunks: Buffer[] = [];
  server.on("connection", (socket: Socket) => {
    open.add(socket);
    socket.on("error", () => {});
    socket.once("close", () => open.delete(socket));
  });
  server.on(accepted, (socket: Socket) => {
    connections.push(socket);
    socket.prependListener("data", (chunk: Buffer) => chunks.push(chunk));
  });
  server.listen(0, host);
  await once(server, "listening");
  const address = server.address();
  const result: TestServer = {
    port: typeof address === "object" && address !== null ? address.port : 0,
    connections,
    received: () => Buffer.concat(chunks).toString("latin1"),
    async close() {
      running.delete(result);
      if (!server.listening) return;
      for (const socket of open) socket.destroy();
      server.close();
      await once(server, "close");
    },
  };
  running.add(result);
  return result;
}
