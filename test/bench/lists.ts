import type { BenchServer } from "./bench-server.js";
import { fill, metadataOf } from "./fill.js";
import type { LoadRequest } from "./load.js";
import type { Table } from "./table.js";
import { createCard, getToken, JSON_TYPE, makeApplication, makeCards } from "./token-requests.js";

/** The API's default page size. */
const PAGE_SIZE = 20;

/** Lists and searches of one tenant with this many tokens, and their effect on its other requests. */
export async function listRows(table: Table, server: BenchServer, count: number): Promise<void> {
  const key = await makeApplication(server, server.managementKey);
  await fill(server, key, count);
  const requests = listRequests(key, count);
  const rows: readonly (readonly [string, (n: number) => LoadRequest])[] = [
    ["GET /tokens, pages 1 to 100", (n) => requests.page(1 + (n % 100))],
    ["GET /tokens, any page", (n) => requests.page(requests.anyPage(n))],
    ["GET /tokens, one pair of 20 tokens", (n) => requests.list(requests.customer(n))],
    ["GET /tokens, one pair of most, pages 1 to 100", (n) => requests.page(1 + (n % 100), "metadata.country=us")],
    ["GET /tokens, one pair of most, any page", (n) => requests.page(requests.anyPage(n, 0.9), "metadata.country=us")],
    ["GET /tokens, two pairs", (n) => requests.list(`${requests.customer(n)}&metadata.country=us`)],
    ["POST /tokens/search, two pairs", requests.search],
    ["GET /v2/tokens, first page", () => requests.cursorList("")],
    ["GET /v2/tokens, by container", () => requests.cursorList("?container=/pci/")],
    ["GET /v2/tokens, by type", () => requests.cursorList("?type=card")],
  ];
  // Two readers: this measures how long a list takes, not how many are possible.
  const read = { protocol: "http1", connections: 2, expect: 200 } as const;
  const named = (operation: string) => `${operation}, of ${count}`;
  for (const [operation, request] of rows)
    await table.measure(server, { ...read, operation: named(operation), request });
  // One reader: a page must arrive before the next can be requested.
  const walk = { ...read, connections: 1, operation: named("GET /tokens, the page after the one just read") };
  await table.measure(server, { ...walk, request: (n) => requests.page(Math.ceil(count / PAGE_SIZE / 4) + n) });
  const cursors = await cursorsOf(server, key);
  await table.measure(server, {
    ...read,
    operation: named("GET /v2/tokens, by cursor"),
    request: (n) => requests.cursorList(`?start=${cursors[n % cursors.length]}`),
  });
  const ids = await makeCards(server, key, 20);
  const busy = { protocol: "http1", connections: 32 } as const;
  await table.measure(server, {
    ...busy,
    operation: named("GET /tokens/{id}, reveal"),
    expect: 200,
    request: (n) => getToken(key, ids[(n * 7919) % ids.length] ?? ""),
  });
  await table.measure(server, {
    ...busy,
    operation: named("POST /tokens (card)"),
    expect: 201,
    request: () => createCard(key),
  });
}

/** The list requests that are measured for a tenant with `count` tokens. */
export function listRequests(key: string, count: number) {
  const get = (path: string): LoadRequest => ({ method: "GET", path, headers: { "BT-API-KEY": key } });
  // A prime step, so no page is near the previous one.
  const anyOf = (n: number, most: number) => 1 + ((n * 7919) % Math.max(1, Math.floor(most)));
  const customerOf = (n: number) => metadataOf(anyOf(n, count) - 1).customer;
  return {
    page: (page: number, filter = "") => get(`/tokens?page=${page}&${filter}`),
    list: (filter: string) => get(`/tokens?${filter}`),
    cursorList: (query: string) => get(`/v2/tokens${query}`),
    anyPage: (n: number, share = 1) => anyOf(n, (count * share) / PAGE_SIZE),
    customer: (n: number) => `metadata.customer=${customerOf(n)}`,
    search: (n: number): LoadRequest => ({
      method: "POST",
      path: "/tokens/search",
      headers: { "BT-API-KEY": key, ...JSON_TYPE },
      body: Buffer.from(JSON.stringify({ query: `metadata.customer:${customerOf(n)} AND metadata.country:US` })),
    }),
  };
}

/** Cursors of the first hundred pages. */
async function cursorsOf(server: BenchServer, key: string): Promise<readonly string[]> {
  const cursors: string[] = [];
  for (let page = 0; page < 100; page += 1) {
    const start = cursors.length === 0 ? "" : `?start=${cursors.at(-1)}`;
    const response = await fetch(`http://${server.host}:${server.port}/v2/tokens${start}`, {
      headers: { "BT-API-KEY": key },
    });
    const { pagination } = JSON.parse(await response.text());
    if (!pagination?.after) break;
    cursors.push(encodeURIComponent(pagination.after));
  }
  return cursors;
}
