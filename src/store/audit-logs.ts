import type { Uuid } from "../base/ids.js";
import { defineStatement, inSizes } from "./statement.js";
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

const insertLogRow = defineStatement<LogRowDraft, never>({
  table: "audit_logs",
  kind: "write",
  sortKey: ({ id }) => id,
  run(sql, tenantId, drafts, at) {
    return inSizes(drafts, (piece) => {
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
  },
});

/** Writes a log row in the transaction of what it tells about. An unknown commit is looked up by it. */
export function writeLog(tx: Transaction, draft: LogRowDraft): void {
  tx.tell(insertLogRow, draft);
  tx.witness({ createdAt: tx.now, id: draft.id });
}
