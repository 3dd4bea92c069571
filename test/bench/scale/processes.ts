import type { BenchServer } from "../bench-server.js";
import { type Measurement, measure } from "../measure.js";
import type { BigDatabase } from "./big-database.js";
import { plansOf } from "./connections.js";
import { middleOf, type Repeated, RUNS } from "./repeated.js";

export interface AtProcesses extends Repeated {
  readonly processes: number;
}

const CONNECTIONS = 32;

/** The same callers spread over one process and over two, on one database. */
export async function atProcesses(first: BenchServer, database: BigDatabase): Promise<readonly AtProcesses[]> {
  await using second = await database.serve();
  const measured: AtProcesses[] = [];
  for (const plan of (await plansOf(first)).filter(({ protocol }) => protocol === "http1")) {
    for (const servers of [[first], [first, second]]) {
      const runs: Measurement[] = [];
      for (let run = 0; run < RUNS; run += 1) {
        const each = { ...plan, connections: CONNECTIONS / servers.length, duration: 3_000 };
        const parts = await Promise.all(servers.map((server) => measure(server, each)));
        runs.push(
          parts.reduce((sum, part) => ({
            ...part,
            requestsPerSecond: sum.requestsPerSecond + part.requestsPerSecond,
            p50: Math.max(sum.p50, part.p50),
            p99: Math.max(sum.p99, part.p99),
            serverUs: (sum.serverUs + part.serverUs) / 2,
            // Each has counted everything that the database did.
            databaseUs: (sum.databaseUs + part.databaseUs) / 2 / servers.length,
          })),
        );
      }
      measured.push({ ...middleOf(runs), processes: servers.length });
    }
  }
  return measured;
}
