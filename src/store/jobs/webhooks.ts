import type { Uuid } from "../../base/ids.js";
import { AUTHORSHIP, type AuthorshipColumns } from "../statements/authorship.js";
import { boundWrite } from "../statements/bound-statement.js";
import { REVISION_STEP } from "../statements/revision-step.js";
import { defineAll, defineChange, defineDelete, defineInsert, defineRead } from "../statements/row-statements.js";
import { lockedById } from "../transactions/row-lock.js";

export interface WebhookRow extends AuthorshipColumns {
  readonly id: Uuid;
  readonly events: readonly string[];
  readonly enabled: boolean;
  /** Sealed. */
  readonly definition: Buffer;
  readonly revision: number;
}

const COLUMNS = `id, events, enabled, definition, revision, ${AUTHORSHIP}`;

type NewWebhook = Pick<WebhookRow, "id" | "events" | "enabled" | "definition" | "created_by">;

export const insertWebhook = defineInsert<NewWebhook>("webhooks", { revision: 1 });

export const readWebhook = defineRead<WebhookRow>("webhooks", COLUMNS);

export const lockWebhook = lockedById("webhooks", readWebhook);

export const listWebhookRows = defineAll<WebhookRow>("webhooks", COLUMNS);

type WebhookChange = Pick<WebhookRow, "id" | "events" | "enabled" | "definition" | "modified_by">;

/** Changes a webhook that the transaction has locked. */
export const updateWebhookRow = defineChange<WebhookChange>(
  "webhooks",
  (sql, tenantId, { id, events, enabled, definition, modified_by }, at) => sql`
    update webhooks set events = ${[...events]}::text[], enabled = ${enabled}, definition = ${definition},
      modified_by = ${modified_by}, modified_at = ${at}, revision = revision + 1
    where tenant_id = ${tenantId} and id = ${id}`,
);

/** Disables a webhook that the transaction has locked, by the server itself. */
export const disableWebhookRow = defineChange<Uuid>(
  "webhooks",
  (sql, tenantId, id, at) => sql`
    update webhooks set enabled = false, modified_by = null, modified_at = ${at}, revision = revision + 1
    where tenant_id = ${tenantId} and id = ${id}`,
);

export const deleteWebhookRow = defineDelete("webhooks");

/**
 * Sets which events the tenant's enabled webhooks ask for, after a change of them, and raises the revision of rights:
 * callers that are authorized under it know these events.
 */
export const refreshEventTypes = boundWrite<"once">({
  table: "tenants",
  sql: `
    update tenants set auth_revision = auth_revision + :step, event_types = (
      select coalesce(array_agg(distinct type order by type), array[]::text[])
      from webhooks w cross join unnest(w.events) as type where w.tenant_id = :tenant and w.enabled
    )
    where tenant_id = :tenant`,
  parameters: { step: REVISION_STEP },
  combine: () => ["once"],
});
