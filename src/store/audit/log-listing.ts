import type { TenantId, Uuid } from "../../base/ids.js";
import { defineCount, defineForEach, defineRows } from "../statements/row-statements.js";
import type { SqlTag } from "../statements/statement.js";

export interface LogRow {
  readonly id: Uuid;
  readonly created_at: Date;
  readonly actor_id: Uuid | null;
  readonly actor_type: string | null;
  readonly entity_type: string;
  readonly entity_id: string;
  readonly operation: string;
  readonly message: string;
  readonly key_id: Uuid | null;
  readonly source_ip: string | null;
  readonly client: string | null;
  readonly trace_id: Uuid | null;
  readonly outcome: string | null;
  readonly code: string | null;
  readonly transform: string | null;
  readonly destination_host: string | null;
  readonly via_type: string | null;
  readonly via_id: Uuid | null;
  readonly reason: string | null;
  /** JSON. */
  readonly changes: string | null;
}

export interface LogFilter {
  readonly entityTypes?: readonly string[] | undefined;
  readonly entityId?: string | undefined;
  /** created_at greater than or equal to this. */
  readonly from?: Date | undefined;
  /** created_at less than this. */
  readonly until?: Date | undefined;
  readonly actorId?: Uuid | undefined;
  readonly keyId?: Uuid | undefined;
  readonly outcome?: string | undefined;
  readonly operation?: string | undefined;
  readonly transform?: string | undefined;
  readonly traceId?: Uuid | undefined;
  readonly destinationHost?: string | undefined;
  /** An address, or a network with its prefix length. */
  readonly sourceIp?: string | undefined;
  readonly client?: string | undefined;
  readonly code?: string | undefined;
  readonly viaId?: Uuid | undefined;
  readonly hasReason?: boolean | undefined;
  readonly actorType?: string | undefined;
  readonly viaType?: string | undefined;
  readonly id?: Uuid | undefined;
}

/** The position of a row in the order of the log. */
export interface LogPosition {
  readonly createdAt: Date;
  readonly id: string;
}

export interface LogListing extends LogFilter {
  readonly after: LogPosition | undefined;
  /** This row and newer ones. Absent: no limit. */
  readonly last?: LogPosition | undefined;
  readonly offset: number;
  readonly limit: number;
}

/** Entity types that have many rows: no index holds them apart. The first schema has the same list. */
const FREQUENT_TYPES = [
  ...(["token", "bank", "card", "card_number", "employer_id_number", "social_security_number"] as const),
  ...(["us_bank_account_number", "us_bank_routing_number", "proxy", "reactor", "session"] as const),
] as const;

/** Whether an index holds the rows of each of these types together. */
export function areRareTypes(entityTypes: readonly string[]): boolean {
  return !entityTypes.some((type) => FREQUENT_TYPES.some((frequent) => frequent === type));
}

/** The literal condition of the index of rare types, which serves no parameter. */
export const IS_RARE_TYPE = `entity_type not in (${FREQUENT_TYPES.map((type) => `'${type}'`).join(", ")})`;

/** Compares the hash of tenant and entity, which the index holds, and the entity. */
function ofEntity(sql: SqlTag, tenantId: TenantId, entityId: string) {
  return sql`
    and l.entity_hash = hashtextextended(${entityId}::text collate "C", uuid_hash_extended(${tenantId}::uuid, 0))
    and l.entity_id = ${entityId}`;
}

/**
 * The conditions of a filter besides its entity types.
 * A refused outcome has its literal condition too: the partial index serves no parameter.
 */
function filterConditions(sql: SqlTag, tenantId: TenantId, filter: LogFilter) {
  const { entityId, from, until, actorId, keyId, outcome, operation, transform } = filter;
  const { traceId, destinationHost, sourceIp, client, code, viaId, hasReason, actorType, viaType, id } = filter;
  const isRefused = outcome !== undefined && outcome !== "allowed";
  return sql`
    ${entityId === undefined ? sql`` : ofEntity(sql, tenantId, entityId)}
    ${from ? sql`and l.created_at >= ${from}` : sql``}
    ${until ? sql`and l.created_at < ${until}` : sql``}
    ${actorId === undefined ? sql`` : sql`and l.actor_id = ${actorId}`}
    ${keyId === undefined ? sql`` : sql`and l.key_id = ${keyId}`}
    ${isRefused ? sql`and l.outcome <> 'allowed'` : sql``}
    ${outcome === undefined ? sql`` : sql`and l.outcome = ${outcome}`}
    ${operation === undefined ? sql`` : sql`and l.operation = ${operation}`}
    ${transform === undefined ? sql`` : sql`and l.transform = ${transform}`}
    ${traceId === undefined ? sql`` : sql`and l.trace_id = ${traceId}`}
    ${destinationHost === undefined ? sql`` : sql`and l.destination_host = ${destinationHost}`}
    ${sourceIp === undefined ? sql`` : sql`and l.source_ip <<= ${sourceIp}::text::inet`}
    ${client === undefined ? sql`` : sql`and l.client = ${client}`}
    ${code === undefined ? sql`` : sql`and l.code = ${code}`}
    ${viaId === undefined ? sql`` : sql`and l.via_id = ${viaId}`}
    ${hasReason === undefined ? sql`` : sql`and (l.reason is not null) = ${hasReason}`}
    ${actorType === undefined ? sql`` : sql`and l.actor_type = ${actorType}`}
    ${viaType === undefined ? sql`` : sql`and l.via_type = ${viaType}`}
    ${id === undefined ? sql`` : sql`and l.id = ${id}`}`;
}

