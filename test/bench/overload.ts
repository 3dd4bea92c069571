import type { BenchServer } from "./bench-server.js";
import { measure } from "./measure.js";
import { loadOpenLoop } from "./open-loop.js";
import { residentMemory } from "./processor-time.js";
import { say } from "./table.js";
import { createCard, getToken, makeApplication, makeCards } from "./token-requests.js";

/** The effect of more requests than the server can handle on those that it serves. */
export interface Overload {
  readonly operation: string;
  /** Requests per second served to 128 callers, each of whom waits for its response, and their p99 in ms. */
  readonly sustained: number;
  readonly sustainedP99: number;
  /** Requests per second that then arrive. */
  readonly offered: number;
  readonly served: number;
  readonly servedP99: number;
  readonly shed: number;
  readonly failed: number;
  readonly unsent: number;
  /** Peak memory in bytes. */
  readonly memory: number;
  /** Milliseconds after the overload until no request is shed any more, at half of the sustained rate. */
  readonly recoveredAfter: number;
}

const SECONDS = 15;
const RECOVERY_SECONDS = 8;

/** Sends twice the sustained rate, then half of it. */
export async function overload(server: BenchServer): Promise<readonly Overload[]> {
  const key = await makeApplication(server, server.managementKey);
  const [id = ""] = await makeCards(server, key, 1);
  const operations = [
    { operation: "POST /tokens (card)", expect: 201, request: createCard(key) },
    { operation: "GET /tokens/{id}, reveal", expect: 200, request: getToken(key, id) },
  ];
  const results: Overload[] = [];
  for (const { operation, expect, request } of operations) {
    const closed = { protocol: "http1", connections: 128, warmUp: 2_000, duration: 5_000 } as const;
    const calm = await measure(server, { ...closed, operation, expect, request: () => request });
    const offered = 2 * calm.requestsPerSecond;
    let memory = 0;
    const watch = setInterval(() => {
      memory = Math.max(memory, residentMemory(server.pid));
    }, 250);
    // The first two seconds are not counted: a burst is served, however late.
    await loadOpenLoop({ ...server, rate: offered, duration: 2_000, request });
    const flood = await loadOpenLoop({ ...server, rate: offered, duration: SECONDS * 1_000, request });
    clearInterval(watch);
    const after = await loadOpenLoop({ ...server, rate: offered / 4, duration: RECOVERY_SECONDS * 1_000, request });
    const result: Overload = {
      operation,
      sustained: calm.requestsPerSecond,
      sustainedP99: calm.p99,
      offered,
      served: flood.served.count / SECONDS,
      servedP99: flood.served.percentile(0.99),
      shed: flood.shed,
      failed: flood.failed + after.failed,
      unsent: flood.unsent,
      memory,
      recoveredAfter: after.lastShedAt,
    };
    say(describe(result));
    results.push(result);
  }
  return results;
}

function describe(result: Overload): string {
  const { operation, sustained, sustainedP99, offered, served, servedP99, shed, failed, unsent } = result;
  return [
    `${operation}: sustained ${sustained.toFixed(0)}/s with p99 ${sustainedP99.toFixed(0)} ms;`,
    `of ${offered.toFixed(0)}/s served ${served.toFixed(0)}/s with p99 ${servedP99.toFixed(0)} ms,`,
    `shed ${shed}, failed ${failed}, not let in ${unsent}; at most ${(result.memory / 1e6).toFixed(0)} MB;`,
    `nothing shed ${(result.recoveredAfter / 1_000).toFixed(1)} s after it`,
  ].join(" ");
}
