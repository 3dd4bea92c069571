import type { MessageInitShape } from "@bufbuild/protobuf";
import type { ListLogsRequestSchema } from "#client/proto/cloakroom/v1/logs_pb.js";

/** The filters of the log explorer, by their names in addresses. Times are local, as the browser's field writes them. */
export const FILTER_NAMES = [
  ...(["entity_type", "entity_id", "actor_id", "key_id", "outcome", "operation", "transform"] as const),
  ...(["trace_id", "destination_host", "source_ip", "from", "to"] as const),
];
/** Empty: not filtered. */
export type LogFilters = Readonly<Record<(typeof FILTER_NAMES)[number], string>>;

const DAY_MS = 86_400_000;

export function readFilters(params: URLSearchParams): LogFilters {
  const text = (name: string) => params.get(name)?.trim() ?? "";
  return {
    entity_type: text("entity_type"),
    entity_id: text("entity_id"),
    actor_id: text("actor_id"),
    key_id: text("key_id"),
    outcome: text("outcome"),
    operation: text("operation"),
    transform: text("transform"),
    trace_id: text("trace_id"),
    source_ip: text("source_ip"),
    destination_host: text("destination_host"),
    from: timeIn(text("from")),
    to: timeIn(text("to")),
  };
}

/** Whether the server needs a time window, of at most 31 days, for these filters. */
function needsWindow(filters: LogFilters): boolean {
  const { key_id, actor_id, outcome, operation, transform, trace_id, source_ip } = filters;
  const isSelective = filters.entity_id !== "" || filters.destination_host !== "";
  if (isSelective || outcome === "denied" || outcome === "failed") return false;
  const isKeyAlone = key_id !== "" && actor_id === "";
  return isKeyAlone || outcome === "allowed" || [operation, transform, trace_id, source_ip].some((text) => text !== "");
}

/** The start of the window: the person's, or a day ago where the server needs one. To the minute, to keep the query. */
export function windowStart(filters: LogFilters, now: number): Date | undefined {
  if (filters.from !== "") return new Date(filters.from);
  if (!needsWindow(filters)) return undefined;
  const end = filters.to === "" ? now : new Date(filters.to).getTime();
  return new Date(Math.floor((end - DAY_MS) / 60_000) * 60_000);
}

/** The filters as the API takes them. @param now milliseconds since 1970. */
export function logRequest(filters: LogFilters, now: number): MessageInitShape<typeof ListLogsRequestSchema> {
  const start = windowStart(filters, now);
  const named = {
    entityType: filters.entity_type,
    entityId: filters.entity_id,
    actorId: filters.actor_id,
    keyId: filters.key_id,
    outcome: filters.outcome,
    operation: filters.operation,
    transform: filters.transform,
    traceId: filters.trace_id,
    sourceIp: filters.source_ip,
    destinationHost: filters.destination_host,
    startDate: start?.toISOString() ?? "",
    endDate: filters.to === "" ? "" : new Date(filters.to).toISOString(),
  };
  return Object.fromEntries(Object.entries(named).filter(([, value]) => value !== ""));
}

/** An address can contain anything. A text that is not a time does not filter. */
function timeIn(text: string): string {
  return Number.isNaN(new Date(text).getTime()) ? "" : text;
}
