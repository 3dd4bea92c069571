import type { Uuid } from "../../base/ids.js";
import { type PageRequest, pageOffset } from "../../base/page.js";
import { definePage } from "../statements/counted-page.js";
import { defineRemoval } from "../statements/removal.js";
import {
  defineChange,
  defineHasRow,
  defineHasWritten,
  defineRow,
  defineRows,
  defineWrittenRow,
  defineWrittenRows,
} from "../statements/row-statements.js";
import type { SqlTag } from "../statements/statement.js";
import type { Transaction } from "../transactions/transaction.js";
import { endedWebhooks } from "./ended-webhooks.js";

export type DeliveryState = "waiting" | "delivered" | "failed";

export interface DeliveryRow {
  readonly event_id: Uuid;
  readonly webhook_id: Uuid;
  readonly event_type: string;
  readonly entity_type: string;
  readonly entity_id: string;
  readonly actor_id: Uuid | null;
  readonly actor_type: string | null;
  readonly trace_id: Uuid | null;
  /** Sealed. */
  readonly content: Buffer;
  readonly state: DeliveryState;
  readonly attempts: number;
  readonly claim: number;
  readonly due_at: Date;
  readonly attempted_at: Date | null;
  readonly status: number | null;
  readonly problem: string | null;
  readonly created_at: Date;
}

const COLUMNS = `event_id, webhook_id, event_type, entity_type, entity_id, actor_id, actor_type, trace_id, content, state,
  attempts, claim, due_at, attempted_at, status, problem, created_at`;

export interface NamedDelivery {
  readonly webhookId: Uuid;
  readonly eventId: Uuid;
}

export interface DeliveryClaim {
  readonly webhookId: Uuid;
  readonly limit: number;
  /** How long no other replica may take them, on the database's clock. */
  readonly seconds: number;
  /** Takes those behind it. Null: from the first. */
  readonly after: DeliveryPosition | null;
}

/** A delivery in the order in which they are sent. */
export interface DeliveryPosition {
  readonly number: number;
  readonly event_id: Uuid;
}

interface ClaimStep extends DeliveryClaim {
  readonly size: number;
}

export interface Claimed {
  readonly rows: readonly DeliveryRow[];
  /** Where the next claim goes on. Null: at the first delivery. */
  readonly next: DeliveryPosition | null;
}

/** Waiting deliveries that a first step reads: some more than a claim takes. */
const FIRST_STEP = 64;
/** What each further step reads. It takes 3 ms, and 20 if it looks for the first event of a thousand entities. */
const NEXT_STEP = 1_000;
/** More would keep the connection from others, and shorten the leases, which begin with the transaction. */
const STEPS_AT_ONCE = 10;

/**
 * Takes deliveries of a webhook that are due, longest waiting first. Of each entity only the first that waits: a later
 * event must not overtake it. It reads in steps: in a single statement, a hundred thousand events that wait for one of their
 * entity took longer than the 2 s that a statement may take. Where as many are in front, the next claim goes on behind
 * them, and other entities do not wait for theirs.
 */
export async function claimDeliveries(tx: Transaction, claim: DeliveryClaim): Promise<Claimed> {
  const rows: DeliveryRow[] = [];
  let { after } = claim;
  for (let steps = 0; steps < STEPS_AT_ONCE; steps += 1) {
    const size = steps === 0 ? FIRST_STEP : NEXT_STEP;
    const step = { ...claim, after, size, limit: claim.limit - rows.length };
    rows.push(...(await tx.query(claimInStep, step)));
    if (rows.length === claim.limit) return { rows, next: null };
    after = await tx.query(readStepEnd, step);
    if (after === null) break;
  }
  return { rows, next: after };
}

function behind(sql: SqlTag, after: DeliveryPosition | null) {
  return after === null ? sql`` : sql`and (number, event_id) > (${after.number}, ${after.event_id})`;
}

/**
 * The first event of each entity is looked up for the first delivery of that entity in the step, which PostgreSQL neither
 * joins nor sorts: with an anti-join, a claim beside 3,000 waiting ones took seconds until the table was analyzed.
 */
const claimInStep = defineWrittenRows<ClaimStep, DeliveryRow>(
  "webhook_deliveries",
  (sql, tenantId, { webhookId, limit, seconds, after, size }, at) => sql`
    with step as materialized (
      select entity_id, number, event_id from webhook_deliveries
      where tenant_id = ${tenantId} and webhook_id = ${webhookId} and state = 'waiting'
        ${behind(sql, after)}
      order by number, event_id limit ${size})
    update webhook_deliveries set lease_until = now() + ${seconds} * interval '1 second', claim = claim + 1
    where tenant_id = ${tenantId} and webhook_id = ${webhookId} and event_id = any(array(
      select event_id from webhook_deliveries d
      where tenant_id = ${tenantId} and webhook_id = ${webhookId} and state = 'waiting' and due_at <= ${at}
        and (lease_until is null or lease_until < now())
        and number <= (select max(number) from step) ${behind(sql, after)}
        and event_id = any(array(select distinct on (entity_id) event_id from step order by entity_id, number, event_id))
        and event_id = (
          select event_id from webhook_deliveries first
          where first.tenant_id = ${tenantId} and first.webhook_id = ${webhookId} and first.state = 'waiting'
            and first.entity_id = d.entity_id
          order by first.number, first.event_id limit 1)
      order by number, event_id limit ${limit} for update skip locked))
    returning ${sql.unsafe(COLUMNS)}`,
);

