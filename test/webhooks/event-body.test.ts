import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { EVENT_TYPES } from "../../src/audit/event-types.js";
import { newTenantId, newUuid } from "../../src/base/ids.js";
import { SealBroken } from "../../src/crypto/sealed.js";
import type { DeliveryRow } from "../../src/store/jobs/webhook-deliveries.js";
import { eventOfDelivery } from "../../src/webhooks/event-body.js";
import { newTenantKeys } from "../support/tenant-keys.js";
import { STORED_AT, storedEvent } from "./stored-event.js";

const keys = newTenantKeys(newTenantId());
const at = STORED_AT;

/** What the owner of the database may write into a row. */
const EDITS: fc.Arbitrary<Partial<DeliveryRow>> = fc.oneof(
  fc.record({ event_id: fc.constant(null).map(() => newUuid()) }),
  fc.record({ event_type: fc.constantFrom(...EVENT_TYPES, "webhook.test").filter((type) => type !== "token.created") }),
  fc.record({ entity_type: fc.constantFrom("token", "bank", "application", "tenant", "webhook") }),
  fc.record({ entity_id: fc.string().filter((id) => id !== "order-1") }),
  fc.record({ actor_id: fc.constant(null).map(() => newUuid()) }),
  fc.record({ actor_type: fc.constantFrom("user", "application") }),
  fc.record({ trace_id: fc.constant(null).map(() => newUuid()) }),
  fc.record({ created_at: fc.integer({ min: 1, max: 1e9 }).map((ms) => new Date(at.getTime() + ms)) }),
  fc.record({ content: fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes)) }),
  fc.record({ content: fc.constant(null).map(() => storedEvent(keys, "order-2").content) }),
);

describe("an event that waits in the database", () => {
  it("has the entity, the actor and what was sealed", () => {
    const row = storedEvent(keys);
    expect(eventOfDelivery(keys, row)).toEqual({
      ...{ id: row.event_id, type: "token.created", timestamp: at.toISOString(), tenant_id: keys.tenantId },
      data: { token: { id: "order-1", type: "card", containers: ["/pci/"] }, actor: { type: "system" } },
    });
  });

  it("is not sent after any edit of what is sent", () => {
    fc.assert(
      fc.property(fc.array(EDITS, { minLength: 1, maxLength: 3 }), (edits) => {
        const forged = Object.assign({}, storedEvent(keys), ...edits);
        expect(() => eventOfDelivery(keys, forged)).toThrow(SealBroken);
      }),
      { numRuns: 500 },
    );
  });

  it("is not sent for another tenant", () => {
    expect(() => eventOfDelivery({ ...newTenantKeys(newTenantId()), data: keys.data }, storedEvent(keys))).toThrow(
      SealBroken,
    );
  });
});
