import { defineWrite, inSizes } from "./statement.js";

/** One thing a token is found by, blinded. */
export interface TermRow {
  readonly term: Buffer;
  readonly created_at: Date;
  readonly token_id: string;
}

export const insertTerm = defineWrite<TermRow>({
  table: "token_terms",
  sortKey: ({ term, token_id }) => `${term.toString("latin1")} ${token_id}`,
  queries(sql, tenantId, terms) {
    return inSizes(terms, (piece) => {
      const rows = piece.map((term) => ({ tenant_id: tenantId, ...term }));
      return sql`insert into token_terms ${sql(rows)}`;
    });
  },
});

/** The whole key is known from the token, so that no index by token is needed. */
export const deleteTerm = defineWrite<TermRow>({
  table: "token_terms",
  sortKey: ({ term, token_id }) => `${term.toString("latin1")} ${token_id}`,
  queries: (sql, tenantId, terms) =>
    terms.map(
      ({ term, created_at, token_id }) => sql`
        delete from token_terms
        where tenant_id = ${tenantId} and term = ${term} and created_at = ${created_at} and token_id = ${token_id}`,
    ),
});
