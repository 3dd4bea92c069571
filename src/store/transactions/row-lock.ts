import { boundQuery } from "../statements/bound-statement.js";
import type { Parameter } from "../statements/parameter.js";
import type { Statement } from "../statements/statement-batch.js";
import type { Table } from "../statements/tables.js";
import type { OrdinaryTransaction, RowLock } from "./transaction.js";

/**
 * Makes a function that locks a tenant's row until the transaction ends, and reads it. Other transactions can read the
 * row, but wait to lock, change or delete it. It takes two statements in one trip, because a statement that waits for a
 * lock sees the locked row as of then, but all other rows as of before.
 * @param key the columns that identify the row within the tenant.
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
      // Other rows can still refer to the row: every log row refers to its tenant.
      sql: `select true from ${table} where tenant_id = :tenant${conditions.join("")} for no key update`,
      parameters: key,
      sortKey: () => "",
      row: () => true,
      outputs: (found) => found.map(({ length }) => length > 0),
    }),
  };
  return async (tx, input) => {
    const [, output] = await Promise.all([tx.lock(rows, input), tx.query(read, input)]);
    return output;
  };
}
