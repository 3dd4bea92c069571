import type { BenchServer } from "./bench-server.js";
import type { Table } from "./table.js";
import {
  createCard,
  createCardOverGrpc,
  getToken,
  getTokenOverGrpc,
  makeApplication,
  makeCards,
  tokenizeLeaves,
} from "./token-requests.js";

/** The token's own operations, of one tenant, over REST and gRPC. */
export async function tokenRows(table: Table, server: BenchServer): Promise<void> {
  const key = await makeApplication(server, server.managementKey);
  const ids = await makeCards(server, key, 20);
  // A prime step: neighbours in time are no neighbours in the table.
  const idOf = (n: number) => ids[(n * 7919) % ids.length] ?? "";
  const rest = { protocol: "http1", connections: 32 } as const;
  const grpc = { protocol: "grpc", connections: 32, expect: 0 } as const;
  await table.measure(server, {
    ...rest,
    operation: "POST /tokens (card)",
    expect: 201,
    request: () => createCard(key),
  });
  await table.measure(server, {
    ...rest,
    operation: "GET /tokens/{id}, reveal",
    expect: 200,
    request: (n) => getToken(key, idOf(n)),
  });
  await table.measure(server, { ...grpc, operation: "CreateToken over gRPC", request: () => createCardOverGrpc(key) });
  await table.measure(server, {
    ...grpc,
    operation: "GetToken over gRPC, reveal",
    request: (n) => getTokenOverGrpc(key, idOf(n)),
  });
  await table.measure(server, {
    ...rest,
    operation: "POST /tokenize, 100 leaves, 1 connection",
    connections: 1,
    expect: 200,
    request: () => tokenizeLeaves(key),
  });
}
