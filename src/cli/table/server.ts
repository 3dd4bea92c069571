import { switchFlag, textFlag } from "../command.js";
import type { OperatorCommand } from "../operator-command.js";

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
    name: "doctor",
    summary: "Check database, roles and root key, and say how to fix problems",
    load: async () => (await import("../doctor.js")).doctor,
  },
];
