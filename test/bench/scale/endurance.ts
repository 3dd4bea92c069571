import type { BenchServer } from "../bench-server.js";
import { loadOverHttp1 } from "../http1-load.js";
import { residentMemory } from "../processor-time.js";
import { say } from "../table.js";
import { createCard, getToken, makeApplication, makeCards } from "../token-requests.js";

export interface Endurance {
  readonly minutes: number;
  readonly requests: number;
  /** Bytes of the server's memory, once a minute, first before any request. */
  readonly memory: readonly number[];
}

const MINUTE = 60_000;

/** Half creates and half reads, for this long. */
export async function endure(server: BenchServer, minutes: number): Promise<Endurance> {
  const key = await makeApplication(server, server.managementKey);
  const [id = ""] = await makeCards(server, key, 1);
  const memory = [residentMemory(server.pid)];
  let requests = 0;
  for (let minute = 1; minute <= minutes; minute += 1) {
    const { latencies } = await loadOverHttp1({
      ...{ host: server.host, port: server.port, connections: 16, warmUp: 0, duration: MINUTE },
      request: (n) => (n % 2 === 0 ? createCard(key) : getToken(key, id)),
    });
    requests += latencies.count;
    memory.push(residentMemory(server.pid));
    say(`  minute ${minute}: ${requests} requests, ${((memory.at(-1) ?? 0) / 1e6).toFixed(0)} MB`);
  }
  return { minutes, requests, memory };
}
