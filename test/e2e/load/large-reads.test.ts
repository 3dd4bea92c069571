// Computes: 20 s
import { setTimeout as pause } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, expect, it } from "vitest";
import { ServerCounters } from "../../support/counters.js";
import type { RestClient } from "../../support/rest.js";
import { type ServerProcess, startServerProcess } from "../../support/server.js";
import { firstTenant, newTenant, type TestTenant } from "../../support/tenant.js";

/** The largest token, without the rest of its request. */
const LARGE = 5 * 1024 * 1024 - 200;
const READERS = 128;
/** The design's limit of the server's memory under 128 bodies of 5 MB, in megabytes. */
const MAX_MEMORY_MB = 600;
/** Responses after which a test has seen enough: without memory for each read, all but four were refused. */
const ENOUGH = 24;
/** Before a refused read is sent again. */
const RETRY_MS = 100;

let server: ServerProcess;
let counters: ServerCounters;
let tenant: TestTenant;
let backEnd: RestClient & { readonly key: string; readonly id: string };
/** A client of another tenant. */
let other: RestClient;
let freeMemory: number;
let large: string;
let small: string;

beforeAll(async () => {
  server = await startServerProcess();
  counters = new ServerCounters(server);
  tenant = await firstTenant(server);
  backEnd = await tenant.backEnd();
  other = await (await newTenant(server.url, { ...server.environment })).backEnd();
  freeMemory = await free();
  large = await created(backEnd, LARGE);
  small = await created(other, 10);
});
afterAll(() => server?.[Symbol.asyncDispose]());
afterEach(async () => {
  // All memory is released once the responses are sent.
  await expect.poll(free).toBe(freeMemory);
});

const free = () => counters.metric("cloakroom_body_memory_free_bytes");
const waiting = () => counters.metric("cloakroom_bodies_waiting");

async function created(client: RestClient, size: number): Promise<string> {
  const { status, body } = await client("POST", "/tokens", { body: { type: "token", data: "x".repeat(size) } });
  expect(status).toBe(201);
  return body.id;
}

interface Response {
  readonly status: number;
  readonly retryAfter: string | null;
  /** Length of the value: 128 values are not kept. */
  readonly stored: number;
}

async function request(path: string, init: RequestInit = {}, others: Record<string, string> = {}): Promise<Response> {
  const headers = { "bt-api-key": backEnd.key, "content-type": "application/json", ...others };
  const response = await fetch(`${server.url}${path}`, { ...init, headers });
  const text = await response.text();
  const stored = /x{3,}/.exec(text)?.[0].length ?? 0;
  return { status: response.status, retryAfter: response.headers.get("retry-after"), stored };
}

/** Requires each response to have the value, or to be a refusal that says when to try again. */
function expectServedOrRefused(responses: readonly Response[]): void {
  for (const { status, retryAfter, stored } of responses) {
    if (status === 200) expect(stored).toBe(LARGE);
    else expect({ status, retryAfter }).toEqual({ status: 503, retryAfter: "1" });
  }
}

const served = (responses: readonly Response[]) => responses.filter(({ status }) => status === 200).length;

/**
 * Sends many requests at once, until enough are served: all of them take ten seconds of processor time. A refused one is
 * sent again, as clients do. The rest leaves while it waits.
 */
class Crowd {
  readonly responses: Response[] = [];
  readonly #leaving = new AbortController();
  readonly #ended: Promise<unknown>;

  constructor(count: number, send: (signal: AbortSignal) => Promise<Response>) {
    const { signal } = this.#leaving;
    const one = async () => {
      while (!signal.aborted) {
        const response = await send(signal);
        this.responses.push(response);
        if (response.status !== 503) return;
        await pause(RETRY_MS, undefined, { signal });
      }
    };
    this.#ended = Promise.allSettled(Array.from({ length: count }, one));
  }

  /** Waits until so many are served, lets the others leave, and requires that each was served or refused. */
  async untilServed(enough: number): Promise<void> {
    await expect.poll(() => served(this.responses)).toBeGreaterThanOrEqual(enough);
    this.#leaving.abort();
    await this.#ended;
    expectServedOrRefused(this.responses);
  }
}

