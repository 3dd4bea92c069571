import { systemClock } from "../../src/base/clock.js";
import { readConfig } from "../../src/settings/config.js";
import { connect, type Sql } from "../../src/store/postgres/connect.js";
import { openVault } from "../../src/vault/vault.js";
import type { BenchServer } from "./bench-server.js";
import { Tally } from "./load.js";
import { processorTime } from "./processor-time.js";
import type { Table } from "./table.js";

const WARM_UP = 500;
const DURATION = 3_000;
const CLIENTS = 32;

/** The cost of the database alone: insert one row, read one row, each in its own transaction, with our client. */
export async function measureDatabaseFloors(table: Table, server: BenchServer): Promise<void> {
  const config = readConfig(server.environment);
  await using vault = await openVault({ config, as: "command", announce: () => {}, clock: systemClock });
  const sql = connect(vault.ownerAddress, { connections: 8, statementTimeout: 10_000 });
  try {
    await sql`create table bench_floor (id int primary key, value bytea not null)`;
    const value = Buffer.alloc(400, 7);
    await drive(table, server, "floor: insert of one row of 400 bytes", (n) => insert(sql, n, value));
    await drive(table, server, "floor: select of one row of 400 bytes", (n) => select(sql, n % 1_000));
    await sql`drop table bench_floor`;
  } finally {
    await sql.end({ timeout: 5 });
  }
}

function insert(sql: Sql, n: number, value: Buffer): Promise<unknown> {
  return sql`insert into bench_floor (id, value) values (${n}, ${value})`.execute();
}

function select(sql: Sql, n: number): Promise<unknown> {
  return sql`select value from bench_floor where id = ${n}`.execute();
}

async function drive(
  table: Table,
  { databasePid }: BenchServer,
  operation: string,
  ask: (n: number) => Promise<unknown>,
): Promise<void> {
  const tally = new Tally(WARM_UP, DURATION);
  let sent = 0;
  const before = processorTime(databasePid);
  const client = async () => {
    while (!tally.isOver) {
      const startedAt = performance.now();
      await ask(sent++);
      tally.countResponse(0, startedAt);
    }
  };
  await Promise.all(Array.from({ length: CLIENTS }, client));
  const databaseUs = (processorTime(databasePid) - before) / Math.max(1, sent);
  const { requestsPerSecond, latencies } = tally.result();
  const [p50, p99] = [latencies.percentile(0.5), latencies.percentile(0.99)];
  table.add({ operation, requestsPerSecond, p50, p99, serverUs: 0, databaseUs, failures: 0 });
}
