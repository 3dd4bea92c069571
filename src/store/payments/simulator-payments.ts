import type { JsonObject } from "../../base/json.js";
import { boundWrite } from "../statements/bound-statement.js";
import { json, text } from "../statements/parameter.js";
import { readRow, writeRow } from "../statements/single-row.js";
import { lockedRead } from "../transactions/row-lock.js";

export interface SimulatorRow {
  readonly reference: string;
  /** The simulator's own records. */
  readonly ledger: JsonObject;
  readonly revision: number;
}

export const readSimulatorPayment = readRow<string, SimulatorRow>({
  table: "simulator_payments",
  sql: "select reference, ledger, revision from simulator_payments where tenant_id = :tenant and reference = :reference",
  parameters: { reference: text((reference) => reference) },
  row: (column) => ({ reference: column.text(), ledger: column.jsonObject(), revision: column.integer() }),
});

/** Reads a page, and locks it until the transaction ends. */
export const lockSimulatorPayment = lockedRead(
  "simulator_payments",
  { reference: text((reference: string) => reference) },
  readSimulatorPayment,
);

/** Returns whether the page was free. */
export const insertSimulatorPayment = writeRow<Omit<SimulatorRow, "revision">>({
  table: "simulator_payments",
  sql: `
    insert into simulator_payments (tenant_id, reference, ledger, revision, created_at)
    values (:tenant, :reference, :ledger, 1, :now) on conflict do nothing returning 1`,
  parameters: { reference: text(({ reference }) => reference), ledger: json(({ ledger }) => ledger) },
  sortKey: ({ reference }) => reference,
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
