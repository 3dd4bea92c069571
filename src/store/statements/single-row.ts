import { type BoundQuery, boundQuery } from "./bound-statement.js";
import type { WriteOrder } from "./query-group.js";
import type { Statement } from "./statement-batch.js";

type SingleRow<Input, Output, Row> = Omit<BoundQuery<Input, Output, Row>, "kind" | "outputs">;

/** A query for at most one row per input. The output is null for an input without a row. */
export function readRow<Input, Row>(definition: SingleRow<Input, Row | null, Row>): Statement<Input, Row | null> {
  return boundQuery({ ...definition, kind: "read", outputs: (rows) => rows.map(([row]) => row ?? null) });
}

/** A write of at most one row per input, which ends with `returning 1`. The output is whether it wrote the row. */
export function writeRow<Input>(
  definition: Omit<SingleRow<Input, boolean, true>, "row"> & WriteOrder<Input>,
): Statement<Input, boolean> {
  return boundQuery<Input, boolean, true>({
    ...definition,
    kind: "write",
    row: () => true,
    outputs: (rows) => rows.map(({ length }) => length > 0),
  });
}
