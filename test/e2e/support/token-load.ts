import { setTimeout as pause } from "node:timers/promises";
import { expect } from "vitest";
import type { RestClient } from "../../support/rest.js";

export const CARD = { number: "4242424242424242", expiration_month: 12, expiration_year: 2030 };

/** One request that stores tokens, and its outcome. */
export interface StoringRequest {
  /** Its idempotency key, which its tokens carry as metadata too. */
  readonly name: string;
  readonly path: "/tokens" | "/tokenize";
  /** The tokens in its response. Undefined until it is acknowledged. */
  acknowledged: readonly string[] | undefined;
}

/** Tokens that each kind of request stores. */
export const TOKENS_OF = { "/tokens": 1, "/tokenize": 4 } as const;

/** Many clients that store tokens concurrently and remember the responses. */
export class TokenLoad {
  readonly requests: StoringRequest[] = [];
  /** Responses other than success, by status; 0 if there was none. */
  readonly refusals = new Map<number, number>();
  readonly #name: string;
  readonly #clients: number;
  #isOver = false;
  #pauseMs = 0;
  #running: Promise<unknown> = Promise.resolve();

  /** @param name distinguishes its requests from those of other loads of the same tenant. */
  constructor(name = "request", clients = 24) {
    this.#name = name;
    this.#clients = clients;
  }

  get acknowledged(): StoringRequest[] {
    return this.requests.filter(({ acknowledged }) => acknowledged !== undefined);
  }

  get unacknowledged(): StoringRequest[] {
    return this.requests.filter(({ acknowledged }) => acknowledged === undefined);
  }

  start(client: RestClient): void {
    this.#isOver = false;
    this.#pauseMs = 0;
    const one = async (number: number) => {
      while (!this.#isOver) {
        const path = (this.requests.length + number) % 3 === 0 ? "/tokenize" : "/tokens";
        const request: StoringRequest = {
          name: `${this.#name}-${this.requests.length}`,
          path,
          acknowledged: undefined,
        };
        this.requests.push(request);
        if ((await this.send(client, request)) === "no response") return;
        if (this.#pauseMs > 0) await pause(this.#pauseMs);
      }
    };
    this.#running = Promise.all(Array.from({ length: this.#clients }, (_, number) => one(number)));
  }

  /** From now on the clients pause between their requests, for what only needs a load that goes on. */
  slowDown(pauseMs = 50): void {
    this.#pauseMs = pauseMs;
  }

  /** Lets the requests in flight finish or fail. */
  async stop(): Promise<void> {
    this.#isOver = true;
    await this.#running;
  }

  /** Sends a request, or repeats it with the same idempotency key. */
  async send(client: RestClient, request: StoringRequest): Promise<"acknowledged" | "refused" | "no response"> {
    const headers = { "BT-IDEMPOTENCY-KEY": request.name };
    const response = await client("POST", request.path, { headers, body: bodyOf(request) }).catch(() => undefined);
    if (response && (response.status === 200 || response.status === 201)) {
      request.acknowledged = request.path === "/tokens" ? [response.body.id] : idsIn(response.body);
      return "acknowledged";
    }
    const status = response?.status ?? 0;
    this.refusals.set(status, (this.refusals.get(status) ?? 0) + 1);
    return response ? "refused" : "no response";
  }
}

function bodyOf({ name, path }: StoringRequest): unknown {
  const metadata = { request: name };
  const card = { type: "card", data: { ...CARD, cvc: "123" }, metadata };
  if (path === "/tokens") return card;
  const text = (part: number) => ({ type: "token", data: `${name}/${part}`, metadata });
  return { card, texts: [text(1), text(2)], last: text(3) };
}

function idsIn(body: { card: { id: string }; texts: { id: string }[]; last: { id: string } }): string[] {
  return [body.card, ...body.texts, body.last].map(({ id }) => id);
}

/** Reads back everything that was acknowledged, with its value. */
export async function expectAllReadable(client: RestClient, requests: readonly StoringRequest[]): Promise<void> {
  const wanted = requests.flatMap(({ name, acknowledged = [] }) =>
    acknowledged.map((id, part) => ({ id, data: part === 0 ? CARD : `${name}/${part}` })),
  );
  const left = [...wanted];
  const readOn = async () => {
    for (let next = left.pop(); next; next = left.pop()) {
      const { status, body } = await client("GET", `/tokens/${next.id}`);
      expect({ status, data: body.data }).toMatchObject({ status: 200, data: next.data });
    }
  };
  await Promise.all(Array.from({ length: 32 }, readOn));
}
