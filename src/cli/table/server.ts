import { type Flags, switchFlag, textFlag } from "../command.js";
import type { OperatorCommand } from "../operator-command.js";

const MOVES = {
  "block-writes": switchFlag("copy shards while their writes wait: for nodes without wal_level = logical"),
} as const satisfies Flags;

export const SERVER_COMMANDS: readonly OperatorCommand[] = [
  {
    name: "serve",
    summary: "Start the server (with an embedded database unless DATABASE_URL is set)",
    load: async () => (await import("../serve.js")).serveCommand,
  },
  {
    name: "init",
    summary: "Set up the database (embedded unless DATABASE_URL is set): schema, roles and root key",
    load: async () => (await import("../init.js")).init,
  },
  {
    name: "migrate",
    summary: "Bring the schema up to date",
    load: async () => (await import("../migrate.js")).migrateCommand,
  },
  {
    name: "upgrade check",
    summary: "Say whether this program can take the database over: run it before migrate, with the new version",
    notes: ["It changes nothing. The exit code is 1 if something stops the upgrade."],
    load: async () => (await import("../upgrade-check.js")).upgradeCheck,
  },
  {
    name: "cluster distribute",
    summary: "Distribute the tables over the Citus cluster that DATABASE_URL's database coordinates",
    flags: {
      "dry-run": switchFlag("print the statements without running them"),
      shards: textFlag("N", "shards of each table, fixed from then on; default: the database's citus.shard_count"),
    },
    load: async () => (await import("../cluster-distribute.js")).clusterDistribute,
  },
  {
    name: "cluster add-node",
    summary: "Add a node to the Citus cluster, or use a drained one again, while servers run",
    arguments: ["NODE"],
    notes: [
      "NODE is HOST or HOST:PORT, as the coordinator reaches it. It holds no tenants until cluster rebalance runs.",
    ],
    load: async () => (await import("../cluster-add-node.js")).clusterAddNode,
  },
  {
    name: "cluster rebalance",
    summary: "Move tenants between the nodes of the Citus cluster until each has its share, while servers run",
    flags: { "dry-run": switchFlag("list the moves without running them"), ...MOVES },
    notes: ["Run an interrupted command again to continue."],
    load: async () => (await import("../cluster-rebalance.js")).clusterRebalance,
  },
  {
    name: "cluster drain",
    summary: "Move all tenants off a node of the Citus cluster, which gets no new ones, while servers run",
    arguments: ["NODE"],
    flags: { remove: switchFlag("then take the node out of the cluster"), ...MOVES },
    notes: ["Run an interrupted command again to continue. To use the node again: cluster add-node."],
    load: async () => (await import("../cluster-drain.js")).clusterDrain,
  },
  {
    name: "doctor",
    summary: "Check database, roles and root key, and say how to fix problems",
    load: async () => (await import("../doctor.js")).doctor,
  },
];
