import { boundWrite } from "../statements/bound-statement.js";
import { bytes, text, time } from "../statements/parameter.js";
import { defineRemoval } from "../statements/removal.js";

export interface CvcRow {
  readonly token_id: string;
  readonly code: Buffer;
  readonly due_at: Date;
}

/** Stores a card verification code, and replaces an earlier one of the token. */
export const upsertCvc = boundWrite<CvcRow>({
  table: "token_cvc",
  sql: `
    insert into token_cvc (tenant_id, token_id, code, due_at)
    values {(:tenant, :token_id, :code, :due_at)}
    on conflict (tenant_id, token_id) do update set code = excluded.code, due_at = excluded.due_at`,
  parameters: {
    token_id: text(({ token_id }) => token_id),
    code: bytes(({ code }) => code),
    due_at: time(({ due_at }) => due_at),
  },
  sortKey: ({ token_id }) => token_id,
});

export const deleteCvc = boundWrite<string>({
  table: "token_cvc",
  position: "first",
  sql: "delete from token_cvc where tenant_id = :tenant and token_id = :token_id",
  parameters: { token_id: text((id) => id) },
});

export const deleteDueCvc = defineRemoval("token_cvc", "due_at");
