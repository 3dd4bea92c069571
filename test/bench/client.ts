import { randomUUID } from "node:crypto";
import { fromBinary } from "@bufbuild/protobuf";
import { Cloakroom } from "@cloakroom/client";
import { TokenSchema } from "../../gen/cloakroom/v1/tokens_pb.js";
import { type BenchServer, startBenchServer } from "./bench-server.js";
import { loadOverGrpc } from "./grpc-load.js";
import { type LoadRequest, type LoadResult, Tally } from "./load.js";
import { ownProcessorTime } from "./processor-time.js";
import { say } from "./table.js";
import { createCardOverGrpc, getTokenOverGrpc, makeApplication, makeCards } from "./token-requests.js";

const CALLERS = 32;
const SLICE = { warmUp: 500, duration: 3_000 };

interface ComparedCall {
  readonly operation: string;
  readonly raw: (n: number) => LoadRequest;
  readonly call: (client: Cloakroom, n: number) => Promise<unknown>;
}

/**
 * Measures the client beside the bench's own generator, in turns: the same calls, with 32 in flight on one connection, from
 * one process. The generator sends messages that were made before, with the headers that the client sends, and reads the
 * responses as messages. Prints the median of the ratios within each round, and the generators' processor time for
 * each call.
 */
export async function compareClient(rounds: number): Promise<void> {
  await using server = await startBenchServer();
  const key = await makeApplication(server, server.managementKey);
  const ids = await makeCards(server, key, 20);
  const idOf = (n: number) => ids[(n * 7919) % ids.length] ?? "";
  const data = { number: "4242424242424242", expiration_month: 12, expiration_year: 2030, cvc: "123" };
  await using client = new Cloakroom({ baseUrl: `http://${server.host}:${server.port}`, apiKey: key });
  const calls: readonly ComparedCall[] = [
    {
      operation: "CreateToken (card)",
      raw: () => withHeaders(withIdempotencyKey(createCardOverGrpc(key))),
      call: (by) => by.tokens.create({ type: "card", data }),
    },
    {
      operation: "GetToken, reveal",
      raw: (n) => withHeaders(getTokenOverGrpc(key, idOf(n))),
      call: (by, n) => by.tokens.get(idOf(n)),
    },
  ];
  for (const compared of calls) await compare(server, client, compared, rounds);
}

/** Headers that the client sends with each call. */
function withHeaders(request: LoadRequest): LoadRequest {
  const headers = { "user-agent": "cloakroom-node/0.1.0 node/24", "grpc-timeout": "30000m", ...request.headers };
  return { ...request, headers };
}

/** The client sends one with each call that changes something, and the server stores it. */
function withIdempotencyKey(request: LoadRequest): LoadRequest {
  return { ...request, headers: { ...request.headers, "bt-idempotency-key": randomUUID() } };
}

const readToken = (message: Buffer) => fromBinary(TokenSchema, message);

async function compare(server: BenchServer, client: Cloakroom, compared: ComparedCall, rounds: number): Promise<void> {
  const { operation, raw, call } = compared;
  const ratios: number[] = [];
  const generator = { ...server, ...SLICE, connections: CALLERS, streams: CALLERS, request: raw, read: readToken };
  // Both are compiled in the first round, which does not count.
  for (let round = 0; round <= rounds; round += 1) {
    const byRaw = await timed(() => loadOverGrpc(generator));
    const byClient = await timed(() => loadByClient((n) => call(client, n)));
    if (round === 0) continue;
    ratios.push(byClient.requestsPerSecond / byRaw.requestsPerSecond);
    say(`${operation}: generator ${shown(byRaw)}, client ${shown(byClient)}`);
  }
  say(`${operation}: client / generator ${(ratios.toSorted((a, b) => a - b)[rounds >> 1] ?? 0).toFixed(2)}`);
}

/** Keeps a number of calls in flight. A failed call ends the run. */
async function loadByClient(call: (n: number) => Promise<unknown>): Promise<LoadResult> {
  const tally = new Tally(SLICE.warmUp, SLICE.duration);
  let sent = 0;
  const caller = async () => {
    while (!tally.isOver) {
      const startedAt = performance.now();
      sent += 1;
      await call(sent);
      tally.countResponse(0, startedAt);
    }
  };
  await Promise.all(Array.from({ length: CALLERS }, caller));
  return tally.result();
}

type Timed = LoadResult & { readonly ownUs: number };

async function timed(run: () => Promise<LoadResult>): Promise<Timed> {
  const before = ownProcessorTime(process.pid);
  const result = await run();
  const spent = ownProcessorTime(process.pid) - before;
  const share = SLICE.duration / (SLICE.warmUp + SLICE.duration);
  return { ...result, ownUs: (spent * share) / Math.max(1, result.latencies.count) };
}

function shown({ requestsPerSecond, ownUs, latencies, statuses }: Timed): string {
  const codes = [...statuses.keys()].join(",");
  return `${requestsPerSecond.toFixed(0)}/s, ${ownUs.toFixed(0)} us, p99 ${latencies.percentile(0.99).toFixed(1)} ms, status ${codes}`;
}
