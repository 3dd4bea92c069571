import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { LogService } from "../../gen/cloakroom/v1/logs_pb.js";
import type { Caller } from "../access/caller.js";
import { recordLogRead } from "../access/record-log-read.js";
import type { LogArchive } from "../audit/archive/log-archive.js";
import { ArchivedLog } from "../audit/follow/archived-log.js";
import { findLogRows } from "../audit/follow/find-log-rows.js";
import { prepareLogPage } from "../audit/follow/log-page.js";
import { type LogChange, readChanges } from "../audit/log-changes.js";
import { ENTITY_TYPES } from "../audit/log-entry.js";
import type { Clock } from "../base/clock.js";
import type { LogRow } from "../store/audit/log-listing.js";
import type { Database } from "../store/database.js";
import { authorizeOnly, type ServedMethod, serve } from "./call.js";
import { pageRequest } from "./show.js";
import { toValue } from "./value.js";

export interface LogServiceParts {
  readonly clock: Clock;
  readonly database: Database;
  /** Absent: rows are not archived. */
  readonly archive: LogArchive | undefined;
}

export function logService({ clock, database, archive }: LogServiceParts): ServedMethod[] {
  const { method } = LogService;
  return [
    serve(method.listLogs, async (request, call) => {
      const { page, size } = pageRequest(request);
      const { start } = request;
      const query = { ...request, page, size };
      const readPage = prepareLogPage(call.keys, query, new Date(clock.now()));
      const archived = archive && new ArchivedLog({ database, keys: call.keys, archive });
      return call.list(
        async (tx) => {
          recordLogRead(tx);
          return archived ? archived.pageIn(tx, readPage) : readPage((listing) => findLogRows(tx, listing));
        },
        async (found, caller) => {
          const { rows, next } = typeof found === "function" ? await found() : found;
          return {
            pagination: {
              pageSize: size,
              ...(next === undefined ? {} : { after: next, next }),
              ...(start === undefined ? { pageNumber: page } : {}),
            },
            data: rows.map((row) => showLogRow(row, caller)),
          };
        },
      );
    }),
    serve(method.listLogEntityTypes, async (_request, call) =>
      call.transact(authorizeOnly, () => ({
        data: Object.entries(ENTITY_TYPES).map(([value, displayName]) => ({ displayName, value })),
      })),
    ),
  ];
}

/** A row as the API shows it. */
export function showLogRow(row: LogRow, { tenantId }: Caller) {
  return {
    id: row.id,
    tenantId,
    ...(row.actor_id === null ? {} : { actorId: row.actor_id }),
    ...(row.actor_type === null ? {} : { actorType: row.actor_type }),
    entityType: row.entity_type,
    entityId: row.entity_id,
    operation: row.operation,
    message: row.message,
    createdAt: timestampFromDate(row.created_at),
    ...showRequest(row),
  };
}

function showRequest(row: LogRow) {
  return {
    ...(row.key_id === null ? {} : { keyId: row.key_id }),
    ...(row.source_ip === null ? {} : { sourceIp: row.source_ip }),
    ...(row.client === null ? {} : { client: row.client }),
    ...(row.trace_id === null ? {} : { traceId: row.trace_id }),
    ...(row.outcome === null ? {} : { outcome: row.outcome }),
    ...(row.code === null ? {} : { code: row.code }),
    ...(row.transform === null ? {} : { transform: row.transform }),
    ...(row.destination_host === null ? {} : { destinationHost: row.destination_host }),
    ...(row.via_type === null ? {} : { viaType: row.via_type }),
    ...(row.via_id === null ? {} : { viaId: row.via_id }),
    ...(row.reason === null ? {} : { reason: row.reason }),
    changes: readChanges(row.changes).map(showChange),
  };
}

function showChange({ field, before, after, isTruncated }: LogChange) {
  return { field, before: toValue(before), after: toValue(after), truncated: isTruncated };
}
