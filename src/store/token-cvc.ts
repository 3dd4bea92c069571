import { defineRemoval } from "./removal.js";
import { defineWrite, inSizes } from "./statement.js";

export interface CvcRow {
  readonly token_id: string;
  readonly code: Buffer;
  readonly due_at: Date;
}

/** Stores a card verification code, in place of an earlier one of the token. */
export const putCvc = defineWrite<CvcRow>({
  table: "token_cvc",
  sortKey: ({ token_id }) => token_id,
  queries(sql, tenantId, codes) {
    return inSizes(codes, (piece) => {
      const rows = piece.map((code) => ({ tenant_id: tenantId, ...code }));
      return sql`
        insert into token_cvc ${sql(rows)}
        on conflict (tenant_id, token_id) do update set code = excluded.code, due_at = excluded.due_at`;
    });
  },
});

export const deleteCvc = defineWrite<string>({
  table: "token_cvc",
  comesFirst: true,
  sortKey: (id) => id,
  queries: (sql, tenantId, ids) => [
    sql`delete from token_cvc where tenant_id = ${tenantId} and token_id = any(${[...ids]}::text[])`,
  ],
});

/** Deletes the codes whose hour is over. */
export const deleteDueCvc = defineRemoval("token_cvc", "due_at");
