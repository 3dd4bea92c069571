import type { Sql } from "./connect.js";

/** What a table takes, its indexes included. */
export interface TableUse {
  readonly table: string;
  readonly bytes: number;
  /** As the statistics know it. */
  readonly rows: number;
  /** Rows inserted since the statistics were last reset: how fast it grows. */
  readonly inserted: number;
}

export interface DiskUse {
  readonly statisticsSince: Date | undefined;
  readonly tables: readonly TableUse[];
  /** Of the write-ahead log on disk; undefined where the login may not look there. */
  readonly walBytes: number | undefined;
  /** Written to it since the cluster was made: what a backup of it grows by. */
  readonly walWritten: number;
  readonly maxConnections: number;
  readonly connections: number;
}

/** What the database holds and how it grows, largest table first. Needs no right but to connect, the WAL's size aside. */
export async function readDiskUse(sql: Sql): Promise<DiskUse> {
  const tables = await sql<{ table: string; bytes: number; rows: number; inserted: number }[]>`
    select relname as "table", pg_total_relation_size(relid) as bytes, n_live_tup as rows, n_tup_ins as inserted
    from pg_stat_user_tables where schemaname = current_schema() order by bytes desc, relname`;
  const [facts] = await sql<{ since: Date | null; most: number; used: number; written: number }[]>`
    select stats_reset as since, current_setting('max_connections')::int as most, numbackends as used,
      pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::bigint as written
    from pg_stat_database where datname = current_database()`;
  const [wal] = await sql<{ bytes: number }[]>`select sum(size)::bigint as bytes from pg_ls_waldir()`.catch(() => []);
  return {
    statisticsSince: facts?.since ?? undefined,
    tables: [...tables],
    walBytes: wal?.bytes,
    walWritten: facts?.written ?? 0,
    maxConnections: facts?.most ?? 0,
    connections: facts?.used ?? 0,
  };
}
