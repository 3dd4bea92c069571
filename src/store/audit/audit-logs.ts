import { MINUTE_MS } from "../../base/clock.js";
import type { Uuid } from "../../base/ids.js";
import { scheduleDue } from "../jobs/due.js";
import { writeEvent } from "../jobs/webhook-events.js";
import { boundWrite } from "../statements/bound-statement.js";
import { inet, text, uuid } from "../statements/parameter.js";
import { defineHasRow } from "../statements/row-statements.js";
import type { Transaction } from "../transactions/transaction.js";

export interface LoggedActor {
  readonly id: Uuid;
  readonly type: string;
  readonly keyId: Uuid | undefined;
}

export interface LoggedRequest {
  /** The client's address or its network, without a prefix length. */
  readonly address: string | undefined;
  /** A class of clients, such as `curl`. */
  readonly client: string | undefined;
  readonly traceId: Uuid | undefined;
  /** The caller's words, checked. */
  readonly reason: string | undefined;
  readonly via: { readonly type: string; readonly id: Uuid | undefined } | undefined;
  /** The host to which values go. */
  readonly destinationHost: string | undefined;
}

export interface LogRowDraft {
  readonly id: Uuid;
  readonly actor: LoggedActor | undefined;
  readonly context: LoggedRequest;
  readonly entityType: string;
  readonly entityId: string;
  readonly operation: string;
  readonly message: string;
  readonly outcome: string;
  /** The error code of an outcome other than `allowed`. */
  readonly code: string | undefined;
  readonly transform: string | undefined;
  /** What the operation changed, as JSON. */
  readonly changes: string | undefined;
  /** The type of the event that webhooks get of it. */
  readonly event: string | undefined;
}

export type LoggedBy = Pick<LogRowDraft, "actor" | "context">;

/** Parameters of a statement that writes log rows, with the names of their columns. */
export const LOGGED_REQUEST = {
  actor_id: uuid<LoggedBy>(({ actor }) => actor?.id ?? null),
  actor_type: text<LoggedBy>(({ actor }) => actor?.type ?? null),
  key_id: uuid<LoggedBy>(({ actor }) => actor?.keyId ?? null),
  source_ip: inet<LoggedBy>(({ context }) => context.address ?? null),
  client: text<LoggedBy>(({ context }) => context.client ?? null),
  trace_id: uuid<LoggedBy>(({ context }) => context.traceId ?? null),
  destination_host: text<LoggedBy>(({ context }) => context.destinationHost ?? null),
  via_type: text<LoggedBy>(({ context }) => context.via?.type ?? null),
  via_id: uuid<LoggedBy>(({ context }) => context.via?.id ?? null),
  reason: text<LoggedBy>(({ context }) => context.reason ?? null),
};

const REQUEST_COLUMNS = Object.keys(LOGGED_REQUEST).join(", ");

const INSERT_LOG_ROW = boundWrite<LogRowDraft>({
  table: "audit_logs",
  isAtCommit: true,
  sql: `
    insert into audit_logs (
      tenant_id, created_at, id, entity_type, entity_id, operation, message, outcome, code, transform, changes,
      ${REQUEST_COLUMNS}
    )
    values {(
      :tenant, :now, :id, :entity_type, :entity_id, :operation, :message, :outcome, :code, :transform, :changes,
      :actor_id, :actor_type, :key_id, :source_ip, :client, :trace_id, :destination_host, :via_type, :via_id, :reason
    )}`,
  parameters: {
    ...LOGGED_REQUEST,
    id: uuid(({ id }) => id),
    entity_type: text(({ entityType }) => entityType),
    entity_id: text(({ entityId }) => entityId),
    operation: text(({ operation }) => operation),
    message: text(({ message }) => message),
    outcome: text(({ outcome }) => outcome),
    code: text(({ code }) => code ?? null),
    transform: text(({ transform }) => transform ?? null),
    changes: text(({ changes }) => changes ?? null),
  },
});

/**
 * Fails in a closed minute. Otherwise it keeps the minute open until the transaction ends, because closing locks the
 * same row for update. It comes last, to hold the lock for little more than the commit. ln(0) raises an error that no
 * other statement raises.
 */
const REQUIRE_OPEN_MINUTE = boundWrite<"once">({
  table: "audit_logs",
  isAtCommit: true,
  position: "last",
  sql: `
    select ln((audit_closed_until is null or audit_closed_until <= :now)::int) from tenants
    where tenant_id = :tenant for key share`,
  combine: () => ["once"],
});

export const hasLogRows = defineHasRow<{ readonly from: Date; readonly until: Date }>(
  "audit_logs",
  (sql, tenantId, { from, until }) => sql`
    select 1 from audit_logs where tenant_id = ${tenantId} and created_at >= ${from} and created_at < ${until} limit 1`,
);

/** Milliseconds from the start of a minute until it is sealed: the minute itself, and one for clocks that differ. */
export const SEALED_AFTER_MS = 2 * MINUTE_MS;

/**
 * Writes a log row in the transaction of its effect, and its event if one is given. The row is the marker of an unknown
 * commit, unless the request has set one.
 * @param content of its event, sealed.
 */
export function writeLog(tx: Transaction, draft: LogRowDraft, content?: Buffer): void {
  if (draft.event !== undefined && content) writeEvent(tx, { ...draft, event: draft.event, content });
  tx.enqueue(INSERT_LOG_ROW, draft);
  expectLogRows(tx);
  tx.markCommit({ createdAt: tx.now, id: draft.id });
}

/**
 * Writes a row of the vault's own log. Its chain seals each row by an entry of its own, in the same transaction: it has
 * no minutes.
 */
export function writeVaultLog(tx: Transaction, draft: LogRowDraft): void {
  tx.enqueue(INSERT_LOG_ROW, draft);
  tx.markCommit({ createdAt: tx.now, id: draft.id });
}

/**
 * Notes that the minute must be sealed. Every transaction that writes log rows calls this, whichever statement writes
 * them.
 */
export function expectLogRows(tx: Transaction): void {
  tx.enqueue(REQUIRE_OPEN_MINUTE, "once");
  tx.markLogged();
  if (tx.isFirstInMinute) scheduleDue(tx, { kind: "log_seal", at: new Date(tx.now.getTime() + SEALED_AFTER_MS) });
}
