import type { Log } from "#client/proto/cloakroom/v1/logs_pb.js";

/** The rows that one call has left, in the order of the list. */
export interface LogCall {
  readonly first: Log;
  readonly others: readonly Log[];
}

/**
 * Puts the rows of the same trace together, at the place of the first: rows of calls that shared a transaction lie among
 * each other. A row without a trace is a call of its own.
 */
export function callsOf(rows: readonly Log[]): LogCall[] {
  const calls: { first: Log; others: Log[] }[] = [];
  const byTrace = new Map<string, { others: Log[] }>();
  for (const row of rows) {
    const known = row.traceId === undefined ? undefined : byTrace.get(row.traceId);
    if (known) {
      known.others.push(row);
      continue;
    }
    const call = { first: row, others: [] };
    calls.push(call);
    if (row.traceId !== undefined) byTrace.set(row.traceId, call);
  }
  return calls;
}
