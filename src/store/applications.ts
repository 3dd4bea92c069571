import type { Uuid } from "../base/ids.js";
import type { JsonObject } from "../base/json.js";
import { offsetOf, type Page, type PageRequest } from "../base/page.js";
import { defineStatement } from "./statement.js";

export interface ApplicationRow {
  readonly id: Uuid;
  readonly name: string;
  readonly type: string;
  readonly permissions: string[];
  readonly rules: JsonObject[];
  readonly created_by: Uuid | null;
  readonly created_at: Date;
  readonly modified_by: Uuid | null;
  readonly modified_at: Date | null;
}

export interface NewApplication {
  readonly id: Uuid;
  readonly name: string;
  readonly type: string;
  readonly permissions: readonly string[];
  readonly rules: readonly JsonObject[];
  readonly created_by: Uuid | null;
}

export const insertApplication = defineStatement<NewApplication, never>({
  table: "applications",
  kind: "write",
  sortKey: ({ id }) => id,
  async run(sql, tenantId, inputs, at) {
    await Promise.all(
      inputs.map(
        ({ id, name, type, permissions, rules, created_by }) => sql`
          insert into applications (tenant_id, id, name, type, permissions, rules, created_by, created_at)
          values (${tenantId}, ${id}, ${name}, ${type}, ${sql.array([...permissions])}, ${sql.json([...rules])}, ${created_by}, ${at})`,
      ),
    );
    return [];
  },
});

export const readApplication = defineStatement<Uuid, ApplicationRow | null>({
  table: "applications",
  kind: "read",
  sortKey: (id) => id,
  async run(sql, tenantId, ids) {
    const rows = await sql<ApplicationRow[]>`
      select id, name, type, permissions, rules, created_by, created_at, modified_by, modified_at
      from applications where tenant_id = ${tenantId} and id = any(${[...ids]}::uuid[])`;
    const byId = new Map(rows.map((row) => [row.id, row]));
    return ids.map((id) => byId.get(id) ?? null);
  },
});

export interface ApplicationListing extends PageRequest {
  /** Only these, where any are given. */
  readonly ids: readonly string[];
  readonly types: readonly string[];
}

/** A page, newest first. */
export const listApplications = defineStatement<ApplicationListing, Page<ApplicationRow>>({
  table: "applications",
  kind: "read",
  sortKey: () => "",
  run(sql, tenantId, inputs) {
    return Promise.all(
      inputs.map(async (listing) => {
        const wanted = sql`
          tenant_id = ${tenantId}
          ${listing.ids.length > 0 ? sql`and id = any(${[...listing.ids]}::uuid[])` : sql``}
          ${listing.types.length > 0 ? sql`and type = any(${[...listing.types]}::text[])` : sql``}`;
        const [[count], items] = await Promise.all([
          sql<{ n: number }[]>`select count(*) as n from applications where ${wanted}`,
          sql<ApplicationRow[]>`
            select id, name, type, permissions, rules, created_by, created_at, modified_by, modified_at
            from applications where ${wanted}
            order by created_at desc, id desc limit ${listing.size} offset ${offsetOf(listing)}`,
        ]);
        return { items, total: count?.n ?? 0 };
      }),
    );
  },
});

export interface ApplicationChange {
  readonly id: Uuid;
  readonly name: string;
  readonly permissions: readonly string[];
  readonly rules: readonly JsonObject[];
  readonly modified_by: Uuid;
}

export const updateApplication = defineStatement<ApplicationChange, never>({
  table: "applications",
  kind: "write",
  sortKey: ({ id }) => id,
  async run(sql, tenantId, inputs, at) {
    await Promise.all(
      inputs.map(
        ({ id, name, permissions, rules, modified_by }) => sql`
          update applications set name = ${name}, permissions = ${sql.array([...permissions])},
            rules = ${sql.json([...rules])}, modified_by = ${modified_by}, modified_at = ${at}
          where tenant_id = ${tenantId} and id = ${id}`,
      ),
    );
    return [];
  },
});

/** Deletes an application together with its keys. Answers whether it was there. */
export const deleteApplication = defineStatement<Uuid, boolean>({
  table: "applications",
  kind: "write",
  sortKey: (id) => id,
  async run(sql, tenantId, ids) {
    const rows = await sql<{ id: Uuid }[]>`
      delete from applications where tenant_id = ${tenantId} and id = any(${[...ids]}::uuid[]) returning id`;
    return ids.map((id) => rows.some((row) => row.id === id));
  },
});
