import { timestampMs } from "@bufbuild/protobuf/wkt";
import type { Log } from "#client/proto/cloakroom/v1/logs_pb.js";

/** The rows that one call has left, in the order of the list. */
export interface LogCall {
  readonly first: Log;
  readonly others: readonly Log[];
}

/** Rows of a call follow each other within this time. Callers choose their traces, and may use one again. */
const GAP_MS = 10_000;

/**
 * Puts the rows of one call together, at the place of the first: rows of calls that shared a transaction lie among each
 * other. They have the same trace and the same actor, so no caller hides rows behind the call of another. A row without a
 * trace is a call of its own.
 */
export function groupCalls(rows: readonly Log[]): LogCall[] {
  const calls: { first: Log; others: Log[] }[] = [];
  const open = new Map<string, { others: Log[]; last: Log }>();
  for (const row of rows) {
    const key = `${row.traceId} ${row.actorId}`;
    const known = row.traceId === undefined ? undefined : open.get(key);
    if (known && loggedTime(known.last) - loggedTime(row) <= GAP_MS) {
      known.others.push(row);
      known.last = row;
      continue;
    }
    const others: Log[] = [];
    calls.push({ first: row, others });
    if (row.traceId !== undefined) open.set(key, { others, last: row });
  }
  return calls;
}

function loggedTime({ createdAt }: Log): number {
  return createdAt ? timestampMs(createdAt) : 0;
}
