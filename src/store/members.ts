import type { Uuid } from "../base/ids.js";
import { defineWrite, inSizes } from "./statement.js";

export interface NewMember {
  readonly id: Uuid;
  readonly user_id: Uuid;
  readonly role: string;
  readonly profile: Buffer;
  readonly email_term: Buffer;
  readonly created_by: Uuid | null;
}

export const insertMember = defineWrite<NewMember>({
  table: "members",
  sortKey: ({ id }) => id,
  queries: (sql, tenantId, inputs, at) =>
    inSizes(inputs, (piece) => {
      const rows = piece.map((input) => ({ tenant_id: tenantId, created_at: at, ...input }));
      return sql`insert into members ${sql(rows)}`;
    }),
});
