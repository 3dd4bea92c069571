import type { BenchServer } from "../bench-server.js";
import type { Plan } from "../measure.js";
import {
  createCard,
  createCardOverGrpc,
  getToken,
  getTokenOverGrpc,
  makeApplication,
  makeCards,
} from "../token-requests.js";
import { type Repeated, repeatedly } from "./repeated.js";

/** The two most important operations over both protocols that back ends use, for one tenant. */
export async function plansOf(server: BenchServer): Promise<readonly Omit<Plan, "connections">[]> {
  const key = await makeApplication(server, server.managementKey);
  const ids = await makeCards(server, key, 20);
  const idOf = (n: number) => ids[(n * 7919) % ids.length] ?? "";
  const http1 = { protocol: "http1" } as const;
  const grpc = { protocol: "grpc", expect: 0 } as const;
  return [
    { ...http1, operation: "POST /tokens (card)", expect: 201, request: () => createCard(key) },
    { ...http1, operation: "GET /tokens/{id}, reveal", expect: 200, request: (n) => getToken(key, idOf(n)) },
    { ...grpc, operation: "CreateToken over gRPC", request: () => createCardOverGrpc(key) },
    { ...grpc, operation: "GetToken over gRPC, reveal", request: (n) => getTokenOverGrpc(key, idOf(n)) },
  ];
}

export interface AtConnections extends Repeated {
  readonly connections: number;
}

/** Each operation with this many concurrent callers, each of whom waits for its response. */
export async function atConnections(server: BenchServer, counts: readonly number[]): Promise<readonly AtConnections[]> {
  const measured: AtConnections[] = [];
  for (const plan of await plansOf(server)) {
    for (const connections of counts)
      measured.push({ ...(await repeatedly(server, { ...plan, connections })), connections });
  }
  return measured;
}
