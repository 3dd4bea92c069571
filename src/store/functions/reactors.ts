import type { Uuid } from "../../base/ids.js";
import { offsetOf, type PageRequest } from "../../base/page.js";
import { definePage } from "../statements/counted-page.js";
import { defineNames } from "../statements/named-listing.js";
import { uuid } from "../statements/parameter.js";
import { defineStatement } from "../statements/statement.js";
import { lockedRead } from "../transactions/row-lock.js";

export interface ReactorRow {
  readonly id: Uuid;
  readonly name: string;
  readonly label: Buffer | null;
  readonly definition: Buffer;
  readonly application_id: Uuid | null;
  readonly formula_id: Uuid | null;
  readonly revision: number;
  readonly created_by: Uuid | null;
  readonly created_at: Date;
  readonly modified_by: Uuid | null;
  readonly modified_at: Date | null;
}

/** The columns that a caller decides on. */
export type ReactorColumns = Pick<ReactorRow, "id" | "name" | "label" | "definition" | "application_id" | "formula_id">;

export type NewReactor = ReactorColumns & Pick<ReactorRow, "created_by">;

const COLUMNS =
  "id, name, label, definition, application_id, formula_id, revision, created_by, created_at, modified_by, modified_at";

/** Returns once it is stored. */
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
      select ${sql.unsafe(COLUMNS)} from reactors where tenant_id = ${tenantId} and id = any(${[...ids]}::uuid[])`,
  ],
  answers: ([rows = []], ids) => ids.map((id) => rows.find((row) => row.id === id) ?? null),
});

/** The same, locked until the transaction ends. */
export const lockReactor = lockedRead("reactors", { id: uuid((id: Uuid) => id) }, readReactor);

export const namesOfReactors = defineNames("reactors");

export interface ReactorListing extends PageRequest {
  /** If not empty, lists only these. */
  readonly ids: readonly Uuid[];
}

/** A page, newest first. */
export const listReactorRows = definePage<ReactorListing, ReactorRow>({
  table: "reactors",
  sortKey: () => "",
  pair(sql, tenantId, listing) {
    const wanted = sql`
      tenant_id = ${tenantId} ${listing.ids.length > 0 ? sql`and id = any(${[...listing.ids]}::uuid[])` : sql``}`;
    return {
      total: sql`select count(*) as total from reactors where ${wanted}`,
      rows: sql`
        select ${sql.unsafe(COLUMNS)} from reactors where ${wanted}
        order by created_at desc, id desc limit ${listing.size} offset ${offsetOf(listing)}`,
    };
  },
});

export type ReactorChange = ReactorColumns & Pick<ReactorRow, "revision"> & { readonly modified_by: Uuid };

/** Returns whether the reactor was unchanged since it was read. */
export const updateReactor = defineStatement<ReactorChange, boolean, unknown>({
  table: "reactors",
  kind: "write",
  sortKey: ({ id }) => id,
  queries: (sql, tenantId, changes, at) =>
    changes.map(
      ({ id, name, label, definition, application_id, formula_id, revision, modified_by }) => sql`
        update reactors set name = ${name}, label = ${label}, definition = ${definition}, application_id = ${application_id},
          formula_id = ${formula_id}, modified_by = ${modified_by}, modified_at = ${at}, revision = revision + 1
        where tenant_id = ${tenantId} and id = ${id} and revision = ${revision} returning 1`,
    ),
  answers: (rows) => rows.map(({ length }) => length > 0),
});

/** Returns whether it existed. */
export const deleteReactorRow = defineStatement<Uuid, boolean, unknown>({
  table: "reactors",
  kind: "write",
  sortKey: (id) => id,
  queries: (sql, tenantId, ids) =>
    ids.map((id) => sql`delete from reactors where tenant_id = ${tenantId} and id = ${id} returning 1`),
  answers: (rows) => rows.map(({ length }) => length > 0),
});
