import { boundWrite } from "../statements/bound-statement.js";
import { bytes, text, time } from "../statements/parameter.js";

export interface TermRow {
  readonly term: Buffer;
  readonly created_at: Date;
  readonly token_id: string;
}

const PARAMETERS = {
  term: bytes<TermRow>(({ term }) => term),
  created_at: time<TermRow>(({ created_at }) => created_at),
  token_id: text<TermRow>(({ token_id }) => token_id),
};

function sortKey({ term, token_id }: TermRow): string {
  return `${term.toString("latin1")} ${token_id}`;
}

export const insertTerm = boundWrite<TermRow>({
  table: "token_terms",
  sql: `
    insert into token_terms (tenant_id, term, created_at, token_id)
    values {(:tenant, :term, :created_at, :token_id)}`,
  parameters: PARAMETERS,
  sortKey,
});

/** The token determines the whole key, so no index by token is needed. */
export const deleteTerm = boundWrite<TermRow>({
  table: "token_terms",
  sql: `
    delete from token_terms
    where tenant_id = :tenant and term = :term and created_at = :created_at and token_id = :token_id`,
  parameters: PARAMETERS,
  sortKey,
});
