import type { JsonObject } from "../base/json.js";
import { boundWrite } from "./bound-statement.js";
import { json, text } from "./parameter.js";
import { lockedRead } from "./row-lock.js";
import { defineStatement } from "./statement.js";

/** A page of the simulator's books. */
export interface SimulatorRow {
  readonly reference: string;
  /** The simulator's own records. */
  readonly ledger: JsonObject;
  readonly revision: number;
}

export const readSimulatorPayment = defineStatement<string, SimulatorRow | null, SimulatorRow>({
  table: "simulator_payments",
  kind: "read",
  sortKey: (reference) => reference,
  queries: (sql, tenantId, references) => [
    sql`
      select reference, ledger, revision from simulator_payments
      where tenant_id = ${tenantId} and reference = any(${[...references]}::text[])`,
  ],
  answers: ([rows = []], references) =>
    references.map((wanted) => rows.find((row) => row.reference === wanted) ?? null),
});

/** Reads a page, and locks it until the transaction ends. */
export const lockSimulatorPayment = lockedRead(
  "simulator_payments",
  { reference: text((reference: string) => reference) },
  readSimulatorPayment,
);

/** Returns whether the page was free. */
export const insertSimulatorPayment = defineStatement<Omit<SimulatorRow, "revision">, boolean, unknown>({
  table: "simulator_payments",
  kind: "write",
  sortKey: ({ reference }) => reference,
  queries: (sql, tenantId, inputs, at) =>
    inputs.map(
      ({ reference, ledger }) => sql`
        insert into simulator_payments (tenant_id, reference, ledger, revision, created_at)
        values (${tenantId}, ${reference}, ${sql.json(ledger)}, 1, ${at}) on conflict do nothing returning 1`,
    ),
  answers: (rows) => rows.map(({ length }) => length > 0),
});

/** Writes to a locked page. */
export const updateSimulatorPayment = boundWrite<Pick<SimulatorRow, "reference" | "ledger">>({
  table: "simulator_payments",
  sql: `
    update simulator_payments set ledger = :ledger, revision = revision + 1
    where tenant_id = :tenant and reference = :reference`,
  parameters: { reference: text(({ reference }) => reference), ledger: json(({ ledger }) => ledger) },
  sortKey: ({ reference }) => reference,
});
