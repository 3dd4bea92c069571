import { terminal } from "../base/terminal.js";
import { distributeVault, vaultDistributionStatements } from "../vault/prepare-vault.js";
import type { CommandInput } from "./operator-command.js";
import { wholeOption } from "./whole-option.js";

/** The limit of Citus. */
const MAX_SHARDS = 64_000;

export async function clusterDistribute({ config, options, say, printResult }: CommandInput): Promise<void> {
  const shards = wholeOption(options, "shards", [1, MAX_SHARDS]);
  if (options["dry-run"]) {
    const statements = await vaultDistributionStatements(config, shards);
    if (options.json) printResult({ statements });
    else for (const statement of statements) terminal().stdout.write(`${statement};\n`);
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
}
