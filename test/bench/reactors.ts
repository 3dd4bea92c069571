import type { BenchServer } from "./bench-server.js";
import { Histogram } from "./histogram.js";
import type { LoadRequest } from "./load.js";
import { childNamed, residentMemory } from "./processor-time.js";
import { say, type Table } from "./table.js";
import { JSON_TYPE, post } from "./token-requests.js";

const SHORT = { protocol: "http1", expect: 200, warmUp: 1_000, duration: 3_000 } as const;
const COLD_CALLS = 100;
const FUNCTIONS = 500;
const CALLS = 10_000;
const MB = 1024 * 1024;

/** Echoes its arguments. A different `variant` gives a reactor its own code. */
const echo = (variant: number) => `module.exports = async (req) => ({ raw: { args: req.args, variant: ${variant} } });`;
const ROUND_TRIP = "module.exports = async ({ bt, args }) => ({ raw: (await bt.tokens.retrieve(args.id)).id });";

/**
 * Reactors as their callers see them: over HTTP, with permission checks, log row and audit in the transaction before
 * each run.
 */
export async function reactorRows(table: Table, server: BenchServer): Promise<void> {
  const { id: application, key } = await makeActor(server);
  const warm = await makeReactor(server, echo(0));
  const ask = (reactor: string, args: unknown) => {
    const body = Buffer.from(JSON.stringify({ args }));
    return (): LoadRequest => ({
      method: "POST",
      path: `/reactors/${reactor}/react`,
      headers: { ...JSON_TYPE, "BT-API-KEY": key },
      body,
    });
  };
  for (const [size, bytes] of [
    ["1 KB", 1_000],
    ["100 KB", 100_000],
    ["1 MB", 1_000_000],
  ] as const) {
    const request = ask(warm, { text: "x".repeat(bytes) });
    await table.measure(server, { ...SHORT, connections: 1, operation: `react, warm, ${size} of args`, request });
  }
  const many = { ...SHORT, connections: 16, operation: "react, warm, 1 KB of args, 16 connections" };
  await table.measure(server, { ...many, request: ask(warm, { text: "x".repeat(1_000) }) });
  const { id: token } = await post(server, "/tokens", key, { type: "token", data: "value" });
  const calling = await makeReactor(server, ROUND_TRIP, application);
  const asking = { ...SHORT, connections: 1, operation: "react, warm, with one round trip of bt" };
  await table.measure(server, { ...asking, request: ask(calling, { id: token }) });
  await coldCalls(table, server, key);
}

/** First calls of reactors that were never called before. */
async function coldCalls(table: Table, server: BenchServer, key: string): Promise<void> {
  const latencies = new Histogram();
  for (let n = 1; n <= COLD_CALLS; n += 1) {
    const reactor = await makeReactor(server, echo(n));
    const startedAt = performance.now();
    await post(server, `/reactors/${reactor}/react`, key, { args: { text: "x".repeat(1_000) } });
    latencies.add(performance.now() - startedAt);
  }
  table.add({
    operation: `react, cold, ${COLD_CALLS} first calls`,
    requestsPerSecond: 0,
    ...{ p50: latencies.percentile(0.5), p99: latencies.percentile(0.99) },
    ...{ serverUs: 0, databaseUs: 0, failures: 0 },
  });
}

/** Memory of the sandbox process while many functions take turns: far more than are kept warm. */
export async function runnerMemory(server: BenchServer): Promise<void> {
  const { key } = await makeActor(server);
  const reactors: string[] = [];
  for (let n = 0; n < FUNCTIONS; n += 1) reactors.push(await makeReactor(server, echo(1_000 + n)));
  const runner = childNamed(server.pid, "runner.js");
  const atRest = residentMemory(runner);
  let called = 0;
  let most = 0;
  const startedAt = performance.now();
  const call = async () => {
    while (called < CALLS) {
      const reactor = reactors[called++ % FUNCTIONS];
      await post(server, `/reactors/${reactor}/react`, key, { args: { text: "x".repeat(1_000) } });
      most = Math.max(most, residentMemory(runner));
    }
  };
  await Promise.all(Array.from({ length: 16 }, call));
  const seconds = (performance.now() - startedAt) / 1_000;
  const [before, after, peak] = [atRest, residentMemory(runner), most].map((bytes) => Math.round(bytes / MB));
  say(
    `resident memory of the runner, ${CALLS} calls of ${FUNCTIONS} functions: ${before} MB before, at most ${peak} MB, ${after} MB after, ${seconds.toFixed(0)} s`,
  );
}

async function makeActor(server: BenchServer): Promise<{ readonly id: string; readonly key: string }> {
  const permissions = ["token:create", "token:read", "token:use"];
  const rules = [{ priority: 1, container: "/", transform: "reveal", permissions }];
  return post(server, "/applications", server.managementKey, { name: "Bench", type: "private", rules });
}

async function makeReactor(server: BenchServer, code: string, application?: string): Promise<string> {
  const acting = application === undefined ? {} : { application: { id: application } };
  const { id }: { id: string } = await post(server, "/reactors", server.managementKey, {
    name: "Bench",
    code,
    ...acting,
  });
  return id;
}
