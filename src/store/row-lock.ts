import { boundQuery } from "./bound-statement.js";
import type { Parameter } from "./parameter.js";
import type { Statement } from "./statement-batch.js";
import type { Table } from "./tables.js";
import type { OrdinaryTransaction, RowLock } from "./transaction.js";

/**
 * Makes a function that locks a tenant's row until the transaction ends, and reads it. Other transactions can read the row;
 * those that lock, change or delete it wait. Two statements in one trip: a statement that waits for a lock sees the locked row
 * as it is then, but all other rows as they were before.
 * @param key the columns that name the row within the tenant.
 */
export function lockedRead<Input, Output>(
  table: Table,
  key: Readonly<Record<string, Parameter<Input>>>,
  read: Statement<Input, Output>,
): (tx: OrdinaryTransaction, input: Input) => Promise<Output> {
  const conditions = Object.keys(key).map((column) => ` and ${column} = :${column}`);
  const rows: RowLock<Input, boolean> = {
    lock: boundQuery<Input, boolean, true>({
      table,
      kind: "read",
      // Rows can still be referred to: every log row refers to its tenant.
      sql: `select true from ${table} where tenant_id = :tenant${conditions.join("")} for no key update`,
      parameters: key,
      sortKey: () => "",
      row: () => true,
      answers: (found) => found.map(({ length }) => length > 0),
    }),
  };
  return async (tx, input) => {
    const [, output] = await Promise.all([tx.lock(rows, input), tx.query(read, input)]);
    return output;
  };
}
