import { eventRecord } from "../audit/event-record.js";
import type { JsonObject } from "../base/json.js";
import type { TenantKeys } from "../crypto/tenant-keys.js";
import type { DeliveryRow } from "../store/jobs/webhook-deliveries.js";

/** The name under which an event has its entity, where it is not the kind of the entity. All others are tokens. */
const WRAPPERS: Readonly<Record<string, string>> = {
  application: "application",
  application_key: "application_key",
  invitation: "invitation",
  log: "log",
  member: "member",
  proxy: "proxy",
  reactor: "reactor",
  refund: "refund",
  session: "session",
  tenant: "tenant",
  three_ds_session: "session",
  transaction: "transaction",
  webhook: "webhook",
};

/** Events of tokens that say of which type the token is. */
const WITH_TYPE: readonly string[] = ["token.created", "token.read", "token.updated"];

/** An event as it is sent: the same in every attempt. @throws {SealBroken} for a row that the vault has not written. */
export function eventOfDelivery(keys: TenantKeys, row: DeliveryRow): JsonObject {
  const { event_id: id, event_type: type, entity_type: entityType, entity_id: entityId, trace_id: traceId } = row;
  const wrapper = WRAPPERS[entityType] ?? "token";
  const entity: JsonObject = {
    id: entityId,
    ...(WITH_TYPE.includes(type) ? { type: entityType } : {}),
    ...eventRecord.open(keys, { ...row, id }, row.content),
  };
  return {
    id,
    type,
    timestamp: row.created_at.toISOString(),
    tenant_id: keys.tenantId,
    ...(traceId === null ? {} : { trace_id: traceId }),
    data: { [wrapper]: entity, actor: actorOf(row) },
  };
}

function actorOf({ actor_id: id, actor_type: type }: DeliveryRow): JsonObject {
  return id === null ? { type: "system" } : { id, type: type ?? "application" };
}
