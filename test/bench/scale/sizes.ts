import type { BenchServer } from "../bench-server.js";
import { fill } from "../fill.js";
import { listRequests } from "../lists.js";
import { say } from "../table.js";
import { createCard, getToken, makeApplication, makeCards } from "../token-requests.js";
import type { BigDatabase } from "./big-database.js";
import { type Repeated, repeatedly } from "./repeated.js";

export interface AtSize {
  readonly tokens: number;
  readonly rows: readonly Repeated[];
  /** Bytes of tables and indexes per token. */
  readonly bytesPerToken: number;
}

/** Filling takes 200 s per million: beyond that tokens are multiplied in the database. */
const MAX_FILLED = 1_000_000;

/** The size of one tenant's tokens and the speed of lookups as they grow. */
export async function atSizes(
  server: BenchServer,
  database: BigDatabase,
  sizes: readonly number[],
): Promise<{ readonly measured: readonly AtSize[]; readonly plans: readonly string[] }> {
  const key = await makeApplication(server, server.managementKey);
  const ids = await makeCards(server, key, 20);
  const measured: AtSize[] = [];
  const empty = await database.bytes();
  let there = 0;
  for (const tokens of sizes) {
    say(`${tokens} tokens in one tenant`);
    if (tokens <= MAX_FILLED) await fill(server, key, tokens - there);
    else await database.multiply(tokens / there);
    there = tokens;
    const bytesPerToken = ((await database.bytes()) - empty) / tokens;
    const rows: Repeated[] = [];
    for (const plan of sizePlans(key, ids, tokens)) rows.push(await repeatedly(server, plan));
    measured.push({ tokens, rows, bytesPerToken });
  }
  const plans = await database.plansOf(async (explained) => {
    for (const { request } of sizePlans(key, ids, there)) {
      const { method, path, headers, body } = request(1);
      const url = `http://${explained.host}:${explained.port}${path}`;
      await fetch(url, { method, headers: { ...headers }, ...(body ? { body: new Uint8Array(body) } : {}) });
    }
  });
  return { measured, plans };
}

function sizePlans(key: string, ids: readonly string[], tokens: number) {
  // Copies have their own customers, whose names are unknown.
  const lists = listRequests(key, Math.min(tokens, MAX_FILLED));
  const busy = { protocol: "http1", connections: 32 } as const;
  // Two readers: this measures how long a list takes.
  const list = { protocol: "http1", connections: 2, expect: 200 } as const;
  return [
    { ...busy, operation: "POST /tokens (card)", expect: 201, request: () => createCard(key) },
    {
      ...busy,
      operation: "GET /tokens/{id}, reveal",
      expect: 200,
      request: (n: number) => getToken(key, ids[(n * 7919) % ids.length] ?? ""),
    },
    { ...list, operation: "GET /tokens, pages 1 to 100", request: (n: number) => lists.page(1 + (n % 100)) },
    { ...list, operation: "GET /tokens, one metadata pair", request: (n: number) => lists.list(lists.customer(n)) },
    {
      ...list,
      operation: "GET /tokens, two metadata pairs",
      request: (n: number) => lists.list(`${lists.customer(n)}&metadata.country=us`),
    },
    { ...list, operation: "POST /tokens/search", request: lists.search },
  ];
}
