import type { Uuid } from "../../base/ids.js";
import type { JsonObject } from "../../base/json.js";
import { offsetOf, type PageRequest } from "../../base/page.js";
import { definePage } from "../statements/counted-page.js";
import { defineStatement, defineWrite } from "../statements/statement.js";

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

export const insertApplication = defineWrite<NewApplication>({
  table: "applications",
  sortKey: ({ id }) => id,
  queries: (sql, tenantId, inputs, at) =>
    inputs.map(
      ({ id, name, type, permissions, rules, definition, created_by }) => sql`
        insert into applications (tenant_id, id, name, type, permissions, rules, definition, created_by, created_at)
        values (${tenantId}, ${id}, ${name}, ${type}, ${[...permissions]}::text[], ${sql.json([...rules])},
          ${definition}, ${created_by}, ${at})`,
    ),
});

export const readApplication = defineStatement<Uuid, ApplicationRow | null, ApplicationRow>({
  table: "applications",
  kind: "read",
  sortKey: (id) => id,
  queries: (sql, tenantId, ids) => [
    sql`
      select id, name, type, permissions, rules, definition, created_by, created_at, modified_by, modified_at
      from applications where tenant_id = ${tenantId} and id = any(${[...ids]}::uuid[])`,
  ],
  answers: ([rows = []], ids) => ids.map((id) => rows.find((row) => row.id === id) ?? null),
});

export interface ApplicationListing extends PageRequest {
  /** If not empty, lists only these. */
  readonly ids: readonly string[];
  readonly types: readonly string[];
}

/** A page, newest first. */
export const listApplicationRows = definePage<ApplicationListing, ApplicationRow>({
  table: "applications",
  sortKey: () => "",
  pair(sql, tenantId, listing) {
    const wanted = sql`
      tenant_id = ${tenantId}
      ${listing.ids.length > 0 ? sql`and id = any(${[...listing.ids]}::uuid[])` : sql``}
      ${listing.types.length > 0 ? sql`and type = any(${[...listing.types]}::text[])` : sql``}`;
    return {
      total: sql`select count(*) as total from applications where ${wanted}`,
      rows: sql`
        select id, name, type, permissions, rules, definition, created_by, created_at, modified_by, modified_at
        from applications where ${wanted}
        order by created_at desc, id desc limit ${listing.size} offset ${offsetOf(listing)}`,
    };
  },
});

export interface ApplicationChange extends RightsColumns {
  readonly id: Uuid;
  readonly modified_by: Uuid;
}

export const updateApplication = defineWrite<ApplicationChange>({
  table: "applications",
  sortKey: ({ id }) => id,
  queries: (sql, tenantId, inputs, at) =>
    inputs.map(
      ({ id, name, permissions, rules, definition, modified_by }) => sql`
        update applications set name = ${name}, permissions = ${[...permissions]}::text[],
          rules = ${sql.json([...rules])}, definition = ${definition}, modified_by = ${modified_by}, modified_at = ${at}
        where tenant_id = ${tenantId} and id = ${id}`,
    ),
});

/** Deletes an application together with its keys. Returns whether it existed. */
export const deleteApplication = defineStatement<Uuid, boolean, { readonly id: Uuid }>({
  table: "applications",
  kind: "write",
  sortKey: (id) => id,
  queries: (sql, tenantId, ids) =>
    ids.map((id) => sql`delete from applications where tenant_id = ${tenantId} and id = ${id} returning id`),
  answers: (rows) => rows.map(({ length }) => length > 0),
});
