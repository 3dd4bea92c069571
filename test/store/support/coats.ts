import type { TenantId } from "../../../src/base/ids.js";
import { defineStatement, defineWrite, inSizes } from "../../../src/store/statement.js";

/** The simplest thing that a tenant can store: a named row. `due` has room for it, and no other row has that time. */
export const HUNG_AT = new Date("2001-01-01T00:00:00Z");

const rowsOf = (tenantId: TenantId, names: readonly string[]) =>
  names.map((name) => ({ tenant_id: tenantId, kind: name, due_at: HUNG_AT }));

/** Fails with a unique violation if the name is taken. */
export const hangCoat = defineWrite<string>({
  table: "due",
  sortKey: (name) => name,
  queries: (sql, tenantId, names) => inSizes(names, (piece) => sql`insert into due ${sql(rowsOf(tenantId, piece))}`),
});

/** Returns whether the name was free. */
export const hangIfFree = defineStatement<string, boolean, { readonly kind: string }>({
  table: "due",
  kind: "write",
  sortKey: (name) => name,
  queries: (sql, tenantId, names) =>
    inSizes(
      names,
      (piece) => sql`insert into due ${sql(rowsOf(tenantId, piece))} on conflict do nothing returning kind`,
    ),
  answers(rows, names) {
    const hung = new Set(rows.flat().map(({ kind }) => kind));
    return names.map((name) => hung.delete(name));
  },
});

/** Returns whether a row of this name exists. */
export const seeCoat = defineStatement<string, boolean, { readonly kind: string }>({
  table: "due",
  kind: "read",
  sortKey: (name) => name,
  queries: (sql, tenantId, names) => [
    sql`select kind from due where tenant_id = ${tenantId} and kind = any(${[...names]}::text[])`,
  ],
  answers: ([rows = []], names) => names.map((name) => rows.some(({ kind }) => kind === name)),
});
