import type { Log } from "#client/proto/cloakroom/v1/logs_pb.js";

/** The rows that one call has left, in the order of the list. */
export interface LogCall {
  readonly first: Log;
  readonly others: readonly Log[];
}

/** Puts neighbouring rows of the same trace together. A row without a trace is a call of its own. */
export function callsOf(rows: readonly Log[]): LogCall[] {
  const calls: { first: Log; others: Log[] }[] = [];
  for (const row of rows) {
    const last = calls.at(-1);
    if (last && row.traceId !== undefined && last.first.traceId === row.traceId) last.others.push(row);
    else calls.push({ first: row, others: [] });
  }
  return calls;
}
