import type { Uuid } from "../../base/ids.js";
import { AUTHORSHIP, type AuthorshipColumns } from "../statements/authorship.js";
import { amongIds, defineList, type IdListing, type RowBytes } from "../statements/counted-page.js";
import { defineNames } from "../statements/named-listing.js";
import { defineDelete, defineHasWritten, defineRead, defineUpdate } from "../statements/row-statements.js";
import { lockedById } from "../transactions/row-lock.js";

export interface ReactorRow extends AuthorshipColumns {
  readonly id: Uuid;
  /** Sealed. */
  readonly name: Buffer;
  readonly definition: Buffer;
  readonly application_id: Uuid | null;
  readonly formula_id: Uuid | null;
  readonly revision: number;
}

export type ReactorColumns = Pick<ReactorRow, "id" | "name" | "definition" | "application_id" | "formula_id">;

export type NewReactor = ReactorColumns & Pick<ReactorRow, "created_by">;

const COLUMNS = `id, name, definition, application_id, formula_id, revision, ${AUTHORSHIP}`;

/** A list shows the formula of each reactor too. */
const ROW_BYTES: RowBytes = (sql, tenantId) => sql`
  octet_length(definition) + coalesce((
    select octet_length(f.definition) from reactor_formulas f
    where f.tenant_id = ${tenantId} and f.id = reactors.formula_id
  ), 0)`;

/** Returns once it is stored. */
export const insertReactor = defineHasWritten<NewReactor>(
  "reactors",
  (sql, tenantId, row, at) => sql`
    insert into reactors ${sql({ tenant_id: tenantId, revision: 1, created_at: at, ...row })} returning 1`,
);

export const readReactor = defineRead<ReactorRow>("reactors", COLUMNS);

export const lockReactor = lockedById("reactors", readReactor);

export const namesOfReactors = defineNames("reactors", ROW_BYTES);

export const listReactorRows = defineList<IdListing, ReactorRow>("reactors", COLUMNS, amongIds, ROW_BYTES);

export type ReactorChange = ReactorColumns & Pick<ReactorRow, "revision"> & { readonly modified_by: Uuid };

export const updateReactorRow = defineUpdate<ReactorChange>("reactors");

export const deleteReactorRow = defineDelete("reactors");
