import { afterAll, afterEach, beforeAll, expect, it } from "vitest";
import { ServerCounters } from "../support/counters.js";
import type { RestClient } from "../support/rest.js";
import { type ServerProcess, startServerProcess } from "../support/server.js";
import { firstTenant, newTenant, type TestTenant } from "../support/tenant.js";

/** The largest token, without the rest of its request. */
const LARGE = 5 * 1024 * 1024 - 200;
const READERS = 128;
/** The design's limit of the server's memory under 128 bodies of 5 MB, in megabytes. */
const MOST_MEMORY_MB = 600;
/** Some wait for 20 s, then they are refused. */
const PATIENT = { timeout: 60_000 };

let server: ServerProcess;
let counters: ServerCounters;
let tenant: TestTenant;
let backEnd: RestClient & { readonly key: string };
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
  await expect.poll(free, PATIENT).toBe(freeMemory);
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

async function request(path: string, init: RequestInit = {}): Promise<Response> {
  const headers = { "bt-api-key": backEnd.key, "content-type": "application/json" };
  const response = await fetch(`${server.url}${path}`, { ...init, headers });
  const text = await response.text();
  const stored = /x{3,}/.exec(text)?.[0].length ?? 0;
  return { status: response.status, retryAfter: response.headers.get("retry-after"), stored };
}

/** @returns the number of responses that have the value. The others are refusals. */
function servedOf(responses: readonly Response[]): number {
  const served = responses.filter(({ status }) => status === 200);
  for (const { stored } of served) expect(stored).toBe(LARGE);
  for (const { status, retryAfter } of responses) {
    if (status !== 200) expect({ status, retryAfter }).toEqual({ status: 503, retryAfter: "1" });
  }
  return served.length;
}

it("128 reads of a token of 5 MB at once are served in turn, and another tenant meanwhile", PATIENT, async () => {
  const reads = Promise.all(Array.from({ length: READERS }, () => request(`/tokens/${large}`)));
  await expect.poll(waiting, PATIENT).toBeGreaterThan(READERS / 4);
  const probe = await other("GET", `/tokens/${small}`);
  expect(probe.status).toBe(200);
  expect(await waiting(), "the others still wait").toBeGreaterThan(0);
  const served = servedOf(await reads);
  // Those that share the database's transactions were refused after 2 s: all but four.
  expect(served).toBeGreaterThan(READERS / 4);
  expect(counters.peakMemory()).toBeLessThan(MOST_MEMORY_MB);
  const { body } = await tenant.manage("GET", `/logs?entity_id=${large}&operation=read&size=1`);
  expect(body.pagination.total_items, "log rows").toBe(served);
});

it("128 requests that detokenize it at once stay within the memory", PATIENT, async () => {
  const body = JSON.stringify({ value: `{{ ${large} }}` });
  const requests = Array.from({ length: READERS }, () => request("/detokenize", { method: "POST", body }));
  expect(servedOf(await Promise.all(requests))).toBeGreaterThan(0);
  expect(counters.peakMemory()).toBeLessThan(MOST_MEMORY_MB);
});
