import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { type LoadOptions, type LoadRequest, type LoadResult, Tally } from "./load.js";

/**
 * Sends requests over HTTP/1.1 keep-alive connections, one at a time on each. Uses plain sockets: a client library
 * would take more of the two cores than the server under test.
 */
export async function loadOverHttp1(options: LoadOptions): Promise<LoadResult> {
  const tally = new Tally(options.warmUp, options.duration);
  let sent = 0;
  const next = () => encode(options, options.request(sent++));
  const runs = Array.from({ length: options.connections }, async () => {
    const socket = connect(options.port, options.host);
    socket.setNoDelay(true);
    await once(socket, "connect");
    await drive(socket, next, tally);
    socket.destroy();
  });
  await Promise.all(runs);
  return tally.result();
}

/** The bytes of a request. */
export function encode(
  { host, port }: Pick<LoadOptions, "host" | "port">,
  { method, path, headers, body }: LoadRequest,
): Buffer {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  const length = body ? `Content-Length: ${body.length}\r\n` : "";
  const head = Buffer.from(`${method} ${path} HTTP/1.1\r\nHost: ${host}:${port}\r\n${lines.join("")}${length}\r\n`);
  return body ? Buffer.concat([head, body]) : head;
}

/** The first response in the buffer; undefined if it is incomplete. */
export function responseIn(read: Buffer): { status: number; head: string; rest: Buffer } | undefined {
  const end = read.indexOf("\r\n\r\n");
  if (end < 0) return undefined;
  const head = read.toString("latin1", 0, end);
  const length = Number(/\r\ncontent-length: (\d+)/i.exec(head)?.[1] ?? 0);
  if (read.length < end + 4 + length) return undefined;
  return { status: Number(head.slice(9, 12)), head, rest: read.subarray(end + 4 + length) };
}

function drive(socket: Socket, next: () => Buffer, tally: Tally): Promise<void> {
  return new Promise((resolve, reject) => {
    let startedAt = 0;
    let pending: Buffer = Buffer.alloc(0);
    const send = () => {
      if (tally.isOver) return resolve();
      startedAt = performance.now();
      socket.write(next());
    };
    socket.on("data", (chunk: Buffer) => {
      pending = pending.length === 0 ? chunk : Buffer.concat([pending, chunk]);
      const response = responseIn(pending);
      if (!response) return;
      pending = response.rest;
      tally.countResponse(response.status, startedAt);
      send();
    });
    socket.once("error", reject);
    socket.once("close", () => (tally.isOver ? resolve() : reject(new Error("the server closed a connection"))));
    send();
  });
}
