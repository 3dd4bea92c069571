import { LogService } from "../../gen/cloakroom/v1/logs_pb.js";
import { recordLogRead } from "../access/record-log-read.js";
import { type FeedReader, LogFeeds } from "../audit/follow/log-feed.js";
import {
  comparePositions,
  endOfLog,
  type FollowFilter,
  LogFollower,
  type PollResult,
} from "../audit/follow/log-follower.js";
import { entityTypesMatching } from "../audit/log-entry.js";
import { invalid } from "../base/fault.js";
import { isUuidPosition, type ListPosition, readCursor, writeCursor } from "../crypto/cursor.js";
import type { TenantKeys } from "../crypto/tenant-keys.js";
import type { LogRow } from "../store/audit/log-listing.js";
import { showLogRow } from "./logs.js";
import { type ServedStream, type StreamCall, serveStream } from "./served-stream.js";

/** A message without rows comes after this time. Proxies close connections that are silent for a minute. */
const HEARTBEAT_MS = 15_000;
/** Rows of one message at most. */
const MESSAGE_ROWS = 100;
/** Maximum rows of one poll. Every poll reads the last seconds again. */
const POLL_ROWS = 500;

/** Rows to send, and where a stream continues after them. */
interface Found {
  readonly rows: readonly LogRow[];
  readonly position: ListPosition;
}

export function followLogs(): ServedStream {
  const feeds = new LogFeeds();
  return serveStream(LogService.method.followLogs, async function* ({ entityType, entityId, after }, call) {
    const cursorScope = ["logs/follow", entityType ?? "", entityId ?? ""];
    const entityTypes = entityType === undefined ? undefined : entityTypesMatching(entityType);
    const start = after === undefined ? undefined : readAfter(call.keys, cursorScope, after);
    // Under the present settings: those that the caller was admitted with may be seconds old.
    await call.read(async (tx) => recordLogRead(tx, "followed"));
    const reader = feeds.join(call.caller.tenantId);
    let sentAt = Number.NEGATIVE_INFINITY;
    try {
      for await (const { rows, position } of follow({ entityTypes, entityId }, start, reader, call)) {
        if (rows.length === 0 && performance.now() - sentAt < HEARTBEAT_MS) continue;
        const cursor = writeCursor(call.keys.proof, cursorScope, position);
        yield { data: rows.map((row) => showLogRow(row, call.caller)), cursor };
        sentAt = performance.now();
      }
    } finally {
      reader.leave();
    }
  });
}

/** Reads the log by itself up to its end, then shares the tenant's feed. Ends with the call's signal. */
async function* follow(
  filter: FollowFilter,
  start: ListPosition | undefined,
  reader: FeedReader,
  call: StreamCall,
): AsyncGenerator<Found> {
  const feedStart = await reader.begin(call);
  const own = new LogFollower(filter, start ?? (await call.read(endOfLog)), { batch: POLL_ROWS });
  let isAtEnd = false;
  while (!call.signal.aborted) {
    // The feed does not have rows of before its start that commit later.
    const mayShare: boolean = isAtEnd && own.position.createdAt >= feedStart;
    if (mayShare) reader.startTaking();
    const polled: PollResult = await call.read((tx) => own.poll(tx, { isFull: mayShare }));
    const before = own.position;
    own.accept(polled);
    yield* inMessages(polled.rows, before, own.position);
    if (mayShare && polled.isAll) return yield* share(filter, own, reader, call);
    isAtEnd = polled.isAll;
    const mayShareNext = isAtEnd && own.position.createdAt >= feedStart;
    if (polled.rows.length === 0 && !mayShareNext) await reader.wait(call.signal);
  }
}

/** The rows of the feed that match and that the follower has not sent. */
async function* share(
  filter: FollowFilter,
  own: LogFollower,
  reader: FeedReader,
  call: StreamCall,
): AsyncGenerator<Found> {
  let position = own.position;
  let taking: ListPosition | undefined;
  while (!call.signal.aborted) {
    const taken = await reader.take(call);
    // The clocks were set back. Of the rows that this stream has sent, its own follower knows which are of the present.
    if (taking && comparePositions(taken.position, taking) < 0) return yield* follow(filter, position, reader, call);
    taking = taken.position;
    const rows = taken.rows.filter((row) => matches(filter, row) && !own.hasSent(row));
    const before = position;
    if (comparePositions(taken.position, position) > 0) position = taken.position;
    yield* inMessages(rows, before, position);
    if (taken.rows.length === 0) await reader.wait(call.signal);
  }
}

/** A stream continues behind rows only once all of them are sent. */
function* inMessages(rows: readonly LogRow[], before: ListPosition, after: ListPosition): Generator<Found> {
  let from = 0;
  for (; from + MESSAGE_ROWS < rows.length; from += MESSAGE_ROWS) {
    yield { rows: rows.slice(from, from + MESSAGE_ROWS), position: before };
  }
  yield { rows: rows.slice(from), position: after };
}

function matches({ entityTypes, entityId }: FollowFilter, row: LogRow): boolean {
  const isOfType = entityTypes === undefined || entityTypes.includes(row.entity_type);
  return isOfType && (entityId === undefined || row.entity_id === entityId);
}

function readAfter(keys: TenantKeys, filter: readonly string[], text: string): ListPosition {
  const position = readCursor(keys.proof, filter, text);
  if (!position || !isUuidPosition(position)) {
    throw invalid("after", "must be a cursor of an earlier stream with the same filter");
  }
  return position;
}
