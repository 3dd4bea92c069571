import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { PostgresCluster } from "../../support/postgres-cluster.js";
import { type BenchServer, startBenchServer } from "../bench-server.js";

/** As the embedded database is set up, but for the log: it takes the plans of those who ask for them. */
const SETTINGS = {
  ...{ fsync: "on", synchronous_commit: "on", shared_buffers: "2048MB", max_wal_size: "4GB", wal_compression: "on" },
  ...{ jit: "off", max_connections: "100", huge_pages: "off" },
  ...{ session_preload_libraries: "auto_explain", logging_collector: "on", log_filename: "plans.log" },
  ...{ "auto_explain.log_analyze": "on", "auto_explain.log_timing": "off", "auto_explain.log_buffers": "on" },
};

const LOGIN = "cloakroom_bench";

/** A PostgreSQL that several servers share, and that tells how it runs their queries. */
export interface BigDatabase extends AsyncDisposable {
  readonly postmaster: number;
  readonly settings: Readonly<Record<string, string>>;
  /** The version of the database. */
  readonly version: number;
  /** Bytes of all tables and indexes. */
  bytes(): Promise<number>;
  /** The plans of all queries that a further server makes for what `ask` asks of it. */
  plansOf(beside: BenchServer, ask: (server: BenchServer) => Promise<void>): Promise<readonly string[]>;
}

export async function startBigDatabase(): Promise<BigDatabase> {
  const cluster = await PostgresCluster.start({ settings: SETTINGS });
  const url = await cluster.login(LOGIN, { attributes: "createrole" });
  const settings = { DATABASE_URL: url };
  const { postmaster } = cluster;
  return {
    ...{ postmaster, settings, version: cluster.major },
    async bytes() {
      const [row] = await cluster.admin<{ bytes: bigint }[]>`select pg_database_size(${LOGIN}) as bytes`;
      return Number(row?.bytes ?? 0);
    },
    async plansOf(beside, ask) {
      await cluster.admin.unsafe(`alter role ${LOGIN} set auto_explain.log_min_duration = 0`);
      const server = await startBenchServer(settings, { postmaster, beside });
      try {
        await ask(server);
      } finally {
        await server[Symbol.asyncDispose]();
        await cluster.admin.unsafe(`alter role ${LOGIN} reset auto_explain.log_min_duration`);
      }
      return readPlans(cluster.directory);
    },
    [Symbol.asyncDispose]: () => cluster[Symbol.asyncDispose](),
  };
}

/** One plan for each query that touches tokens, terms, counters or the log. */
function readPlans(directory: string): readonly string[] {
  const log = readdirSync(directory, { recursive: true, encoding: "utf8" }).find((file) => file.endsWith("plans.log"));
  if (!log) throw new Error("the database has written no plans");
  const plans = new Map<string, string>();
  const entries = readFileSync(join(directory, log), "utf8").split(/^\d{4}-\d\d-\d\d .* plan:$/m);
  for (const entry of entries.slice(1)) {
    const lines = entry.split("\n").filter((line) => line.startsWith("\t"));
    const start = lines.findIndex((line) => /\((?:actual|cost=)/.test(line));
    const query = lines.slice(0, start).join(" ").replace("Query Text:", "").replace(/\s+/g, " ").trim();
    if (start < 0 || !/\b(tokens|token_terms|token_counts|audit_logs)\b/.test(query)) continue;
    const plan = lines.slice(start).map((line) => line.slice(1).replace(/ {2}\(cost=[^)]*\)/, ""));
    plans.set(query, [query, ...plan].join("\n"));
  }
  return [...plans.values()];
}
