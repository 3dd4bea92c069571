import type { JsonObject } from "../base/json.js";
import { sealedRecord } from "../crypto/sealed-record.js";
import type { TenantKeys } from "../crypto/tenant-keys.js";
import { AAD_COLUMNS } from "../store/tenancy/sealed-columns.js";
import type { EventType } from "./event-types.js";
import type { LogEntry } from "./log-entry.js";

/**
 * What an event says of its entity beside its columns, to which it is bound: the owner of the database can neither write
 * nor change an event that the vault signs. The id of its row is that of the event.
 */
export const eventRecord = sealedRecord({
  field: "event",
  bound: AAD_COLUMNS.webhook_deliveries,
  write: (content: JsonObject) => content,
});

interface LoggedEvent extends Pick<LogEntry, "id" | "actor" | "context" | "entityType" | "entityId"> {
  /** A type of event, or that of a test. */
  readonly event: EventType | "webhook.test";
}

export function sealEvent(keys: TenantKeys, logged: LoggedEvent, at: Date, content: JsonObject = {}): Buffer {
  const { id, actor, context, entityType, entityId, event } = logged;
  const columns = {
    event_type: event,
    entity_type: entityType,
    entity_id: entityId,
    actor_id: actor?.id ?? null,
    actor_type: actor?.type ?? null,
    trace_id: context.traceId ?? null,
    created_at: at,
  };
  return eventRecord.seal(keys, { id, ...columns }, content);
}
