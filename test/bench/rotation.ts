import { spawn } from "node:child_process";
import { once } from "node:events";
import type { BenchServer } from "./bench-server.js";
import { fill } from "./fill.js";
import { say, type Table } from "./table.js";
import { getToken, makeApplication, makeCards } from "./token-requests.js";

const TOKENS = 30_000;

/** What callers notice while the server re-encrypts all values of their tenant. */
export async function rotationRows(table: Table, server: BenchServer): Promise<void> {
  const key = await makeApplication(server, server.managementKey);
  const ids = await makeCards(server, key, 20);
  await fill(server, key, TOKENS);
  const request = (n: number) => getToken(key, ids[(n * 7919) % ids.length] ?? "");
  const plan = { protocol: "http1", connections: 32, expect: 200, request } as const;
  await table.measure(server, { ...plan, operation: "GET /tokens/{id}, before keys rotate" });
  const startedAt = performance.now();
  const command = ["dist/src/main.js", "keys", "rotate", "--all", "--retire-after", "5"];
  const rotation = spawn(process.execPath, command, {
    env: { PATH: process.env.PATH, ...server.environment },
    stdio: "ignore",
  });
  const ended = once(rotation, "exit");
  await table.measure(server, { ...plan, warmUp: 500, operation: "GET /tokens/{id}, while keys rotate" });
  const [code] = await ended;
  const seconds = (performance.now() - startedAt) / 1_000;
  say(
    `keys rotate of ${TOKENS} tokens ended with ${code} after ${seconds.toFixed(0)} s, five of which it keeps old keys`,
  );
}
