import type { Uuid } from "../../base/ids.js";
import type { PageRequest } from "../../base/page.js";
import { AUTHORSHIP, type AuthorshipColumns } from "../statements/authorship.js";
import { defineList, matchesAny } from "../statements/counted-page.js";
import { defineNames } from "../statements/named-listing.js";
import { defineChange, defineDelete, defineInsert, defineRead } from "../statements/row-statements.js";
import { lockedById } from "../transactions/row-lock.js";

export interface RightsColumns {
  readonly type: string;
  /** Sealed: name, permissions, rules and pages. */
  readonly definition: Buffer;
}

export interface ApplicationRow extends RightsColumns, AuthorshipColumns {
  readonly id: Uuid;
}

export interface NewApplication extends RightsColumns {
  readonly id: Uuid;
  /** Sealed. */
  readonly name: Buffer;
  readonly created_by: Uuid | null;
}

const COLUMNS = `id, type, definition, ${AUTHORSHIP}`;

export const insertApplication = defineInsert<NewApplication>("applications");

export const readApplication = defineRead<ApplicationRow>("applications", COLUMNS);

export const lockApplication = lockedById("applications", readApplication);

/**
 * The same for code that acts as an application, which merely must stay as it is. It is shared: two changes of code take
 * their applications in any order.
 */
export const holdActingApplication = lockedById("applications", readApplication, "shared");

export const listApplicationNames = defineNames("applications", (sql) => sql`octet_length(definition)`);

export interface ApplicationListing extends PageRequest {
  /** If not empty, lists only these. */
  readonly ids: readonly string[];
  readonly types: readonly string[];
}

export const listApplicationRows = defineList<ApplicationListing, ApplicationRow>(
  "applications",
  COLUMNS,
  (sql, listing) => sql`${matchesAny(sql, "id", listing.ids)}
      ${listing.types.length > 0 ? sql`and type = any(${[...listing.types]}::text[])` : sql``}`,
  (sql) => sql`octet_length(definition)`,
);

export interface ApplicationChange extends RightsColumns {
  readonly id: Uuid;
  /** Sealed. */
  readonly name: Buffer;
  readonly modified_by: Uuid;
}

export const updateApplicationRow = defineChange<ApplicationChange>(
  "applications",
  (sql, tenantId, { id, name, definition, modified_by }, at) => sql`
    update applications set name = ${name}, definition = ${definition}, modified_by = ${modified_by}, modified_at = ${at}
    where tenant_id = ${tenantId} and id = ${id}`,
);

/** Deletes an application together with its keys. Returns whether it existed. */
export const deleteApplicationRow = defineDelete("applications");
