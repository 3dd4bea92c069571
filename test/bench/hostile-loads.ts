import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { checksum } from "../../src/access/key-text.js";
import { randomText } from "../../src/access/secret-text.js";
import { compactUuid } from "../../src/base/compact-uuid.js";
import type { TenantId } from "../../src/base/ids.js";
import { encode, responseIn } from "./http1-load.js";
import type { LoadRequest } from "./load.js";
import { CARD_BODY, importCards, JSON_TYPE } from "./token-requests.js";

/** What a load is put on: a server, and a tenant of it with an application of its own. */
export interface LoadTarget {
  readonly host: string;
  readonly port: number;
  readonly key: string;
  readonly tenantId: TenantId;
}

/** A load that another party puts on the server. */
interface HostileLoad {
  readonly name: string;
  start(target: LoadTarget): Promise<unknown>;
}

const PATHS = Array.from({ length: 900 }, (_, n) => [`m${n}`, `{{ data | json: "$.a[?@.n > ${n % 50}].n" | size }}`]);
const MASKS = {
  type: "token",
  data: { a: Array.from({ length: 20 }, (_, n) => ({ n })) },
  mask: Object.fromEntries(PATHS),
};
const NUMBERS = { type: "token", data: Array.from({ length: 49_500 }, (_, n) => n) };

/** Each goes on until its thread ends. */
export const HOSTILE_LOADS: readonly HostileLoad[] = [
  { name: "16 masks of 900 JSON paths at once", start: (target) => create(target, 16, JSON.stringify(MASKS)) },
  { name: "128 small creates at once", start: (target) => create(target, 128, CARD_BODY) },
  { name: "an import by 4 callers", start: importTokens },
  { name: "32 bodies of 49,500 numbers at once", start: (target) => create(target, 32, JSON.stringify(NUMBERS)) },
  { name: "1,000 made-up keys a second from ten addresses", start: sendMadeUpKeys },
  { name: "500 connections that hold small bodies", start: async (target) => holdBodies(target) },
];

/** So many callers, each of whom sends its next request when the last one is answered. */
async function create(target: LoadTarget, callers: number, body: string | Buffer): Promise<void> {
  const headers = { "BT-API-KEY": target.key, ...JSON_TYPE };
  const request = encode(target, { method: "POST", path: "/tokens", headers, body: Buffer.from(body) });
  const open = await Promise.all(Array.from({ length: callers }, () => BenchCaller.open(target)));
  for (const caller of open) void repeat(() => caller.ask(request));
}

async function importTokens(target: LoadTarget): Promise<void> {
  const open = await Promise.all(Array.from({ length: 4 }, () => BenchCaller.open(target)));
  let sent = 0;
  const send = (caller: BenchCaller) => {
    sent += 1;
    return caller.ask(encode(target, importCards(target.key, sent)));
  };
  for (const caller of open) void repeat(() => send(caller));
}

/** At the limit of 100 a second for each address. */
async function sendMadeUpKeys(target: LoadTarget): Promise<void> {
  const open = await Promise.all(
    Array.from({ length: 50 }, (_, n) => BenchCaller.open(target, `127.0.0.${10 + (n % 10)}`)),
  );
  const request = (): LoadRequest => {
    const body = `key_prod_pvt_${compactUuid(target.tenantId)}_${randomText()}`;
    return { method: "GET", path: "/tokens/a", headers: { "BT-API-KEY": `${body}_${checksum(body)}` } };
  };
  for (const caller of open) {
    void repeat(() => Promise.all([caller.ask(encode(target, request())), pause(50)]));
  }
}

async function repeat(work: () => Promise<unknown>): Promise<void> {
  for (;;) await work();
}

/** Sends all but the last byte of small bodies to a path that needs no key, again whenever one is refused. */
function holdBodies({ host, port }: LoadTarget): void {
  const head = "POST /sign-ins HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 4000\r\n\r\n";
  const hold = () => {
    const socket = connect(port, host);
    socket.on("error", () => {}).resume();
    socket.once("close", () => setTimeout(hold, 100));
    socket.write(head);
    socket.write(Buffer.alloc(3_999, " "));
  };
  for (let n = 0; n < 500; n += 1) hold();
}

/** A connection that carries one request at a time. */
export class BenchCaller {
  readonly #socket: Socket;
  #pending: Buffer = Buffer.alloc(0);
  #answered: ((status: number) => void) | undefined;

  private constructor(socket: Socket) {
    this.#socket = socket.setNoDelay(true).on("error", () => {});
    socket.on("data", (chunk: Buffer) => {
      this.#pending = this.#pending.length === 0 ? chunk : Buffer.concat([this.#pending, chunk]);
      const response = responseIn(this.#pending);
      if (!response) return;
      this.#pending = response.rest;
      this.#answered?.(response.status);
    });
  }

  static async open({ host, port }: Pick<LoadTarget, "host" | "port">, localAddress?: string): Promise<BenchCaller> {
    const socket = connect({ host, port, ...(localAddress === undefined ? {} : { localAddress }) });
    await once(socket, "connect");
    return new BenchCaller(socket);
  }

  /** @returns the status. Never settles once the connection is closed. */
  ask(request: Buffer): Promise<number> {
    return new Promise((resolve) => {
      this.#answered = resolve;
      this.#socket.write(request);
    });
  }

  close(): void {
    this.#socket.destroy();
  }
}
