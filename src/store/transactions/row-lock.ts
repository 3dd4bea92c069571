import type { Uuid } from "../../base/ids.js";
import { boundQuery } from "../statements/bound-statement.js";
import { type Parameter, uuid } from "../statements/parameter.js";
import type { Statement } from "../statements/statement-batch.js";
import type { Table } from "../statements/tables.js";
import type { OrdinaryTransaction, RowLock } from "./transaction.js";

// Other rows can still refer to a row of one's own: every log row refers to its tenant.
const LOCKS = { own: "for no key update", shared: "for share" } as const;

type LockStrength = keyof typeof LOCKS;

/**
 * Makes a function that locks a tenant's row until the transaction ends, and reads it. Other transactions can read the
 * row, but wait to lock, change or delete it. It takes two statements in one trip, because a statement that waits for a
 * lock sees the locked row as of then, but all other rows as of before.
 * @param key the columns that identify the row within the tenant.
 * @param strength `shared`: others may hold the row at the same time in this way, and none may change it.
 */
export function lockedRead<Input, Output>(
  table: Table,
  key: Readonly<Record<string, Parameter<Input>>>,
  read: Statement<Input, Output>,
  strength: LockStrength = "own",
): (tx: OrdinaryTransaction, input: Input) => Promise<Output> {
  const conditions = Object.keys(key).map((column) => ` and ${column} = :${column}`);
  const rows: RowLock<Input, boolean> = {
    lock: boundQuery<Input, boolean, true>({
      table,
      kind: "read",
      sql: `select true from ${table} where tenant_id = :tenant${conditions.join("")} ${LOCKS[strength]}`,
      parameters: key,
      row: () => true,
      outputs: (found) => found.map(({ length }) => length > 0),
    }),
  };
  return async (tx, input) => {
    const [, output] = await Promise.all([tx.lock(rows, input), tx.query(read, input)]);
    return output;
  };
}

/** {@link lockedRead} of a row by its id. */
export function lockedById<Row>(table: Table, read: Statement<Uuid, Row>, strength: LockStrength = "own") {
  return lockedRead<Uuid, Row>(table, { id: uuid((id) => id) }, read, strength);
}
