import type { Uuid } from "../base/ids.js";
import { offsetOf, type PageRequest } from "../base/page.js";
import { definePage } from "./counted-page.js";
import { defineStatement, defineWrite, inSizes } from "./statement.js";

export interface ApplicationKeyRow {
  readonly id: Uuid;
  readonly application_id: Uuid;
  readonly created_by: Uuid | null;
  readonly created_at: Date;
}

export interface NewApplicationKey {
  readonly id: Uuid;
  readonly application_id: Uuid;
  readonly key_hash: Buffer;
  /** Null if the tenant's keys are older than the sealing of application keys. */
  readonly proof: Buffer | null;
  readonly created_by: Uuid | null;
}

export const insertApplicationKey = defineWrite<NewApplicationKey>({
  table: "application_keys",
  sortKey: ({ id }) => id,
  queries: (sql, tenantId, inputs, at) =>
    inSizes(inputs, (piece) => {
      const rows = piece.map((input) => ({ tenant_id: tenantId, created_at: at, ...input }));
      return sql`insert into application_keys ${sql(rows)}`;
    }),
});

/** All keys of an application, oldest first. */
export const keysOfApplication = defineStatement<Uuid, readonly ApplicationKeyRow[], ApplicationKeyRow>({
  table: "application_keys",
  kind: "read",
  sortKey: (id) => id,
  queries: (sql, tenantId, applicationIds) => [
    sql`
      select id, application_id, created_by, created_at from application_keys
      where tenant_id = ${tenantId} and application_id = any(${[...applicationIds]}::uuid[])
      order by application_id, created_at, id`,
  ],
  answers: ([rows = []], applicationIds) => applicationIds.map((id) => rows.filter((row) => row.application_id === id)),
});

export interface ApplicationKeyListing extends PageRequest {
  readonly applicationId: Uuid;
}

/** A page, newest first. */
export const listApplicationKeyRows = definePage<ApplicationKeyListing, ApplicationKeyRow>({
  table: "application_keys",
  sortKey: ({ applicationId }) => applicationId,
  pair(sql, tenantId, listing) {
    const wanted = sql`tenant_id = ${tenantId} and application_id = ${listing.applicationId}`;
    return {
      total: sql`select count(*) as total from application_keys where ${wanted}`,
      rows: sql`
        select id, application_id, created_by, created_at from application_keys where ${wanted}
        order by created_at desc, id desc limit ${listing.size} offset ${offsetOf(listing)}`,
    };
  },
});

export interface KeyPlace {
  readonly applicationId: Uuid;
  readonly id: Uuid;
}

export const readApplicationKey = defineStatement<KeyPlace, ApplicationKeyRow | null, ApplicationKeyRow>({
  table: "application_keys",
  kind: "read",
  sortKey: ({ id }) => id,
  queries: (sql, tenantId, places) => [
    sql`
      select id, application_id, created_by, created_at from application_keys
      where tenant_id = ${tenantId} and id = any(${places.map(({ id }) => id)}::uuid[])`,
  ],
  answers: ([rows = []], places) =>
    places.map(
      ({ applicationId, id }) => rows.find((row) => row.id === id && row.application_id === applicationId) ?? null,
    ),
});

/** Returns whether the key existed. */
export const deleteApplicationKey = defineStatement<KeyPlace, boolean, unknown>({
  table: "application_keys",
  kind: "write",
  sortKey: ({ id }) => id,
  queries: (sql, tenantId, places) =>
    places.map(
      ({ applicationId, id }) => sql`
        delete from application_keys
        where tenant_id = ${tenantId} and application_id = ${applicationId} and id = ${id} returning 1`,
    ),
  answers: (rows) => rows.map(({ length }) => length > 0),
});
