import type { Uuid } from "../../base/ids.js";
import type { PageRequest } from "../../base/page.js";
import { defineList, isAnyOf, type RowBytes } from "../statements/counted-page.js";
import { defineNames } from "../statements/named-listing.js";
import { uuid } from "../statements/parameter.js";
import { byteaArray } from "../statements/parameters.js";
import { defineDelete, defineHasRow, defineInsert, defineRead } from "../statements/row-statements.js";
import { defineStatement } from "../statements/statement.js";
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

const bytesOf: RowBytes = (sql) => sql`octet_length(definition)`;

export const insertProxy = defineInsert<NewProxy>("proxies", { revision: 1 });

export const readProxy = defineRead<ProxyRow>("proxies", COLUMNS);

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
  outputs: ([rows = []], hashes) => hashes.map((hash) => rows.find((row) => row.key_hash.equals(hash)) ?? null),
});

interface Guarded {
  readonly auth_revision: number;
}

export const namesOfProxies = defineNames("proxies", bytesOf);

export interface ProxyListing extends PageRequest {
  /** If not empty, lists only these. */
  readonly ids: readonly Uuid[];
}

/** A page, newest first. */
export const listProxyRows = defineList<ProxyListing, ProxyRow>(
  "proxies",
  COLUMNS,
  (sql, listing) => isAnyOf(sql, "id", listing.ids),
  bytesOf,
);

export interface ProxyChange extends ProxyColumns {
  readonly revision: number;
  readonly modified_by: Uuid;
}

/** Returns whether the proxy was unchanged since it was read. */
export const updateProxyRow = defineHasRow<ProxyChange>(
  "write",
  "proxies",
  (sql, tenantId, { id, name, label, definition, application_id, require_auth, revision, modified_by }, at) => sql`
    update proxies set name = ${name}, label = ${label}, definition = ${definition}, application_id = ${application_id},
      require_auth = ${require_auth}, modified_by = ${modified_by}, modified_at = ${at}, revision = revision + 1
    where tenant_id = ${tenantId} and id = ${id} and revision = ${revision} returning 1`,
);

/** Returns whether it existed. */
export const deleteProxyRow = defineDelete("proxies");
