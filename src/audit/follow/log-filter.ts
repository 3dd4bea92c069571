import { isIP } from "node:net";
import { DAY_MS } from "../../base/clock.js";
import { invalid } from "../../base/fault.js";
import { parseUuid, type Uuid } from "../../base/ids.js";
import { parseIsoTime } from "../../base/iso-time.js";
import type { LogFilter } from "../../store/audit/log-listing.js";
import { snakeCased } from "../log-changes.js";
import { entityTypesMatching } from "../log-entry.js";
import { loggedTrace } from "../trace-id.js";

/** A caller's filter of the log, unparsed. */
export interface LogFilterQuery
  extends Pick<
    LogFilter,
    | "entityId"
    | "outcome"
    | "operation"
    | "transform"
    | "destinationHost"
    | "sourceIp"
    | "client"
    | "code"
    | "hasReason"
    | "actorType"
    | "viaType"
  > {
  readonly entityType?: string | undefined;
  readonly startDate?: string | undefined;
  readonly endDate?: string | undefined;
  readonly actorId?: string | undefined;
  readonly keyId?: string | undefined;
  readonly traceId?: string | undefined;
  readonly viaId?: string | undefined;
  readonly id?: string | undefined;
}

/** The longest time that filters without an index may search. */
const MAX_DAYS = 31;

/**
 * @throws {Fault} validation_failed for an invalid value, or for a filter without an index and without a time window.
 */
export function readLogFilter(query: LogFilterQuery, now: Date): LogFilter {
  const filter: LogFilter = {
    entityTypes: query.entityType === undefined ? undefined : entityTypesMatching(query.entityType),
    entityId: query.entityId,
    from: readTime("start_date", query.startDate),
    until: readTime("end_date", query.endDate),
    actorId: readUuid("actor_id", query.actorId),
    keyId: readUuid("key_id", query.keyId),
    outcome: query.outcome,
    operation: query.operation,
    transform: query.transform,
    traceId: readTrace(query.traceId),
    destinationHost: query.destinationHost?.toLowerCase(),
    sourceIp: readNetwork(query.sourceIp),
    client: query.client,
    code: query.code,
    viaId: readUuid("via_id", query.viaId),
    hasReason: query.hasReason,
    actorType: query.actorType,
    viaType: query.viaType,
    id: readUuid("id", query.id),
  };
  const unindexed = unindexedField(query);
  if (unindexed !== undefined) requireWindow(unindexed, filter, now);
  return filter;
}

/** The filter as a list of texts, to which cursors are bound. */
export function nameOfFilter(query: LogFilterQuery): readonly string[] {
  const { entityType, entityId, startDate, endDate } = query;
  const { actorId, keyId, outcome, operation, transform, traceId, destinationHost, sourceIp } = query;
  const more = [actorId, keyId, outcome, operation, transform, traceId, destinationHost, sourceIp];
  const { client, code, viaId, hasReason, actorType, viaType, id } = query;
  const latest = [client, code, viaId, hasReason?.toString(), actorType, viaType, id];
  const parts = [entityType, entityId, startDate, endDate, ...more, ...latest];
  return ["logs", ...parts.map((part) => part ?? "")];
}

/** A field that would compare row by row, unless another field of the filter leaves few rows. */
function unindexedField(query: LogFilterQuery): string | undefined {
  const { entityId, destinationHost, outcome, keyId, actorId } = query;
  const isSelective = entityId !== undefined || destinationHost !== undefined;
  if (isSelective || outcome === "denied" || outcome === "failed") return undefined;
  if (keyId !== undefined && actorId === undefined) return "key_id";
  const field = UNINDEXED.find((name) => query[name] !== undefined);
  return field && snakeCased(field);
}

const UNINDEXED = [
  ...(["outcome", "operation", "transform", "traceId", "client", "code", "viaId"] as const),
  ...(["hasReason", "actorType", "viaType", "id", "sourceIp"] as const),
];

function requireWindow(field: string, { from, until }: LogFilter, now: Date): void {
  if (!from) throw invalid("start_date", `must be given with ${field}, to bound the search`);
  if ((until ?? now).getTime() - from.getTime() <= MAX_DAYS * DAY_MS) return;
  throw invalid("start_date", `must be at most ${MAX_DAYS} days before end_date, or before now, with ${field}`);
}

function readTime(field: string, text: string | undefined): Date | undefined {
  return text === undefined ? undefined : parseTime(field, text);
}

/** @throws {Fault} validation_failed */
export function parseTime(field: string, text: string): Date {
  const time = parseIsoTime(text);
  if (!time) throw invalid(field, "must be an ISO 8601 date or date-time");
  return time;
}

function readUuid(field: string, text: string | undefined): Uuid | undefined {
  if (text === undefined) return undefined;
  const id = parseUuid(text);
  if (!id) throw invalid(field, "must be a UUID");
  return id;
}

function readTrace(text: string | undefined): Uuid | undefined {
  if (text === undefined) return undefined;
  const id = loggedTrace(text);
  if (!id) throw invalid("trace_id", "must be a trace id, as in the header BT-TRACE-ID of a response");
  return id;
}

function readNetwork(text: string | undefined): string | undefined {
  if (text === undefined) return undefined;
  const [address = "", prefix, ...rest] = text.split("/");
  const most = isIP(address) === 4 ? 32 : 128;
  const isPrefix = prefix === undefined || (/^\d{1,3}$/.test(prefix) && Number(prefix) <= most);
  if (isIP(address) === 0 || address.includes("%") || !isPrefix || rest.length > 0) {
    throw invalid("source_ip", "must be an IP address, or a network such as 203.0.113.0/24");
  }
  return text;
}
