import type { TenantId } from "../../base/ids.js";
import { defineStatement } from "../statements/statement.js";
import type { Expired } from "./token-selection.js";

/** Each key is compared with all of these ids: 100,000 keys with 100 ids take 0.1 s, the same as that many look-ups. */
const FEW_EXPIRED = 100;

/** Usually few, because a sweep runs every quarter of a minute. Many if a batch of tokens expires at once. */
export const findExpired = defineStatement<TenantId, Expired, ExpiredRow>({
  table: "tokens",
  kind: "read",
  queries: (sql, tenantId, _inputs, at) => [
    sql`
      select id, ${at}::timestamptz as at from tokens
      where tenant_id = ${tenantId} and expires_at <= ${at} order by expires_at limit ${FEW_EXPIRED + 1}`,
  ],
  outputs: ([rows = []], inputs) => inputs.map(() => expiredOf(rows)),
});

interface ExpiredRow {
  readonly id: string;
  readonly at: Date;
}

function expiredOf(rows: readonly ExpiredRow[]): Expired {
  const [first] = rows;
  return first && rows.length > FEW_EXPIRED
    ? { kind: "many", at: first.at }
    : { kind: "few", ids: rows.map(({ id }) => id) };
}
