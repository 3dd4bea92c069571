import type { Uuid } from "../../base/ids.js";
import type { JsonObject } from "../../base/json.js";
import type { PageRequest } from "../../base/page.js";
import { defineList, isAnyOf } from "../statements/counted-page.js";
import { uuid } from "../statements/parameter.js";
import { defineChange, defineDelete, defineRead } from "../statements/row-statements.js";
import { lockedRead } from "../transactions/row-lock.js";

/** What an application may do: sealed, or in the clear if the tenant's keys are older than the sealing of rights. */
export interface RightsColumns {
  readonly type: string;
  readonly definition: Buffer | null;
  /** This and the other fields are empty if there is a definition. */
  readonly name: string;
  readonly permissions: readonly string[];
  readonly rules: readonly JsonObject[];
}

export interface ApplicationRow extends RightsColumns {
  readonly id: Uuid;
  readonly created_by: Uuid | null;
  readonly created_at: Date;
  readonly modified_by: Uuid | null;
  readonly modified_at: Date | null;
}

export interface NewApplication extends RightsColumns {
  readonly id: Uuid;
  readonly created_by: Uuid | null;
}

const COLUMNS = "id, name, type, permissions, rules, definition, created_by, created_at, modified_by, modified_at";

export const insertApplication = defineChange<NewApplication>(
  "applications",
  (sql, tenantId, { id, name, type, permissions, rules, definition, created_by }, at) => sql`
    insert into applications (tenant_id, id, name, type, permissions, rules, definition, created_by, created_at)
    values (${tenantId}, ${id}, ${name}, ${type}, ${[...permissions]}::text[], ${sql.json([...rules])},
      ${definition}, ${created_by}, ${at})`,
);

export const readApplication = defineRead<ApplicationRow>("applications", COLUMNS);

/** The same, locked until the transaction ends. */
export const lockApplication = lockedRead("applications", { id: uuid((id: Uuid) => id) }, readApplication);

export interface ApplicationListing extends PageRequest {
  /** If not empty, lists only these. */
  readonly ids: readonly string[];
  readonly types: readonly string[];
}

/** A page, newest first. */
export const listApplicationRows = defineList<ApplicationListing, ApplicationRow>(
  "applications",
  COLUMNS,
  (sql, listing) => sql`${isAnyOf(sql, "id", listing.ids)}
      ${listing.types.length > 0 ? sql`and type = any(${[...listing.types]}::text[])` : sql``}`,
  (sql) => sql`coalesce(octet_length(definition), 0)`,
);

export interface ApplicationChange extends RightsColumns {
  readonly id: Uuid;
  readonly modified_by: Uuid;
}

export const updateApplicationRow = defineChange<ApplicationChange>(
  "applications",
  (sql, tenantId, { id, name, permissions, rules, definition, modified_by }, at) => sql`
    update applications set name = ${name}, permissions = ${[...permissions]}::text[],
      rules = ${sql.json([...rules])}, definition = ${definition}, modified_by = ${modified_by}, modified_at = ${at}
    where tenant_id = ${tenantId} and id = ${id}`,
);

/** Deletes an application together with its keys. Returns whether it existed. */
export const deleteApplicationRow = defineDelete("applications");
