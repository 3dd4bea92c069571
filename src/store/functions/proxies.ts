import type { Uuid } from "../../base/ids.js";
import { offsetOf, type PageRequest } from "../../base/page.js";
import { definePage } from "../statements/counted-page.js";
import { defineNames } from "../statements/named-listing.js";
import { uuid } from "../statements/parameter.js";
import { byteaArray } from "../statements/parameters.js";
import { defineStatement, defineWrite } from "../statements/statement.js";
import { lockedRead } from "../transactions/row-lock.js";

export interface ProxyRow {
  readonly id: Uuid;
  readonly name: string;
  readonly label: Buffer | null;
  readonly definition: Buffer;
  readonly application_id: Uuid | null;
  readonly require_auth: boolean;
  readonly revision: number;
  readonly created_by: Uuid | null;
  readonly created_at: Date;
  readonly modified_by: Uuid | null;
  readonly modified_at: Date | null;
}

/** The columns that a caller decides on. */
export type ProxyColumns = Pick<ProxyRow, "id" | "name" | "label" | "definition" | "application_id" | "require_auth">;

export interface NewProxy extends ProxyColumns {
  readonly key_hash: Buffer;
  readonly created_by: Uuid | null;
}

const COLUMNS =
  "id, name, label, definition, application_id, require_auth, revision, created_by, created_at, modified_by, modified_at";

export const insertProxy = defineWrite<NewProxy>({
  table: "proxies",
  sortKey: ({ id }) => id,
  queries: (sql, tenantId, inputs, at) =>
    inputs.map((input) => {
      const row = { tenant_id: tenantId, revision: 1, created_at: at, ...input };
      return sql`insert into proxies ${sql(row)}`;
    }),
});

export const readProxy = defineStatement<Uuid, ProxyRow | null, ProxyRow>({
  table: "proxies",
  kind: "read",
  sortKey: (id) => id,
  queries: (sql, tenantId, ids) => [
    sql`
      select ${sql.unsafe(COLUMNS)} from proxies where tenant_id = ${tenantId} and id = any(${[...ids]}::uuid[])`,
  ],
  answers: ([rows = []], ids) => ids.map((id) => rows.find((row) => row.id === id) ?? null),
});

/** The same, locked until the transaction ends. */
export const lockProxy = lockedRead("proxies", { id: uuid((id: Uuid) => id) }, readProxy);

/** A proxy by its key's hash, with the tenant's revision and whether its settings allow ephemeral ones. */
export const findProxyByKey = defineStatement<
  Buffer,
  (ProxyRow & Guarded) | null,
  ProxyRow & Guarded & { readonly key_hash: Buffer }
>({
  table: "proxies",
  kind: "read",
  sortKey: (hash) => hash.toString("hex"),
  queries: (sql, tenantId, hashes) => [
    sql`
      select t.auth_revision, p.key_hash, p.id, p.name, p.label, p.definition, p.application_id, p.require_auth, p.revision,
        p.created_by, p.created_at, p.modified_by, p.modified_at
      from proxies p join tenants t on t.tenant_id = p.tenant_id and t.state = 'active'
      where p.tenant_id = ${tenantId} and p.key_hash = any(${byteaArray(sql, hashes)})`,
  ],
  answers: ([rows = []], hashes) => hashes.map((hash) => rows.find((row) => row.key_hash.equals(hash)) ?? null),
});

interface Guarded {
  readonly auth_revision: number;
}

export const namesOfProxies = defineNames("proxies");

export interface ProxyListing extends PageRequest {
  /** If not empty, lists only these. */
  readonly ids: readonly Uuid[];
}

/** A page, newest first. */
export const listProxyRows = definePage<ProxyListing, ProxyRow>({
  table: "proxies",
  sortKey: () => "",
  pair(sql, tenantId, listing) {
    const wanted = sql`
      tenant_id = ${tenantId} ${listing.ids.length > 0 ? sql`and id = any(${[...listing.ids]}::uuid[])` : sql``}`;
    return {
      total: sql`select count(*) as total from proxies where ${wanted}`,
      rows: sql`
        select ${sql.unsafe(COLUMNS)} from proxies where ${wanted}
        order by created_at desc, id desc limit ${listing.size} offset ${offsetOf(listing)}`,
    };
  },
});

export interface ProxyChange extends ProxyColumns {
  readonly revision: number;
  readonly modified_by: Uuid;
}

/** Returns whether the proxy was unchanged since it was read. */
export const updateProxy = defineStatement<ProxyChange, boolean, unknown>({
  table: "proxies",
  kind: "write",
  sortKey: ({ id }) => id,
  queries: (sql, tenantId, changes, at) =>
    changes.map(
      ({ id, name, label, definition, application_id, require_auth, revision, modified_by }) => sql`
        update proxies set name = ${name}, label = ${label}, definition = ${definition}, application_id = ${application_id},
          require_auth = ${require_auth}, modified_by = ${modified_by}, modified_at = ${at}, revision = revision + 1
        where tenant_id = ${tenantId} and id = ${id} and revision = ${revision} returning 1`,
    ),
  answers: (rows) => rows.map(({ length }) => length > 0),
});

/** Returns whether it existed. */
export const deleteProxyRow = defineStatement<Uuid, boolean, unknown>({
  table: "proxies",
  kind: "write",
  sortKey: (id) => id,
  queries: (sql, tenantId, ids) =>
    ids.map((id) => sql`delete from proxies where tenant_id = ${tenantId} and id = ${id} returning 1`),
  answers: (rows) => rows.map(({ length }) => length > 0),
});
