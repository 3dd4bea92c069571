import { writeFileSync } from "node:fs";
import { PostgresCluster } from "../../support/postgres-cluster.js";

interface CitusOptions {
  readonly workers: number;
  /** How many of the workers belong to the cluster from the beginning. */
  readonly joined: number;
  /** Arguments for `postgres` on each node. */
  readonly settings?: Readonly<Record<string, string>>;
}

/** A Citus cluster of this machine alone, which a test may grow, and whose nodes it may kill. */
export class CitusHere implements AsyncDisposable {
  readonly coordinator: PostgresCluster;
  readonly workers: readonly PostgresCluster[];
  /** Of the vault's database on the coordinator, as the owner of the tables. */
  readonly url: string;

  private constructor(coordinator: PostgresCluster, workers: readonly PostgresCluster[], url: string) {
    this.coordinator = coordinator;
    this.workers = workers;
    this.url = url;
  }

  /** Its PostgreSQL is that of {@link PostgresCluster}, and has Citus. */
  static async start({ workers, joined, settings = {} }: CitusOptions): Promise<CitusHere> {
    await using stack = new AsyncDisposableStack();
    const started = await Promise.all(Array.from({ length: workers + 1 }, () => startNode(settings)));
    for (const node of started) stack.use(node);
    const [coordinator, ...others] = started;
    if (!coordinator) throw new Error("there is no coordinator");
    const url = await coordinator.login("vault", { attributes: "createrole" });
    for (const { admin } of others) await admin`create database vault`;
    for (const node of started) await node.inDatabase("vault", (sql) => sql`create extension citus`);
    await coordinator.inDatabase("vault", async (sql) => {
      await sql`select citus_set_coordinator_host('127.0.0.1', ${coordinator.port})`;
      for (const { port } of others.slice(0, joined)) await sql`select citus_add_node('127.0.0.1', ${port})`;
      await sql`grant create, usage on schema public to vault`;
    });
    stack.move();
    return new CitusHere(coordinator, others, url);
  }

  /** As the superuser of the coordinator. */
  get administratorUrl(): string {
    return this.coordinator.url("postgres", "vault");
  }

  get nodes(): readonly PostgresCluster[] {
    return [this.coordinator, ...this.workers];
  }

  addressOf(worker: number): string {
    return `127.0.0.1:${this.workers[worker]?.port}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.nodes.map((node) => node[Symbol.asyncDispose]()));
  }
}

async function startNode(settings: Readonly<Record<string, string>>): Promise<PostgresCluster> {
  const node = await PostgresCluster.start({
    settings: {
      shared_preload_libraries: "citus",
      max_prepared_transactions: "400",
      max_connections: "300",
      max_worker_processes: "24",
      wal_level: "logical",
      "citus.node_conninfo": "sslmode=disable",
      ...settings,
    },
  });
  // Nodes dial each other as several roles, without passwords.
  const [shown] = await node.admin<{ hba_file: string }[]>`show hba_file`;
  if (shown)
    writeFileSync(shown.hba_file, "host all all 127.0.0.1/32 trust\nhost replication all 127.0.0.1/32 trust\n");
  await node.admin`select pg_reload_conf()`;
  return node;
}
