import type { Uuid } from "../../base/ids.js";
import type { PageRequest } from "../../base/page.js";
import { defineList, isAnyOf, type RowBytes } from "../statements/counted-page.js";
import { defineNames } from "../statements/named-listing.js";
import { uuid } from "../statements/parameter.js";
import { defineDelete, defineHasRow, defineRead } from "../statements/row-statements.js";
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

/** A list shows the formula of each reactor too. */
const bytesOf: RowBytes = (sql, tenantId) => sql`
  octet_length(definition) + coalesce((
    select octet_length(f.definition) from reactor_formulas f
    where f.tenant_id = ${tenantId} and f.id = reactors.formula_id
  ), 0)`;

/** Returns once it is stored. */
export const insertReactor = defineHasRow<NewReactor>(
  "write",
  "reactors",
  (sql, tenantId, row, at) => sql`
    insert into reactors ${sql({ tenant_id: tenantId, revision: 1, created_at: at, ...row })} returning 1`,
);

export const readReactor = defineRead<ReactorRow>("reactors", COLUMNS);

/** The same, locked until the transaction ends. */
export const lockReactor = lockedRead("reactors", { id: uuid((id: Uuid) => id) }, readReactor);

export const namesOfReactors = defineNames("reactors", bytesOf);

export interface ReactorListing extends PageRequest {
  /** If not empty, lists only these. */
  readonly ids: readonly Uuid[];
}

/** A page, newest first. */
export const listReactorRows = defineList<ReactorListing, ReactorRow>(
  "reactors",
  COLUMNS,
  (sql, listing) => isAnyOf(sql, "id", listing.ids),
  bytesOf,
);

export type ReactorChange = ReactorColumns & Pick<ReactorRow, "revision"> & { readonly modified_by: Uuid };

/** Returns whether the reactor was unchanged since it was read. */
export const updateReactorRow = defineHasRow<ReactorChange>(
  "write",
  "reactors",
  (sql, tenantId, { id, name, label, definition, application_id, formula_id, revision, modified_by }, at) => sql`
    update reactors set name = ${name}, label = ${label}, definition = ${definition}, application_id = ${application_id},
      formula_id = ${formula_id}, modified_by = ${modified_by}, modified_at = ${at}, revision = revision + 1
    where tenant_id = ${tenantId} and id = ${id} and revision = ${revision} returning 1`,
);

/** Returns whether it existed. */
export const deleteReactorRow = defineDelete("reactors");
