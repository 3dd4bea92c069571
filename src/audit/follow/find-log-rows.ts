import {
  areRareTypes,
  countLogRows,
  endOfIndexRange,
  type LogFilter,
  type LogIndexRange,
  type LogListing,
  type LogPosition,
  type LogRow,
  listLogRows,
} from "../../store/audit/log-listing.js";
import type { Transaction } from "../../store/transactions/transaction.js";

/** How many rows one request compares with a filter that no index serves alone. */
export interface SearchBounds {
  /** Rows of one statement, which may take 2 s: 1.28 million took 0.46 s in memory and 2.2 s from a disk. */
  readonly rows: number;
  /** Statements of one request. */
  readonly ranges: number;
}

export const SEARCH_BOUNDS: SearchBounds = { rows: 100_000, ranges: 10 };
/** Rows of the first range: where many rows match, the page is full after them. */
const FIRST_ROWS = 1_000;

export interface FoundRows {
  readonly rows: readonly LogRow[];
  /** The search ended here before the page was full. Older rows were not compared. */
  readonly endedAt: LogPosition | undefined;
}

/**
 * Lists rows newest first. A filter of one field follows its index. With several fields, one index gives rows to compare
 * with the others: range by range, up to a bound, because none of millions may match.
 */
export async function findLogRows(
  tx: Pick<Transaction, "query">,
  listing: LogListing,
  bounds = SEARCH_BOUNDS,
): Promise<FoundRows> {
  const by = comparedBy(listing);
  if (!by) return { rows: await tx.query(listLogRows, listing), endedAt: undefined };
  const { from, until, limit } = listing;
  const rows: LogRow[] = [];
  let { after, offset } = listing;
  for (let range = 0; range < bounds.ranges; range += 1) {
    const size = range === 0 ? Math.min(FIRST_ROWS, bounds.rows) : bounds.rows;
    const end = await tx.query(endOfIndexRange, { by, from, until, after, rows: size });
    const part = { ...listing, after, last: end ?? undefined, offset, limit: limit - rows.length };
    const found = await tx.query(listLogRows, part);
    rows.push(...found);
    if (!end || rows.length === limit) return { rows, endedAt: undefined };
    // Rows before the page are counted and not read: a page of a number may have a million of them.
    if (found.length > 0) offset = 0;
    else if (offset > 0) offset -= await tx.query(countLogRows, part);
    after = end;
  }
  return { rows, endedAt: after };
}

/** The field whose index gives the rows to compare; undefined if the filter needs no comparison. */
function comparedBy(filter: LogFilter): LogIndexRange["by"] | undefined {
  const { entityId, destinationHost, outcome, keyId, actorId, entityTypes } = filter;
  const { from: _from, until: _until, entityTypes: _types, ...others } = filter;
  const given = FIELDS.filter((field) => others[field] !== undefined);
  const isRefused = outcome !== undefined && outcome !== "allowed";
  const [field, ...more] = given;
  const isAlone = field === undefined || (more.length === 0 && SERVED.has(field));
  // The published filter of an entity with its type is served by the entity's index.
  const areTypesServed = entityTypes === undefined || field === "entityId" || (!field && areRareTypes(entityTypes));
  if (isAlone && areTypesServed) return undefined;
  if (entityId !== undefined) return { entityId };
  if (isRefused) return { isRefused };
  if (destinationHost !== undefined) return { destinationHost };
  if (keyId !== undefined) return { keyId };
  if (actorId !== undefined) return { actorId };
  return entityTypes?.length === 1 && areRareTypes(entityTypes) ? { entityType: entityTypes[0] } : {};
}

const FIELDS = [
  ...(["entityId", "actorId", "keyId", "outcome", "operation", "transform"] as const),
  ...(["traceId", "destinationHost", "sourceIp", "client", "code", "viaId", "hasReason"] as const),
  ...(["actorType", "viaType", "id"] as const),
];
/** Fields with an index for their values. The one for refused outcomes holds denied and failed rows. */
const SERVED: ReadonlySet<(typeof FIELDS)[number]> = new Set(["entityId", "actorId", "keyId", "destinationHost"]);
