import { DAY_MS } from "../../base/clock.js";
import type { Uuid } from "../../base/ids.js";
import { boundWrite } from "../statements/bound-statement.js";
import { bytes, text, time, uuid } from "../statements/parameter.js";
import type { Transaction } from "../transactions/transaction.js";

/** How long events are kept, delivered or not. */
export const EVENT_KEPT_MS = 30 * DAY_MS;

/** An event: what the log row of an effect says, with what else is sent of its entity. */
interface NewEvent {
  /** Of the log row. */
  readonly id: Uuid;
  readonly event: string;
  readonly entityType: string;
  readonly entityId: string;
  readonly actor: { readonly id: Uuid; readonly type: string } | undefined;
  readonly context: { readonly traceId: Uuid | undefined };
  /** Sealed. */
  readonly content: Buffer;
}

interface ExpiringEvent extends NewEvent {
  readonly expiresAt: Date;
}

/**
 * Writes an event for each enabled webhook that asks for it, and notes that there is something to send. It runs with the
 * commit: its writer holds the lock of the entity by then, so numbers by the database's clock have the order of effects.
 */
const INSERT_EVENT = boundWrite<ExpiringEvent>({
  table: "webhook_deliveries",
  isAtCommit: true,
  sql: `
    with written as (
      insert into webhook_deliveries (
        tenant_id, event_id, webhook_id, number, event_type, entity_type, entity_id, actor_id, actor_type, trace_id, content,
        state, attempts, claim, due_at, expires_at, created_at
      )
      select :tenant, e.id, w.id, (extract(epoch from clock_timestamp()) * 1000000)::bigint, e.type, e.entity_type, e.entity_id, e.actor_id, e.actor_type, e.trace_id, e.content,
        'waiting', 0, 0, :now, e.expires_at, :now
      from (values {(
        :id::uuid, :event_type::text, :entity_type::text, :entity_id::text, :actor_id::uuid, :actor_type::text,
        :trace_id::uuid, :content::bytea, :expires_at::timestamptz
      )}) as e (id, type, entity_type, entity_id, actor_id, actor_type, trace_id, content, expires_at)
      join webhooks w on w.tenant_id = :tenant and w.enabled and e.type = any(w.events)
      returning expires_at
    )
    insert into due (tenant_id, kind, due_at)
    select :tenant, kind, date_trunc('minute', at)
    from (
      select 'webhook_delivery' as kind, :now::timestamptz as at from written
      union select 'webhook_event', expires_at from written
    ) noted
    order by kind, at
    on conflict do nothing`,
  parameters: {
    id: uuid(({ id }) => id),
    event_type: text(({ event }) => event),
    entity_type: text(({ entityType }) => entityType),
    entity_id: text(({ entityId }) => entityId),
    actor_id: uuid(({ actor }) => actor?.id ?? null),
    actor_type: text(({ actor }) => actor?.type ?? null),
    trace_id: uuid(({ context }) => context.traceId ?? null),
    content: bytes(({ content }) => content),
    expires_at: time(({ expiresAt }) => expiresAt),
  },
});

/**
 * Writes an event in the transaction of its effect. A distributed database takes none: it refuses such a statement, and
 * the service refuses webhooks there.
 */
export function writeEvent(tx: Transaction, event: NewEvent): void {
  if (tx.engine !== "postgresql") return;
  tx.enqueue(INSERT_EVENT, { ...event, expiresAt: new Date(tx.now.getTime() + EVENT_KEPT_MS) });
}
