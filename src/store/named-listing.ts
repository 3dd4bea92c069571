import type { PendingQuery, Row } from "postgres";
import type { TenantId, Uuid } from "../base/ids.js";
import type { PageRequest } from "../base/page.js";
import type { Sql } from "./connect.js";
import { likePattern } from "./parameters.js";

/** A page of what has a name: proxies, reactors. */
export interface NamedListing extends PageRequest {
  /** None: whatever their ids are. */
  readonly ids: readonly Uuid[];
  /** Without case; `*` stands for any text. */
  readonly name: string | undefined;
}

/** The condition on a tenant's rows that a listing asks for. */
export function wantedRows(sql: Sql, tenantId: TenantId, { ids, name }: NamedListing): PendingQuery<Row[]> {
  return sql`
    tenant_id = ${tenantId}
    ${ids.length > 0 ? sql`and id = any(${[...ids]}::uuid[])` : sql``}
    ${name === undefined ? sql`` : sql`and name ilike ${likePattern(name)}`}`;
}