/** The last delivery of a step; null if none follows it. */
const readStepEnd = defineRow<ClaimStep, DeliveryPosition>(
  "webhook_deliveries",
  (sql, tenantId, { webhookId, after, size }) => sql`
    select number, event_id from webhook_deliveries
    where tenant_id = ${tenantId} and webhook_id = ${webhookId} and state = 'waiting'
      ${behind(sql, after)}
    order by number, event_id offset ${size - 1} limit 1`,
);

export const listWebhooksDue = defineRows<"due", { readonly webhook_id: Uuid }>(
  "webhook_deliveries",
  (sql, tenantId, _, at) => sql`
    select id as webhook_id from webhooks w where w.tenant_id = ${tenantId} and w.enabled and exists (
      select 1 from webhook_deliveries d
      where d.tenant_id = ${tenantId} and d.webhook_id = w.id and d.state = 'waiting' and d.due_at <= ${at}
        and (d.lease_until is null or d.lease_until < now()))`,
);

/** Whether anything is to be sent, or to be ended. */
export const hasDeliveriesDue = defineHasRow<Date>(
  "webhook_deliveries",
  (sql, tenantId, until) => sql`
    select 1 where exists (
      select 1 from webhook_deliveries where tenant_id = ${tenantId} and state = 'waiting' and due_at < ${until})
    or exists (${endedWebhooks(sql, tenantId)})`,
);

export interface AttemptEnd extends NamedDelivery {
  readonly claim: number;
  readonly state: DeliveryState;
  readonly attempts: number;
  readonly status: number | null;
  readonly problem: string | null;
  readonly dueAt: Date;
}

/** Writes how an attempt ended, unless another replica has taken the delivery since. Returns whether it did. */
export const endAttempt = defineHasWritten<AttemptEnd>(
  "webhook_deliveries",
  (sql, tenantId, { webhookId, eventId, claim, state, attempts, status, problem, dueAt }, at) => sql`
    update webhook_deliveries set state = ${state}, attempts = ${attempts}, status = ${status}, problem = ${problem},
      due_at = ${dueAt}, attempted_at = ${at}, lease_until = null
    where tenant_id = ${tenantId} and webhook_id = ${webhookId} and event_id = ${eventId} and claim = ${claim}
    returning 1`,
);

/** Gives back deliveries that were taken and not tried. */
export const releaseDelivery = defineChange<NamedDelivery & { readonly claim: number }>(
  "webhook_deliveries",
  (sql, tenantId, { webhookId, eventId, claim }) => sql`
    update webhook_deliveries set lease_until = null
    where tenant_id = ${tenantId} and webhook_id = ${webhookId} and event_id = ${eventId} and claim = ${claim}`,
);

/** Sets a delivery to be sent again at once, and returns it. Null: the webhook has no delivery of this event. */
export const restartDelivery = defineWrittenRow<NamedDelivery, DeliveryRow>(
  "webhook_deliveries",
  (sql, tenantId, { webhookId, eventId }, at) => sql`
    update webhook_deliveries set state = 'waiting', due_at = ${at}, lease_until = null, claim = claim + 1, attempts = 0
    where tenant_id = ${tenantId} and webhook_id = ${webhookId} and event_id = ${eventId}
    returning ${sql.unsafe(COLUMNS)}`,
);

type NewDelivery = Omit<
  DeliveryRow,
  "state" | "attempts" | "claim" | "due_at" | "attempted_at" | "status" | "problem" | "created_at"
> & { readonly expires_at: Date };

/** Writes an event for one webhook, whatever it asks for: a test. */
export const insertDelivery = defineWrittenRow<NewDelivery, DeliveryRow>(
  "webhook_deliveries",
  (sql, tenantId, row, at) => sql`
    insert into webhook_deliveries ${sql({
      tenant_id: tenantId,
      number: at.getTime() * 1_000,
      state: "waiting",
      attempts: 0,
      claim: 0,
      due_at: at,
      created_at: at,
      ...row,
    })}
    returning ${sql.unsafe(COLUMNS)}`,
);

export const readDelivery = defineRow<NamedDelivery, DeliveryRow>(
  "webhook_deliveries",
  (sql, tenantId, { webhookId, eventId }) => sql`
    select ${sql.unsafe(COLUMNS)} from webhook_deliveries
    where tenant_id = ${tenantId} and webhook_id = ${webhookId} and event_id = ${eventId}`,
);

export interface DeliveryListing extends PageRequest {
  readonly webhookId: Uuid;
  readonly state: DeliveryState | undefined;
}

/** A page, newest first. */
export const listDeliveryRows = definePage<DeliveryListing, DeliveryRow>(
  "webhook_deliveries",
  (sql, tenantId, listing) => {
    const { webhookId, state, size } = listing;
    const from = sql`
      from webhook_deliveries where tenant_id = ${tenantId} and webhook_id = ${webhookId}
      ${state === undefined ? sql`` : sql`and state = ${state}`}`;
    return {
      total: sql`select count(*) as total ${from}`,
      rows: sql`
        select ${sql.unsafe(COLUMNS)} ${from}
        order by created_at desc, event_id desc limit ${size} offset ${pageOffset(listing)}`,
    };
  },
);

/** Deletes events whose time is over, delivered or not. */
export const deleteDueEvents = defineRemoval("webhook_deliveries", "expires_at");

/** Whether a webhook took an event after a time. */
export const wasDeliveredSince = defineHasRow<{ readonly webhookId: Uuid; readonly since: Date }>(
  "webhook_deliveries",
  (sql, tenantId, { webhookId, since }) => sql`
    select 1 from webhook_deliveries
    where tenant_id = ${tenantId} and webhook_id = ${webhookId} and state = 'delivered' and attempted_at > ${since}
    limit 1`,
);
