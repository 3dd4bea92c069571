import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { systemClock } from "../../../src/base/clock.js";
import { newTenantId, newUuid, type Uuid } from "../../../src/base/ids.js";
import { type Database, openDatabase } from "../../../src/store/database.js";
import { claimDeliveries, type DeliveryPosition } from "../../../src/store/jobs/webhook-deliveries.js";
import { startDatabase, type TestDatabase } from "../../support/databases.js";

const STATES = ["due", "later", "leased", "delivered"] as const;
interface Delivery {
  readonly number: number;
  readonly entity: number;
  readonly state: (typeof STATES)[number];
}
/** The third step begins behind 1,064 deliveries. */
const MANY = 1_500;

describe("a claim of deliveries", () => {
  const tenantId = newTenantId();
  let database: TestDatabase;
  let opened: Database;
  beforeAll(async () => {
    database = await startDatabase();
    opened = openDatabase({ address: database.address, sharedConnections: 1, bulkConnections: 1, clock: systemClock });
  });
  afterAll(async () => {
    await opened?.[Symbol.asyncDispose]();
    await database?.[Symbol.asyncDispose]();
  });

  const store = async (webhookId: Uuid, deliveries: readonly Delivery[]) => {
    const values = deliveries.map(
      ({ number, entity, state }) =>
        `('${tenantId}', gen_random_uuid(), '${webhookId}', ${number}, 'token.created', 'token', 'token-${entity}', 'sealed',
          '${state === "delivered" ? "delivered" : "waiting"}', 0, 0,
          now() ${state === "later" ? "+" : "-"} interval '1 hour',
          ${state === "leased" ? "now() + interval '1 hour'" : "null"}, now() + interval '30 days', now())`,
    );
    await database.asTenant(
      tenantId,
      `insert into webhook_deliveries (tenant_id, event_id, webhook_id, number, event_type, entity_type, entity_id, content,
         state, attempts, claim, due_at, lease_until, expires_at, created_at) values ${values.join(", ")}`,
    );
  };
  const claim = async (webhookId: Uuid, limit: number, after: DeliveryPosition | null = null) => {
    const { rows, next } = await opened
      .of(tenantId)
      .bulk((tx) => claimDeliveries(tx, { webhookId, limit, seconds: 60, after }));
    return { found: rows.map(({ entity_id }) => entity_id), next };
  };
  const claimed = async (webhookId: Uuid, limit: number) => (await claim(webhookId, limit)).found;
  /** Entities whose first waiting event is due and free. */
  const ready = (deliveries: readonly Delivery[]) => {
    const waiting = deliveries.filter(({ state }) => state !== "delivered").toSorted((a, b) => a.number - b.number);
    const first = new Map(waiting.toReversed().map((delivery) => [delivery.entity, delivery]));
    return [...first.values()].filter(({ state }) => state === "due").map(({ entity }) => `token-${entity}`);
  };

  it("finds the first event of each entity, if that is due and free, and no other", async () => {
    const some = fc.tuple(
      fc.uniqueArray(fc.integer({ min: 1, max: 10_000 }), { maxLength: 200 }),
      fc.array(fc.record({ entity: fc.nat(30), state: fc.constantFrom(...STATES) }), {
        minLength: 200,
        maxLength: 200,
      }),
      fc.integer({ min: 1, max: 16 }),
    );
    await fc.assert(
      fc.asyncProperty(some, async ([numbers, rows, limit]) => {
        const webhookId = newUuid();
        const deliveries = numbers.flatMap((number, index) =>
          rows.slice(index, index + 1).map((row) => ({ number, ...row })),
        );
        if (deliveries.length > 0) await store(webhookId, deliveries);
        const found: string[] = [];
        while (true) {
          const batch = await claimed(webhookId, limit);
          if (batch.length === 0) break;
          expect(batch.length).toBeLessThanOrEqual(limit);
          found.push(...batch);
        }
        expect(found.toSorted()).toEqual(ready(deliveries).toSorted());
      }),
      { numRuns: 60 },
    );
  });

  it("goes past many events that wait for the first of their entity", async () => {
    const webhookId = newUuid();
    const hot = Array.from({ length: MANY }, (_, index): Delivery => {
      return { number: index + 1, entity: 1, state: index === 0 ? "later" : "due" };
    });
    await store(webhookId, [...hot, { number: MANY + 1, entity: 2, state: "due" }]);
    expect(await claimed(webhookId, 16)).toEqual(["token-2"]);
    expect(await claimed(webhookId, 16)).toEqual([]);
  });

  it("is full although one entity has all events in front", async () => {
    const webhookId = newUuid();
    const busy = Array.from({ length: MANY }, (_, index): Delivery => ({ number: index + 1, entity: 0, state: "due" }));
    const others = Array.from({ length: 20 }, (_, index): Delivery => {
      return { number: MANY + 1 + index, entity: index + 1, state: "due" };
    });
    await store(webhookId, [...busy, ...others]);
    const { found, next } = await claim(webhookId, 16);
    expect(found).toContain("token-0");
    expect([found.length, next]).toEqual([16, null]);
  });

  it("stops after ten steps, and the next one goes on from there", async () => {
    const webhookId = newUuid();
    const busy = Array.from({ length: 10_000 }, (_, index): Delivery => {
      return { number: index + 1, entity: 0, state: index === 0 ? "due" : "later" };
    });
    for (let start = 0; start < busy.length; start += 1_000) await store(webhookId, busy.slice(start, start + 1_000));
    await store(webhookId, [{ number: 10_001, entity: 1, state: "due" }]);
    const { found, next } = await claim(webhookId, 16);
    expect([found, next]).toEqual([["token-0"], expect.objectContaining({ number: 64 + 9 * 1_000 })]);
    expect(await claim(webhookId, 16, next)).toEqual({ found: ["token-1"], next: null });
  });

  it("goes on behind events of one number", async () => {
    const webhookId = newUuid();
    const waiting = Array.from({ length: 65 }, (_, index): Delivery => ({ number: 7, entity: index, state: "later" }));
    await store(webhookId, [
      ...waiting,
      { number: 7, entity: 65, state: "due" },
      { number: 8, entity: 66, state: "due" },
    ]);
    const found = [...(await claimed(webhookId, 16)), ...(await claimed(webhookId, 16))];
    expect(found.toSorted()).toEqual(["token-65", "token-66"]);
  });
});