it("128 reads of a token of 5 MB at once are served in turn, and another tenant meanwhile", async () => {
  const crowd = new Crowd(READERS, (signal) => request(`/tokens/${large}`, { signal }));
  await expect.poll(waiting).toBeGreaterThan(0);
  const probe = await other("GET", `/tokens/${small}`);
  expect(probe.status).toBe(200);
  expect(await waiting(), "reads that still wait").toBeGreaterThan(0);
  await crowd.untilServed(ENOUGH);
  expect(counters.peakMemory()).toBeLessThan(MAX_MEMORY_MB);
});

it("128 requests that detokenize it at once stay within the memory", async () => {
  const body = JSON.stringify({ value: `{{ ${large} }}` });
  const crowd = new Crowd(READERS, (signal) => request("/detokenize", { method: "POST", body, signal }));
  await crowd.untilServed(ENOUGH / 2);
  expect(counters.peakMemory()).toBeLessThan(MAX_MEMORY_MB);
});

it("changes, replays, duplicates and pages of large tokens stay within the memory, as does a deletion", async () => {
  const send = (method: string, path: string, body: unknown, headers = {}) =>
    request(path, { method, body: JSON.stringify(body) }, headers);
  const value = "x".repeat(LARGE - 200);
  const unique = (data: object) => ({
    ...{ type: "token", data: { k: "one", ...data } },
    ...{ fingerprint_expression: "{{ data.k }}", deduplicate_token: true },
  });
  const once = { "bt-idempotency-key": "large" };
  /** Sends it again while it is refused: those before it may still take the server's time. */
  const make = async (body: unknown, headers = {}): Promise<number> => {
    for (;;) {
      const { status } = await send("POST", "/tokens", body, headers);
      if (status !== 503) return status;
      await pause(RETRY_MS);
    }
  };
  expect(await make(unique({ value }))).toBe(201);
  expect(await make({ type: "token", data: value }, once)).toBe(201);

  const patch = { "content-type": "application/merge-patch+json" };
  const kinds: Readonly<Record<string, (index: number) => Promise<Response>>> = {
    change: (index) => send("PATCH", `/tokens/${large}`, { metadata: { index: String(index) } }, patch),
    replay: () => send("POST", "/tokens", {}, once),
    duplicate: () => send("POST", "/tokens", unique({})),
    page: () => request("/tokens?size=1"),
  };
  for (const [kind, run] of Object.entries(kinds)) {
    const responses = await Promise.all(Array.from({ length: READERS / 8 }, (_, index) => run(index)));
    const refused = responses.filter(({ status }) => status >= 300);
    for (const { status, retryAfter } of refused) expect([kind, status, retryAfter]).toEqual([kind, 503, "1"]);
    expect([kind, refused.length]).not.toEqual([kind, responses.length]);
  }
  const pageOfTwo = await backEnd("GET", "/tokens?size=2");
  const tooLarge = "must be smaller: the tokens of this page have more than 8388608 bytes together";
  expect(pageOfTwo).toMatchObject({ status: 400, body: { errors: { size: [tooLarge] } } });
  expect((await request(`/tokens/${large}`, { method: "DELETE" })).status).toBe(204);
  expect(counters.peakMemory()).toBeLessThan(MAX_MEMORY_MB);
});

it("each read of a large token leaves one log row, and shows what each caller may see", async () => {
  const id = await created(backEnd, 100_000);
  const masked = await tenant.application({
    type: "private",
    rules: [{ priority: 1, container: "/", transform: "redact", permissions: ["token:read"] }],
  });
  const elsewhere = await tenant.application({
    type: "private",
    rules: [{ priority: 1, container: "/elsewhere/", transform: "reveal", permissions: ["token:read"] }],
  });
  const [revealed, redacted, denied] = await Promise.all(
    [backEnd, masked, elsewhere].map((client) => client("GET", `/tokens/${id}`)),
  );
  expect(revealed?.body.data).toBe("x".repeat(100_000));
  expect(redacted).toMatchObject({ status: 200, body: { id } });
  expect(redacted?.body.data ?? null).toBeNull();
  expect(denied?.status).toBe(403);
  const actors = async (operation: string) => {
    const { body } = await tenant.manage("GET", `/logs?entity_id=${id}&operation=${operation}`);
    return body.data.map(({ actor_id }: { readonly actor_id: string }) => actor_id).toSorted();
  };
  expect(await actors("read")).toEqual([backEnd.id, masked.id].toSorted());
  expect(await actors("refuse")).toEqual([elsewhere.id]);
});
