import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { connect } from "../../../src/store/postgres/connect.js";
import { PostgresCluster } from "../../support/postgres-cluster.js";
import { type BenchServer, startBenchServer } from "../bench-server.js";

/** Set up like the embedded database, except for its log, which records query plans. */
const SETTINGS = {
  ...{ fsync: "on", synchronous_commit: "on", shared_buffers: "2048MB", max_wal_size: "4GB", wal_compression: "on" },
  ...{ jit: "off", max_connections: "100", huge_pages: "off" },
  session_preload_libraries: "auto_explain",
  ...{ "auto_explain.log_analyze": "on", "auto_explain.log_timing": "off", "auto_explain.log_buffers": "on" },
};

import { multiplyTokens } from "./copies.js";

const run = promisify(execFile);

const LOGIN = "cloakroom_bench";

/** A PostgreSQL shared by several servers, which reports how it runs their queries. */
export interface BigDatabase extends AsyncDisposable {
  /** Starts a server on it. All servers use the same key and tenant. */
  serve(): Promise<BenchServer>;
  /** The version of the database. */
  readonly version: number;
  /** Bytes of all tables and indexes. */
  bytes(): Promise<number>;
  /** Multiplies the existing tokens by this factor. */
  multiply(factor: number): Promise<void>;
  /** The plans of all queries that another server runs for the requests of `ask`. */
  plansOf(ask: (server: BenchServer) => Promise<void>): Promise<readonly string[]>;
}

/** Sets up a database and creates a tenant, with the operators' commands. */
export async function setUp(settings: Readonly<Record<string, string>>, dataDir: string): Promise<string> {
  const env = { PATH: process.env.PATH, ...settings, CLOAKROOM_DATA_DIR: dataDir };
  const cloakroom = (...args: string[]) => run(process.execPath, ["dist/src/main.js", ...args], { env });
  await cloakroom("init");
  const owner = ["--name", "Bench", "--owner-email", "owner@example.com", "--json"];
  const { stdout } = await cloakroom("tenants", "create", ...owner);
  const { key }: { key: string } = JSON.parse(stdout);
  return key;
}

export async function startBigDatabase(): Promise<BigDatabase> {
  const cluster = await PostgresCluster.start({ settings: SETTINGS, onDisk: true });
  const url = await cluster.login(LOGIN, { attributes: "createrole" });
  const settings = { DATABASE_URL: url };
  const { postmaster } = cluster;
  const dataDir = join(cluster.directory, "vault");
  const beside = { dataDir, managementKey: await setUp(settings, dataDir) };
  const serve = () => startBenchServer(settings, { postmaster, beside });
  return {
    ...{ serve, version: cluster.major },
    async bytes() {
      const [row] = await cluster.admin<{ bytes: bigint }[]>`select pg_database_size(${LOGIN}) as bytes`;
      return Number(row?.bytes ?? 0);
    },
    async multiply(factor) {
      const url = cluster.url("postgres", LOGIN);
      const sql = connect({ url }, { connections: 1, statementTimeout: 0 });
      await multiplyTokens(sql, factor);
      await sql.end({ timeout: 5 });
    },
    async plansOf(ask) {
      await cluster.admin.unsafe(`alter role ${LOGIN} set auto_explain.log_min_duration = 0`);
      const server = await serve();
      try {
        await ask(server);
      } finally {
        await server[Symbol.asyncDispose]();
        await cluster.admin.unsafe(`alter role ${LOGIN} reset auto_explain.log_min_duration`);
      }
      return plansIn(cluster.said);
    },
    [Symbol.asyncDispose]: () => cluster[Symbol.asyncDispose](),
  };
}

/** One plan for each query that touches tokens, terms, counters or the log. */
function plansIn(log: string): readonly string[] {
  const plans = new Map<string, string>();
  const entries = log.split(/^.*LOG: {2}duration: .* plan:$/m);
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
