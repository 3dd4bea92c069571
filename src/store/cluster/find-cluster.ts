import type { Sql } from "../postgres/connect.js";
import { DatabaseSetupError } from "../postgres/roles.js";

export interface Cluster {
  /** Of Citus on the coordinator, such as 13.0.5. */
  readonly version: string;
  readonly nodes: readonly ClusterNode[];
}

export interface ClusterNode {
  readonly id: number;
  /** `host:port`, as the coordinator dials it. */
  readonly address: string;
  readonly isCoordinator: boolean;
  /** Whether the node serves. A disabled node still holds data. */
  readonly isActive: boolean;
  readonly holdsShards: boolean;
}

/** Finds the cluster that a database coordinates; undefined if the database lacks the Citus extension. */
export async function findCluster(sql: Sql): Promise<Cluster | undefined> {
  const [extension] = await sql`select 1 from pg_extension where extname = 'citus'`;
  if (!extension) return undefined;
  const [local] = await sql<{ version: string; group: number }[]>`
    select current_setting('citus.version') as version, groupid as "group" from pg_dist_local_group`;
  if (local?.group !== 0) {
    throw new DatabaseSetupError("This database is a worker of a Citus cluster. Use the address of its coordinator.");
  }
  const nodes = await sql<ClusterNode[]>`
    select nodeid as id, nodename || ':' || nodeport as address, groupid = 0 as "isCoordinator", isactive as "isActive",
      shouldhaveshards as "holdsShards"
    from pg_dist_node where noderole = 'primary' order by groupid, nodeid`;
  return { version: local.version, nodes: [...nodes] };
}

/** @throws {DatabaseSetupError} if the database coordinates no cluster. */
export async function requireCluster(sql: Sql): Promise<Cluster> {
  const cluster = await findCluster(sql);
  if (cluster) return cluster;
  const [server] = await sql<{ version: string; isLoaded: boolean }[]>`
    select current_setting('server_version') as version, current_setting('citus.version', true) <> '' as "isLoaded"`;
  throw new DatabaseSetupError(
    server?.isLoaded
      ? "The server loads Citus, but this database lacks its extension. Run in it on every node, as superuser:\ncreate extension citus;"
      : `This database is a plain PostgreSQL ${server?.version ?? ""}: there is nothing to distribute it to. This command is for the coordinator of a Citus cluster.`,
  );
}
