import { spawn } from "node:child_process";
import { once } from "node:events";
import type { BenchServer } from "./bench-server.js";
import { portOf } from "./floors.js";
import { Histogram } from "./histogram.js";
import type { LoadRequest } from "./load.js";
import type { Table } from "./table.js";
import { JSON_TYPE, makeApplication, makeCards, post } from "./token-requests.js";

const SHORT = { protocol: "http1", expect: 200, warmUp: 1_000, duration: 3_000 } as const;
const COLD_CALLS = 100;

/** A different `variant` gives a proxy its own code. */
const transform = (variant: number) => ({
  code: `module.exports = async (req) => ({ headers: req.args.headers, body: { ...req.args.body, variant: ${variant} } });`,
});

/**
 * The overhead of a proxy: subtract the rows of the direct call. The destination echoes requests and runs in its own
 * process.
 */
export async function proxyRows(table: Table, server: BenchServer): Promise<void> {
  const echo = spawn(process.execPath, ["dist/test/bench/echo-server.js"], { stdio: ["ignore", "ignore", "pipe"] });
  try {
    const port = await portOf(echo);
    const key = await makeApplication(server, server.managementKey);
    const ids = await makeCards(server, key, 1);
    const plain = await makeProxy(server, port, {});
    const warm = await makeProxy(server, port, { request_transform: transform(0) });
    const ask = (proxy: string, body: Buffer) => (): LoadRequest => ({
      method: "POST",
      path: "/proxy/",
      headers: { ...JSON_TYPE, "BT-API-KEY": key, "BT-PROXY-KEY": proxy },
      body,
    });
    for (const connections of [1, 32]) {
      const plan = { ...SHORT, connections };
      const at = `${connections} connection${connections === 1 ? "" : "s"}`;
      const body = bodyOf(1_024, []);
      const direct = (): LoadRequest => ({ method: "POST", path: "/", headers: JSON_TYPE, body });
      const target = { host: "127.0.0.1", port, pid: echo.pid ?? 0 };
      await table.measure(target, { ...plan, operation: `direct call, 1 KB, ${at}`, request: direct });
      for (const count of [0, 2, 20]) {
        const request = ask(plain, bodyOf(1_024, ids.slice(0, count)));
        await table.measure(server, { ...plan, operation: `proxy, ${count} references, ${at}`, request });
      }
      for (const kilobytes of [1, 100]) {
        const request = ask(warm, bodyOf(kilobytes * 1_024, []));
        await table.measure(server, { ...plan, operation: `proxy, warm transform, ${kilobytes} KB, ${at}`, request });
      }
    }
    const large = { ...SHORT, connections: 1, duration: 5_000, operation: "proxy, warm transform, 5 MB, 1 connection" };
    await table.measure(server, { ...large, request: ask(warm, bodyOf(5_000_000, [])) });
    await coldCalls(table, server, port, key);
  } finally {
    echo.kill("SIGTERM");
    await once(echo, "exit");
  }
}

/** First calls of proxies that were never called before. */
async function coldCalls(table: Table, server: BenchServer, port: number, key: string): Promise<void> {
  const latencies = new Histogram();
  let failures = 0;
  for (let n = 1; n <= COLD_CALLS; n += 1) {
    const proxy = await makeProxy(server, port, { request_transform: transform(n) });
    const startedAt = performance.now();
    const headers = { ...JSON_TYPE, "BT-API-KEY": key, "BT-PROXY-KEY": proxy };
    const body = bodyOf(1_024, []).toString();
    const response = await fetch(`http://${server.host}:${server.port}/proxy/`, { method: "POST", headers, body });
    await response.arrayBuffer();
    latencies.add(performance.now() - startedAt);
    if (response.status !== 200) failures += 1;
  }
  table.add({
    operation: `proxy, cold transform, ${COLD_CALLS} first calls`,
    requestsPerSecond: 0,
    ...{ p50: latencies.percentile(0.5), p99: latencies.percentile(0.99) },
    ...{ serverUs: 0, databaseUs: 0, failures },
  });
}

/** A JSON body of about this length that contains these cards. */
function bodyOf(length: number, ids: readonly string[]): Buffer {
  const cards = ids.map((id) => `{{ ${id} | json: '$.number' }}`);
  const filler = "x".repeat(Math.max(0, length - JSON.stringify(cards).length));
  return Buffer.from(JSON.stringify({ cards, filler }));
}

async function makeProxy(server: BenchServer, port: number, definition: object): Promise<string> {
  const proxy = { name: "Bench", destination_url: `http://127.0.0.1:${port}`, ...definition };
  const { key }: { key: string } = await post(server, "/proxies", server.managementKey, proxy);
  return key;
}
