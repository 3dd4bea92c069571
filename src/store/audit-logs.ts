import type { Uuid } from "../base/ids.js";
import { MINUTE_MS, noteDue } from "./due.js";
import { defineStatement, defineWrite, inSizes, type Query } from "./statement.js";
import type { Transaction } from "./transaction.js";

/** A log row to write. Its time is that of the flight. */
export interface LogRowDraft {
  readonly id: Uuid;
  readonly actor: { readonly id: Uuid; readonly type: string } | undefined;
  readonly entityType: string;
  readonly entityId: string;
  readonly operation: string;
  readonly message: string;
}

const insertLogRow = defineWrite<LogRowDraft>({
  table: "audit_logs",
  sortKey: ({ id }) => id,
  queries(sql, tenantId, drafts, at) {
    const inserts: Query<unknown>[] = inSizes(drafts, (piece) => {
      const rows = piece.map(({ id, actor, entityType, entityId, operation, message }) => ({
        tenant_id: tenantId,
        created_at: at,
        id,
        actor_id: actor?.id ?? null,
        actor_type: actor?.type ?? null,
        entity_type: entityType,
        entity_id: entityId,
        operation,
        message,
      }));
      return sql`insert into audit_logs ${sql(rows)}`;
    });
    // Fails in a minute that is closed, and from here to its end keeps this one open: closing asks for the same row for
    // update. It comes last since the lock is then held for little more than the commit. ln(0) is an error of its own.
    const isOpen = sql`
      select ln((audit_closed_until is null or audit_closed_until <= ${at})::int) from tenants
      where tenant_id = ${tenantId} for key share`;
    return [...inserts, isOpen];
  },
});

/** Milliseconds from the start of a minute until it is sealed: the minute itself, and one for clocks that differ. */
export const SEALED_AFTER_MS = 2 * MINUTE_MS;

/** Writes a log row in the transaction of what it tells about. An unknown commit is looked up by it. */
export function writeLog(tx: Transaction, draft: LogRowDraft): void {
  tx.tell(insertLogRow, draft);
  if (tx.isFirstInMinute) tx.tell(noteDue, { kind: "log_seal", at: new Date(tx.now.getTime() + SEALED_AFTER_MS) });
  tx.markCommit({ createdAt: tx.now, id: draft.id });
}

export interface LogRow {
  readonly id: Uuid;
  readonly created_at: Date;
  readonly actor_id: Uuid | null;
  readonly actor_type: string | null;
  readonly entity_type: string;
  readonly entity_id: string;
  readonly operation: string;
  readonly message: string;
}

export interface LogListing {
  readonly entityType: string | undefined;
  readonly entityId: string | undefined;
  /** created_at greater than or equal. */
  readonly from: Date | undefined;
  /** created_at less than. */
  readonly until: Date | undefined;
  /** Rows older than this one. */
  readonly after: { readonly createdAt: Date; readonly id: string } | undefined;
  readonly offset: number;
  readonly limit: number;
}

/** Newest first. Every filter has an index that ends in (created_at, id), so that no page sorts. */
export const listLogRows = defineStatement<LogListing, readonly LogRow[], LogRow>({
  table: "audit_logs",
  kind: "read",
  sortKey: () => "",
  queries: (sql, tenantId, listings) =>
    listings.map(
      ({ entityType, entityId, from, until, after, offset, limit }) => sql`
          select id, created_at, actor_id, actor_type, entity_type, entity_id, operation, message
          from audit_logs
          where tenant_id = ${tenantId}
            ${entityType === undefined ? sql`` : sql`and entity_type = ${entityType}`}
            ${entityId === undefined ? sql`` : sql`and entity_id = ${entityId}`}
            ${from ? sql`and created_at >= ${from}` : sql``}
            ${until ? sql`and created_at < ${until}` : sql``}
            ${after ? sql`and (created_at, id) < (${after.createdAt}, ${after.id}::uuid)` : sql``}
          order by created_at desc, id desc
          limit ${limit} offset ${offset}`,
    ),
  answers: (rows) => rows,
});
