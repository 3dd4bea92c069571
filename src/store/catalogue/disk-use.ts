import type { Sql } from "../postgres/connect.js";

export interface TableUse {
  readonly table: string;
  readonly bytes: number;
  /** As estimated by the statistics. */
  readonly rows: number;
  /** Rows inserted since the last reset of the statistics: the growth rate. */
  readonly inserted: number;
}

export type DiskUse = Awaited<ReturnType<typeof readDiskUse>>;

/** The database's size and growth, largest table first. Needs only the right to connect, except for the WAL's size. */
export async function readDiskUse(sql: Sql) {
  const tables = await sql<{ table: string; bytes: number; rows: number; inserted: number }[]>`
    select coalesce(pg_partition_root(relid), relid)::regclass::text as "table",
      sum(pg_total_relation_size(relid))::bigint as bytes, sum(n_live_tup)::bigint as rows, sum(n_tup_ins)::bigint as inserted
    from pg_stat_user_tables where schemaname = current_schema() group by 1 order by bytes desc, 1`;
  const [facts] = await sql<{ since: Date | null; most: number; used: number; written: number }[]>`
    select stats_reset as since, current_setting('max_connections')::int as most, numbackends as used,
      pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::bigint as written
    from pg_stat_database where datname = current_database()`;
  const [wal] = await sql<{ bytes: number }[]>`select sum(size)::bigint as bytes from pg_ls_waldir()`.catch(() => []);
  return {
    statisticsSince: facts?.since ?? undefined,
    tables: [...tables],
    /** Bytes of write-ahead log on disk; undefined if the login may not read them. */
    walBytes: wal?.bytes,
    /** Bytes of write-ahead log since the cluster was created: the growth of a backup. */
    walWritten: facts?.written ?? 0,
    maxConnections: facts?.most ?? 0,
    connections: facts?.used ?? 0,
  };
}
