import type { Uuid } from "../../base/ids.js";
import { defineDueWork } from "../statements/due-work.js";
import { defineChange } from "../statements/row-statements.js";
import { defineWrite } from "../statements/statement.js";

export interface MessageRow {
  readonly id: Uuid;
  /**
   * What the message is about: an invitation at a revision, a sign-in request, a passkey that waits, or a
   * webhook that was disabled.
   */
  readonly invitation_id: Uuid | null;
  readonly invitation_revision: number | null;
  readonly sign_in_request_id: Uuid | null;
  readonly passkey_id: Uuid | null;
  readonly webhook_id: Uuid | null;
  readonly attempts: number;
  readonly claim: number;
}

export type NewMessage =
  | { readonly id: Uuid; readonly invitation_id: Uuid; readonly invitation_revision: number }
  | { readonly id: Uuid; readonly sign_in_request_id: Uuid }
  | { readonly id: Uuid; readonly passkey_id: Uuid }
  | { readonly id: Uuid; readonly webhook_id: Uuid };

/** Inserts a message to send at once. */
export const insertMessage = defineChange<NewMessage>("outbox", (sql, tenantId, input, at) => {
  const row = { tenant_id: tenantId, attempts: 0, claim: 0, due_at: at, created_at: at, ...input };
  return sql`insert into outbox ${sql(row)}`;
});

export const { claim: claimMessages, hasDue: hasMessagesDue } = defineDueWork<MessageRow>("outbox", {
  change: "claim = claim + 1",
  columns: "id, invitation_id, invitation_revision, sign_in_request_id, passkey_id, webhook_id, attempts, claim",
});

/** Releases a message until its next attempt, unless another replica has taken it since. */
export const postponeMessage = defineChange<Pick<MessageRow, "id" | "claim" | "attempts"> & { readonly due_at: Date }>(
  "outbox",
  (sql, tenantId, { id, claim, attempts, due_at }) => sql`
    update outbox set attempts = ${attempts}, due_at = ${due_at}, lease_until = null
    where tenant_id = ${tenantId} and id = ${id} and claim = ${claim}`,
);

/** Deletes a message that was sent, or never will be. */
export const deleteMessage = defineChange<Pick<MessageRow, "id" | "claim">>(
  "outbox",
  (sql, tenantId, { id, claim }) =>
    sql`delete from outbox where tenant_id = ${tenantId} and id = ${id} and claim = ${claim}`,
);

export const deleteInvitationMessages = defineWrite<Uuid>({
  table: "outbox",
  comesFirst: true,
  queries: (sql, tenantId, invitationIds) => [
    sql`delete from outbox where tenant_id = ${tenantId} and invitation_id = any(${[...invitationIds]}::uuid[])`,
  ],
});
