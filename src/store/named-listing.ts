import type { TenantId, Uuid } from "../base/ids.js";
import type { PageRequest } from "../base/page.js";
import { likePattern } from "./parameters.js";
import type { SqlTag, SqlText } from "./sql-text.js";

/** A page of what has a name: proxies, reactors. */
export interface NamedListing extends PageRequest {
  /** None: whatever their ids are. */
  readonly ids: readonly Uuid[];
  /** Without case; `*` stands for any text. */
  readonly name: string | undefined;
}

/** The condition on a tenant's rows that a listing asks for. */
export function wantedRows(sql: SqlTag, tenantId: TenantId, { ids, name }: NamedListing): SqlText {
  return sql`
    tenant_id = ${tenantId}
    ${ids.length > 0 ? sql`and id = any(${[...ids]}::uuid[])` : sql``}
    ${name === undefined ? sql`` : sql`and name ilike ${likePattern(name)}`}`;
}