/** The columns of a {@link LogRow} `l`. */
export const LOG_COLUMNS = `
  l.id, l.created_at, l.actor_id, l.actor_type, l.entity_type, l.entity_id, l.operation, l.message, l.key_id,
  host(l.source_ip) as source_ip, l.client, l.trace_id, l.outcome, l.code, l.transform, l.destination_host, l.via_type,
  l.via_id, l.reason, l.changes`;

/** The rows `l` of a list from its start to its last one, of whatever type. */
function listedRows(sql: SqlTag, tenantId: TenantId, listing: LogListing) {
  const { entityTypes, after, last, offset: _offset, limit: _limit, ...filter } = listing;
  const isRare = entityTypes !== undefined && areRareTypes(entityTypes);
  return sql`
    from audit_logs l
    where l.tenant_id = ${tenantId} ${filterConditions(sql, tenantId, filter)}
      ${isRare ? sql.unsafe(`and l.${IS_RARE_TYPE}`) : sql``}
      ${after ? sql`and (l.created_at, l.id) < (${after.createdAt}, ${after.id}::uuid)` : sql``}
      ${last ? sql`and (l.created_at, l.id) >= (${last.createdAt}, ${last.id}::uuid)` : sql``}`;
}

/** The number of rows of a list, whatever its page. */
export const countLogRows = defineCount<LogListing>("audit_logs", (sql, tenantId, listing) => {
  const { entityTypes } = listing;
  const ofTypes = entityTypes === undefined ? sql`` : sql`and l.entity_type = any(${[...entityTypes]})`;
  return sql`select count(*)::int as n ${listedRows(sql, tenantId, listing)} ${ofTypes}`;
});

/** Newest first. Filters that can match old rows only have an index that ends in (created_at, id), which avoids a sort. */
export const listLogRows = defineRows<LogListing, LogRow>("audit_logs", (sql, tenantId, listing) => {
  const { entityId, entityTypes, last, offset, limit } = listing;
  const columns = sql.unsafe(LOG_COLUMNS);
  const matching = listedRows(sql, tenantId, listing);
  const newestFirst = sql`order by l.created_at desc, l.id desc`;
  const page = sql`limit ${limit} offset ${offset}`;
  if (entityTypes === undefined) return sql`select ${columns} ${matching} ${newestFirst} ${page}`;
  const [only] = entityTypes;
  if (entityTypes.length === 1) {
    return sql`select ${columns} ${matching} and l.entity_type = ${only ?? ""} ${newestFirst} ${page}`;
  }
  if (entityId !== undefined || last !== undefined) {
    return sql`select ${columns} ${matching} and l.entity_type = any(${[...entityTypes]}) ${newestFirst} ${page}`;
  }
  // Merges the newest rows of each type. One scan for several types follows no index order and would sort all their
  // rows.
  return sql`
    select l.* from unnest(${[...entityTypes]}::text[]) wanted (entity_type)
    cross join lateral (
      select ${columns} ${matching} and l.entity_type = wanted.entity_type collate "C"
      ${newestFirst} limit ${offset + limit}
    ) l
    ${newestFirst} ${page}`;
});

/** Rows that one index holds together: those of one value of one field, or all, in a range of time. */
export interface LogIndexRange {
  readonly by: Pick<LogFilter, "entityId" | "actorId" | "keyId" | "destinationHost"> & {
    readonly entityType?: string | undefined;
    readonly isRefused?: boolean;
  };
  readonly from: Date | undefined;
  readonly until: Date | undefined;
  readonly after: LogPosition | undefined;
  readonly rows: number;
}

/** The id of a position before all rows of its time. */
export const BEFORE_ROWS = "00000000-0000-0000-0000-000000000000";

/**
 * The position of about the last of a number of rows, newest first: it has all rows of that row's time. Null if there are
 * fewer. It reads the index alone where it can, which has no ids.
 */
export const endOfIndexRange = defineForEach<LogIndexRange, LogPosition | null, Pick<LogPosition, "createdAt">>(
  "read",
  "audit_logs",
  (sql, tenantId, { by: { entityType, isRefused, ...by }, from, until, after, rows }) => sql`
    select l.created_at as "createdAt" from audit_logs l
    where l.tenant_id = ${tenantId} ${filterConditions(sql, tenantId, { ...by, from, until })}
      ${entityType === undefined ? sql`` : sql`and l.entity_type = ${entityType} and l.${sql.unsafe(IS_RARE_TYPE)}`}
      ${isRefused ? sql`and l.outcome <> 'allowed'` : sql``}
      ${after?.id === BEFORE_ROWS ? sql`and l.created_at < ${after.createdAt}` : sql``}
      ${after && after.id !== BEFORE_ROWS ? sql`and l.created_at <= ${after.createdAt}` : sql``}
    order by l.created_at desc limit 1 offset ${rows - 1}`,
  ([row]) => (row ? { createdAt: row.createdAt, id: BEFORE_ROWS } : null),
);
