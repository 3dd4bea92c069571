import { EMPTY_CONTEXT } from "../../src/audit/audit-context.js";
import { sealEvent } from "../../src/audit/event-record.js";
import { newUuid } from "../../src/base/ids.js";
import type { TenantKeys } from "../../src/crypto/tenant-keys.js";
import type { DeliveryRow } from "../../src/store/jobs/webhook-deliveries.js";

export const STORED_AT = new Date("2026-11-24T10:00:00.512Z");

/** A stored event of a token, as the vault writes it. */
export function storedEvent(keys: TenantKeys, entityId = "order-1"): DeliveryRow {
  const id = newUuid();
  const event = "token.created";
  const logged = { id, actor: undefined, context: EMPTY_CONTEXT, entityType: "card", entityId, event } as const;
  return {
    ...{ event_id: id, webhook_id: newUuid(), event_type: event, entity_type: "card", entity_id: entityId },
    ...{ actor_id: null, actor_type: null, trace_id: null, created_at: STORED_AT },
    content: sealEvent(keys, logged, STORED_AT, { containers: ["/pci/"] }),
    ...{ state: "waiting", attempts: 0, claim: 1, due_at: STORED_AT, attempted_at: null, status: null, problem: null },
  };
}
