import { distributeVault, vaultDistributionStatements } from "../vault/prepare-vault.js";
import type { Command, CommandInput } from "./operator-command.js";
import { UsageError } from "./usage-error.js";

/** The limit of Citus. */
const MAX_SHARDS = 64_000;

export const clusterDistribute: Command = {
  summary: "Distribute the tables over the Citus cluster that DATABASE_URL's database coordinates",
  options: { "dry-run": { type: "boolean" }, shards: { type: "string" } },
  help: [
    "--dry-run          print the statements without running them",
    "--shards N         shards of each table, fixed from then on; default: the database's citus.shard_count",
  ],
  async run({ config, options, say, printResult }) {
    const shards = shardsOf(options);
    if (options["dry-run"]) {
      const statements = await vaultDistributionStatements(config, shards);
      if (options.json) printResult({ statements });
      else for (const statement of statements) process.stdout.write(`${statement};\n`);
      return;
    }
    const { cluster, moved, placements } = await distributeVault(config, { shards, announce: say });
    const namesOf = (kind: "distributed" | "reference") =>
      placements.filter(({ actual }) => actual === kind).map(({ table }) => table);
    printResult({
      citus_version: cluster.version,
      nodes: cluster.nodes.filter(({ holdsShards }) => holdsShards).map(({ address }) => address),
      moved,
      distributed_tables: namesOf("distributed"),
      reference_tables: namesOf("reference"),
    });
  },
};

/** @throws {UsageError} */
function shardsOf({ shards }: CommandInput["options"]): number | undefined {
  if (shards === undefined) return undefined;
  const count = Number(shards);
  if (Number.isInteger(count) && count >= 1 && count <= MAX_SHARDS) return count;
  throw new UsageError(`--shards must be a number from 1 to ${MAX_SHARDS}.`);
}
