import { describe, expect, it } from "vitest";
import { distributionSteps, operatorStatements } from "../../../src/store/cluster/distribution-steps.js";
import type { TablePlacement } from "../../../src/store/cluster/table-placements.js";

function placement(table: string, given: Partial<TablePlacement> = {}): TablePlacement {
  return { table, wanted: "distributed", actual: "coordinator", isApart: false, coordinatorBytes: 0, ...given };
}

const statements = (placements: readonly TablePlacement[], shards?: number) =>
  operatorStatements(distributionSteps(placements, shards));

describe("the distribution over a cluster", () => {
  it("colocates the shards of all tables with those of tenants", () => {
    expect(statements([placement("tenants"), placement("tokens")])).toEqual([
      "select create_distributed_table('tenants', 'tenant_id', colocate_with => 'none')",
      "select create_distributed_table('tokens', 'tenant_id', colocate_with => 'tenants')",
    ]);
  });

  it("sets the number of shards on tenants alone, which the others follow", () => {
    expect(statements([placement("tenants"), placement("tokens")], 64)).toEqual([
      "select create_distributed_table('tenants', 'tenant_id', colocate_with => 'none', shard_count => 64)",
      "select create_distributed_table('tokens', 'tenant_id', colocate_with => 'tenants')",
    ]);
  });

  it("copies reference tables to all nodes", () => {
    expect(statements([placement("official_formulas", { wanted: "reference" })])).toEqual([
      "select create_reference_table('official_formulas')",
    ]);
  });

  it("disables forced row-level security within the transaction that moves rows, and clears the old rows after all moves", () => {
    expect(statements([placement("tenants", { coordinatorBytes: 8_192 }), placement("tokens")])).toEqual([
      "begin",
      'alter table "tenants" no force row level security',
      "select create_distributed_table('tenants', 'tenant_id', colocate_with => 'none')",
      'alter table "tenants" force row level security',
      "commit",
      "select create_distributed_table('tokens', 'tenant_id', colocate_with => 'tenants')",
      "select truncate_local_data_after_distributing_table('tenants')",
    ]);
  });

  it("does so in each partition of the log, whose rows are copied one partition after the other", () => {
    const [, before, , after] = statements([
      placement("tenants", { actual: "distributed" }),
      placement("audit_logs", { coordinatorBytes: 8_192 }),
    ]);
    for (const statement of [before, after]) expect(statement).toContain("pg_partition_tree");
    expect([before, after].map((statement) => statement?.includes("no force"))).toEqual([true, false]);
  });

  it("resumes an interrupted run: moved tables are cleared, and referring tables before those they refer to", () => {
    const moved = { actual: "distributed", coordinatorBytes: 8_192 } as const;
    expect(statements([placement("tenants", moved), placement("tokens", moved), placement("proxies")])).toEqual([
      "select create_distributed_table('proxies', 'tenant_id', colocate_with => 'tenants')",
      "select truncate_local_data_after_distributing_table('tokens')",
      "select truncate_local_data_after_distributing_table('tenants')",
    ]);
  });

  it("has nothing left to do if all is in place, and does not touch tables that were distributed otherwise", () => {
    const done = [
      placement("tenants", { actual: "distributed" }),
      placement("official_formulas", { wanted: "reference", actual: "reference" }),
      placement("tokens", { actual: "elsewhere" }),
      placement("proxies", { actual: "distributed", isApart: true }),
    ];
    expect(statements(done)).toEqual([]);
  });
});
