import type { BenchServer } from "./bench-server.js";
import type { Plan } from "./measure.js";
import type { Table } from "./table.js";
import {
  createCard,
  createCardOverGrpc,
  detokenizeCards,
  getToken,
  getTokenOverGrpc,
  importCards,
  listTokensOverGrpc,
  makeApplication,
  makeCards,
  tokenizeLeaves,
} from "./token-requests.js";

/** Operations on single tokens of one tenant, over REST and gRPC. */
export async function tokenRows(table: Table, server: BenchServer): Promise<void> {
  for (const plan of await tokenPlans(server)) await table.measure(server, plan);
}

/** The same requests, for measuring in any order. */
export async function tokenPlans(server: BenchServer): Promise<readonly Plan[]> {
  const key = await makeApplication(server, server.managementKey);
  const ids = await makeCards(server, key, 20);
  // A prime step: consecutive requests are not neighbours in the table.
  const idOf = (n: number) => ids[(n * 7919) % ids.length] ?? "";
  const create = { protocol: "http1", expect: 201, request: () => createCard(key) } as const;
  const read = { protocol: "http1", expect: 200, request: (n: number) => getToken(key, idOf(n)) } as const;
  return [
    { ...create, operation: "POST /tokens (card)", connections: 32 },
    { ...read, operation: "GET /tokens/{id}, reveal", connections: 32 },
    {
      ...{ operation: "CreateToken over gRPC", protocol: "grpc", connections: 32, expect: 0 },
      request: () => createCardOverGrpc(key),
    },
    {
      ...{ operation: "GetToken over gRPC, reveal", protocol: "grpc", connections: 32, expect: 0 },
      request: (n) => getTokenOverGrpc(key, idOf(n)),
    },
    { ...create, operation: "POST /tokens (card), 1 caller", connections: 1 },
    { ...read, operation: "GET /tokens/{id}, reveal, 1 caller", connections: 1 },
    { ...create, operation: "POST /tokens (card), 8 callers", connections: 8 },
    { ...read, operation: "GET /tokens/{id}, reveal, 8 callers", connections: 8 },
    {
      ...{ operation: "POST /tokenize, 100 leaves, 1 caller", protocol: "http1", connections: 1, expect: 200 },
      request: () => tokenizeLeaves(key),
    },
    {
      ...{ operation: "POST /tokens/import, 100 cards, 4 callers", protocol: "http1", connections: 4, expect: 200 },
      request: (n) => importCards(key, n),
    },
    {
      ...{ operation: "POST /detokenize, 100 references, 1 caller", protocol: "http1", connections: 1, expect: 200 },
      request: () => detokenizeCards(key, ids.slice(0, 100)),
    },
    {
      ...{
        operation: "ListTokens over gRPC, 200 callers, 1 connection",
        protocol: "grpc",
        connections: 200,
        expect: 0,
      },
      ...{ streams: 200, request: (n) => listTokensOverGrpc(key, 1 + (n % 50)) },
    },
  ];
}
