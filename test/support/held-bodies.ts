import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { expect } from "vitest";

export interface HeldRequest {
  readonly path: string;
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Announced length in bytes. */
  readonly length: number;
  /** Bytes that are sent; by default all but the last. */
  readonly sent?: number;
  /** The address that they come from. */
  readonly from?: string;
}

/** All bodies are the beginning of this one: hundreds of their own would take the test more time than the server. */
const BLANKS = Buffer.alloc(5 * 1024 * 1024, " ");

/** Requests over HTTP/1.1 whose bodies are never completed. */
export class HeldBodies implements Disposable {
  readonly #port: number;
  readonly #sockets: Socket[] = [];
  /** The response bytes of each connection so far. */
  readonly responses: string[] = [];

  constructor(url: string) {
    this.#port = Number(new URL(url).port);
  }

  async send(count: number, request: HeldRequest | ((index: number) => HeldRequest)): Promise<void> {
    const requestOf = typeof request === "function" ? request : () => request;
    await Promise.all(Array.from({ length: count }, (_, index) => this.#open(requestOf(index))));
  }

  /** The number of responses with this status. */
  countOf(status: number): number {
    return this.responses.filter((response) => response.startsWith(`HTTP/1.1 ${status} `)).length;
  }

  /** Waits until this many responses have this status. */
  async untilResponded(status: number, count: number): Promise<void> {
    await expect.poll(() => this.countOf(status)).toBeGreaterThanOrEqual(count);
  }

  [Symbol.dispose](): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  async #open({ path, method = "POST", headers = {}, length, sent = length - 1, from }: HeldRequest): Promise<void> {
    const target = { host: "127.0.0.1", port: this.#port };
    const socket = connect(from === undefined ? target : { ...target, localAddress: from });
    socket.on("error", () => {});
    this.#sockets.push(socket);
    const place = this.responses.push("") - 1;
    socket.on("data", (chunk: Buffer) => {
      this.responses[place] += chunk.toString("latin1");
    });
    await once(socket, "connect");
    const lines = Object.entries({ "content-type": "application/json", ...headers, "content-length": String(length) });
    const head = lines.map(([name, value]) => `${name}: ${value}\r\n`).join("");
    socket.write(`${method} ${path} HTTP/1.1\r\nhost: x\r\n${head}\r\n`);
    socket.write(BLANKS.subarray(0, sent));
  }
}
