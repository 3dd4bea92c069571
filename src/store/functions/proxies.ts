import type { Uuid } from "../../base/ids.js";
import { AUTHORSHIP, type AuthorshipColumns } from "../statements/authorship.js";
import { amongIds, defineList, type IdListing, type RowBytes } from "../statements/counted-page.js";
import { defineNames } from "../statements/named-listing.js";
import { byteaArray } from "../statements/parameters.js";
import { defineDelete, defineInsert, defineRead, defineUpdate } from "../statements/row-statements.js";
import { defineStatement } from "../statements/statement.js";
import { lockedById } from "../transactions/row-lock.js";

export interface ProxyRow extends AuthorshipColumns {
  readonly id: Uuid;
  /** Sealed. */
  readonly name: Buffer;
  readonly definition: Buffer;
  readonly application_id: Uuid | null;
  readonly require_auth: boolean;
  readonly revision: number;
}

export type ProxyColumns = Pick<ProxyRow, "id" | "name" | "definition" | "application_id" | "require_auth">;

export interface NewProxy extends ProxyColumns {
  readonly key_hash: Buffer;
  readonly created_by: Uuid | null;
}

const COLUMNS = `id, name, definition, application_id, require_auth, revision, ${AUTHORSHIP}`;

const ROW_BYTES: RowBytes = (sql) => sql`octet_length(definition)`;

export const insertProxy = defineInsert<NewProxy>("proxies", { revision: 1 });

export const readProxy = defineRead<ProxyRow>("proxies", COLUMNS);

export const lockProxy = lockedById("proxies", readProxy);

/** A proxy by its key's hash, with the tenant's revision and whether its settings allow ephemeral ones. */
export const findProxyByKey = defineStatement<
  Buffer,
  (ProxyRow & Guarded) | null,
  ProxyRow & Guarded & { readonly key_hash: Buffer }
>({
  table: "proxies",
  kind: "read",
  queries: (sql, tenantId, hashes) => [
    sql`
      select t.auth_revision, p.key_hash, p.id, p.name, p.definition, p.application_id, p.require_auth, p.revision,
        p.created_by, p.created_at, p.modified_by, p.modified_at
      from proxies p join tenants t on t.tenant_id = p.tenant_id and t.state = 'active'
      where p.tenant_id = ${tenantId} and p.key_hash = any(${byteaArray(sql, hashes)})`,
  ],
  outputs: ([rows = []], hashes) => hashes.map((hash) => rows.find((row) => row.key_hash.equals(hash)) ?? null),
});

interface Guarded {
  readonly auth_revision: number;
}

export const namesOfProxies = defineNames("proxies", ROW_BYTES);

export const listProxyRows = defineList<IdListing, ProxyRow>("proxies", COLUMNS, amongIds, ROW_BYTES);

export interface ProxyChange extends ProxyColumns {
  readonly revision: number;
  readonly modified_by: Uuid;
}

export const updateProxyRow = defineUpdate<ProxyChange>("proxies");

export const deleteProxyRow = defineDelete("proxies");
