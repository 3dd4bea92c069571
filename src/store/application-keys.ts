import type { Uuid } from "../base/ids.js";
import { offsetOf, type Page, type PageRequest } from "../base/page.js";
import { defineStatement } from "./statement.js";

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
  readonly created_by: Uuid | null;
}

export const insertApplicationKey = defineStatement<NewApplicationKey, never>({
  table: "application_keys",
  kind: "write",
  sortKey: ({ id }) => id,
  async run(sql, tenantId, inputs, at) {
    const rows = inputs.map((input) => ({ tenant_id: tenantId, created_at: at, ...input }));
    await sql`insert into application_keys ${sql(rows)}`;
    return [];
  },
});

/** All keys of an application, oldest first. */
export const keysOfApplication = defineStatement<Uuid, readonly ApplicationKeyRow[]>({
  table: "application_keys",
  kind: "read",
  sortKey: (id) => id,
  async run(sql, tenantId, applicationIds) {
    const rows = await sql<ApplicationKeyRow[]>`
      select id, application_id, created_by, created_at from application_keys
      where tenant_id = ${tenantId} and application_id = any(${[...applicationIds]}::uuid[])
      order by application_id, created_at, id`;
    return applicationIds.map((applicationId) => rows.filter((row) => row.application_id === applicationId));
  },
});

export interface ApplicationKeyListing extends PageRequest {
  readonly applicationId: Uuid;
}

/** A page, newest first. */
export const listApplicationKeys = defineStatement<ApplicationKeyListing, Page<ApplicationKeyRow>>({
  table: "application_keys",
  kind: "read",
  sortKey: ({ applicationId }) => applicationId,
  run(sql, tenantId, inputs) {
    return Promise.all(
      inputs.map(async (listing) => {
        const [[count], items] = await Promise.all([
          sql<{ n: number }[]>`
            select count(*) as n from application_keys
            where tenant_id = ${tenantId} and application_id = ${listing.applicationId}`,
          sql<ApplicationKeyRow[]>`
            select id, application_id, created_by, created_at from application_keys
            where tenant_id = ${tenantId} and application_id = ${listing.applicationId}
            order by created_at desc, id desc limit ${listing.size} offset ${offsetOf(listing)}`,
        ]);
        return { items, total: count?.n ?? 0 };
      }),
    );
  },
});

export interface KeyPlace {
  readonly applicationId: Uuid;
  readonly id: Uuid;
}

export const readApplicationKey = defineStatement<KeyPlace, ApplicationKeyRow | null>({
  table: "application_keys",
  kind: "read",
  sortKey: ({ id }) => id,
  async run(sql, tenantId, places) {
    const rows = await sql<ApplicationKeyRow[]>`
      select id, application_id, created_by, created_at from application_keys
      where tenant_id = ${tenantId} and id = any(${places.map(({ id }) => id)}::uuid[])`;
    return places.map(
      ({ applicationId, id }) => rows.find((row) => row.id === id && row.application_id === applicationId) ?? null,
    );
  },
});

/** Answers whether the key was there. */
export const deleteApplicationKey = defineStatement<KeyPlace, boolean>({
  table: "application_keys",
  kind: "write",
  sortKey: ({ id }) => id,
  run(sql, tenantId, places) {
    return Promise.all(
      places.map(async ({ applicationId, id }) => {
        const rows = await sql`
          delete from application_keys
          where tenant_id = ${tenantId} and application_id = ${applicationId} and id = ${id} returning 1`;
        return rows.length > 0;
      }),
    );
  },
});
