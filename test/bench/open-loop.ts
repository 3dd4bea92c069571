import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { Histogram } from "./histogram.js";
import { encode, responseIn } from "./http1-load.js";
import type { LoadRequest } from "./load.js";

export interface OpenLoopOptions {
  readonly host: string;
  readonly port: number;
  /** Requests per second, whatever the outcome of earlier ones. */
  readonly rate: number;
  /** Milliseconds. */
  readonly duration: number;
  readonly request: LoadRequest;
}

/** Outcomes of requests that arrive at a fixed rate. */
export class OpenLoopResult {
  /** Milliseconds from the time a request was due, for those that were served. */
  readonly served = new Histogram();
  /** Rejected with 503 and Retry-After. */
  shed = 0;
  /** Any other response, or none. */
  failed = 0;
  /** Due while every connection was busy: these callers still wait for a connection. */
  unsent = 0;
  /** Milliseconds from the start until the last request was shed. */
  lastShedAt = 0;
}

/**
 * Connections that callers keep open. A connection opened under load waits: libuv accepts one in each turn of the event
 * loop.
 */
const CONNECTIONS = 1_000;

/** Sends requests at a fixed rate over HTTP/1.1, like many independent callers. */
export async function loadOpenLoop({ rate, duration, request, ...target }: OpenLoopOptions): Promise<OpenLoopResult> {
  const result = new OpenLoopResult();
  const bytes = encode(target, request);
  const all: Connection[] = [];
  while (all.length < CONNECTIONS) {
    const opened = Array.from(
      { length: 50 },
      () =>
        new Connection(target, () => {
          result.failed += 1;
        }),
    );
    await Promise.all(opened.map((connection) => connection.opened));
    all.push(...opened);
  }
  const idle = [...all];
  const startedAt = performance.now();
  const onResponse = (connection: Connection, dueAt: number, status: number, head: string) => {
    const now = performance.now();
    if (status < 300) result.served.add(now - dueAt);
    else if (status === 503 && /\r\nretry-after: \d+/i.test(head)) {
      result.shed += 1;
      result.lastShedAt = now - startedAt;
    } else result.failed += 1;
    idle.push(connection);
  };

  const total = (rate * duration) / 1_000;
  for (let due = 0; due < total; ) {
    const until = Math.min((rate * (performance.now() - startedAt)) / 1_000, total);
    for (; due < until; due += 1) {
      const dueAt = startedAt + (due * 1_000) / rate;
      const connection = takeOpen(idle);
      if (connection) connection.send(bytes, dueAt, onResponse);
      else result.unsent += 1;
    }
    await pause(1);
  }
  while (all.some(({ isWaiting }) => isWaiting)) await pause(10);
  await Promise.all(all.map((connection) => connection.close()));
  return result;
}

/** The server closes connections that were silent for ten seconds. */
function takeOpen(idle: Connection[]): Connection | undefined {
  for (;;) {
    const connection = idle.pop();
    if (!connection?.isClosed) return connection;
  }
}

type OnResponse = (connection: Connection, dueAt: number, status: number, head: string) => void;

/** A connection that carries one request at a time. */
class Connection {
  readonly opened: Promise<unknown>;
  readonly #socket: Socket;
  #pending: Buffer = Buffer.alloc(0);
  #asked: { readonly dueAt: number; readonly onResponse: OnResponse } | undefined;

  constructor({ host, port }: { readonly host: string; readonly port: number }, onLost: () => void) {
    this.#socket = connect(port, host);
    this.#socket.setNoDelay(true);
    this.opened = once(this.#socket, "connect");
    this.#socket.on("data", (chunk: Buffer) => this.#read(chunk));
    this.#socket.on("error", () => {});
    this.#socket.once("close", () => {
      if (this.#asked) onLost();
      this.#asked = undefined;
    });
  }

  get isClosed(): boolean {
    return this.#socket.destroyed;
  }

  get isWaiting(): boolean {
    return this.#asked !== undefined;
  }

  send(bytes: Buffer, dueAt: number, onResponse: OnResponse): void {
    this.#asked = { dueAt, onResponse };
    this.#socket.write(bytes);
  }

  async close(): Promise<void> {
    if (this.#socket.closed) return;
    this.#socket.destroy();
    await once(this.#socket, "close");
  }

  #read(chunk: Buffer): void {
    this.#pending = this.#pending.length === 0 ? chunk : Buffer.concat([this.#pending, chunk]);
    const response = responseIn(this.#pending);
    if (!response || !this.#asked) return;
    const { dueAt, onResponse } = this.#asked;
    this.#pending = response.rest;
    this.#asked = undefined;
    onResponse(this, dueAt, response.status, response.head);
  }
}
