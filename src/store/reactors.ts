import type { Uuid } from "../base/ids.js";
import { offsetOf } from "../base/page.js";
import { definePage } from "./counted-page.js";
import { type NamedListing, wantedRows } from "./named-listing.js";
import { defineStatement } from "./statement.js";

export interface ReactorRow {
  readonly id: Uuid;
  readonly name: string;
  readonly definition: Buffer;
  readonly application_id: Uuid | null;
  readonly formula_id: Uuid | null;
  readonly revision: number;
  readonly created_by: Uuid | null;
  readonly created_at: Date;
  readonly modified_by: Uuid | null;
  readonly modified_at: Date | null;
}

export type NewReactor = Pick<
  ReactorRow,
  "id" | "name" | "definition" | "application_id" | "formula_id" | "created_by"
>;

/** Answers once it is stored. */
export const insertReactor = defineStatement<NewReactor, boolean, unknown>({
  table: "reactors",
  kind: "write",
  sortKey: ({ id }) => id,
  queries: (sql, tenantId, inputs, at) =>
    inputs.map((input) => {
      const row = { tenant_id: tenantId, revision: 1, created_at: at, ...input };
      return sql`insert into reactors ${sql(row)}`;
    }),
  answers: (rows) => rows.map(() => true),
});

export const readReactor = defineStatement<Uuid, ReactorRow | null, ReactorRow>({
  table: "reactors",
  kind: "read",
  sortKey: (id) => id,
  queries: (sql, tenantId, ids) => [
    sql`
      select id, name, definition, application_id, formula_id, revision, created_by, created_at, modified_by, modified_at
      from reactors where tenant_id = ${tenantId} and id = any(${[...ids]}::uuid[])`,
  ],
  answers: ([rows = []], ids) => ids.map((id) => rows.find((row) => row.id === id) ?? null),
});

/** A page, newest first. */
export const listReactors = definePage<NamedListing, ReactorRow>({
  table: "reactors",
  sortKey: () => "",
  pair(sql, tenantId, listing) {
    const wanted = wantedRows(sql, tenantId, listing);
    return {
      total: sql`select count(*) as total from reactors where ${wanted}`,
      rows: sql`
        select id, name, definition, application_id, formula_id, revision, created_by, created_at, modified_by, modified_at
        from reactors where ${wanted}
        order by created_at desc, id desc limit ${listing.size} offset ${offsetOf(listing)}`,
    };
  },
});

export type ReactorChange = Pick<
  ReactorRow,
  "id" | "name" | "definition" | "application_id" | "formula_id" | "revision"
> & {
  readonly modified_by: Uuid;
};

/** Answers whether nobody changed the reactor since it was read. */
export const updateReactor = defineStatement<ReactorChange, boolean, unknown>({
  table: "reactors",
  kind: "write",
  sortKey: ({ id }) => id,
  queries: (sql, tenantId, changes, at) =>
    changes.map(
      ({ id, name, definition, application_id, formula_id, revision, modified_by }) => sql`
        update reactors set name = ${name}, definition = ${definition}, application_id = ${application_id},
          formula_id = ${formula_id}, modified_by = ${modified_by}, modified_at = ${at}, revision = revision + 1
        where tenant_id = ${tenantId} and id = ${id} and revision = ${revision} returning 1`,
    ),
  answers: (rows) => rows.map(({ length }) => length > 0),
});

/** Answers whether it was there. */
export const deleteReactorRow = defineStatement<Uuid, boolean, unknown>({
  table: "reactors",
  kind: "write",
  sortKey: (id) => id,
  queries: (sql, tenantId, ids) =>
    ids.map((id) => sql`delete from reactors where tenant_id = ${tenantId} and id = ${id} returning 1`),
  answers: (rows) => rows.map(({ length }) => length > 0),
});
