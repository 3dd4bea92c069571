import { setTimeout as pause } from "node:timers/promises";
import { LogService } from "../../gen/cloakroom/v1/logs_pb.js";
import { entityTypesMatching } from "../audit/log-entry.js";
import { endOfLog, LogFollower } from "../audit/log-follower.js";
import { invalid } from "../base/fault.js";
import { isUuidPosition, type Position, readCursor, writeCursor } from "../crypto/cursor.js";
import type { TenantKeys } from "../crypto/tenant-keys.js";
import type { Keyring } from "../tenancy/keyring.js";
import { showLogRow } from "./logs.js";
import { type ServedStream, serveStream } from "./served-stream.js";

/** Milliseconds between two looks at the log. */
const LOOK_EVERY_MS = 1_000;
/** A message without rows comes after this time. Proxies close connections that are silent for a minute. */
const HEARTBEAT_MS = 15_000;

export function followLogs(keyring: Keyring): ServedStream {
  return serveStream(LogService.method.followLogs, async function* ({ entityType, entityId, after }, call) {
    const { tenantId } = call.caller;
    const keys = await keyring.of(tenantId);
    const filter = ["logs/follow", entityType ?? "", entityId ?? ""];
    const entityTypes = entityType === undefined ? undefined : entityTypesMatching(entityType);
    const start = after === undefined ? await call.read(endOfLog) : readAfter(keys, filter, after);
    const follower = new LogFollower({ entityTypes, entityId }, start);
    let sentAt = 0;
    while (!call.signal.aborted) {
      const rows = await call.read((tx) => follower.next(tx));
      if (rows.length > 0 || performance.now() - sentAt >= HEARTBEAT_MS || sentAt === 0) {
        const cursor = writeCursor(keys.proof, filter, follower.position);
        yield { data: rows.map((row) => showLogRow(tenantId, row)), cursor };
        sentAt = performance.now();
      }
      if (rows.length === 0) await pause(LOOK_EVERY_MS, undefined, { signal: call.signal }).catch(() => {});
    }
  });
}

function readAfter(keys: TenantKeys, filter: readonly string[], text: string): Position {
  const position = readCursor(keys.proof, filter, text);
  if (!position || !isUuidPosition(position)) {
    throw invalid("after", "must be a cursor of an earlier stream with the same filter");
  }
  return position;
}
