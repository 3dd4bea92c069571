import type { TenantId } from "../../base/ids.js";
import type { LogFilter, LogPosition, LogRow } from "../../store/audit/log-listing.js";
import { OPERATOR_CONTEXT } from "../audit-context.js";
import { isOwnEntry, readChain } from "../chain/chain.js";
import { sealedUntil } from "../chain/next-seals.js";
import { ANY_ENTITY_ID } from "../log-entry.js";
import { openTenant, type TenantParts } from "../tenant-database.js";
import { findLogRows, type SearchBounds } from "./find-log-rows.js";

const PAGE = 500;

export interface LogQueryResult {
  /** Newest first. */
  readonly rows: readonly LogRow[];
  /** Older rows match too, and were left off. */
  readonly hasMore: boolean;
  readonly coverage: LogCoverage;
}

export interface LogCoverage {
  /** Rows before this time are sealed: a later change shows in a verification. Absent if nothing is sealed yet. */
  readonly sealedUntil: Date | undefined;
  readonly lastSeal: number | undefined;
  /** The head of the chain was made by this vault and is that of its last seal. */
  readonly isWhole: boolean;
  /** Rows before this time were removed after their retention. */
  readonly keptFrom: Date | undefined;
}

export interface LogSearch {
  readonly filter: LogFilter;
  readonly isWanted: (row: LogRow) => boolean;
  /** Rows at most. */
  readonly limit: number;
  /** Fixed words for the log's own row about the search. */
  readonly remark: string;
  /** How many rows one transaction compares with the filter. */
  readonly bounds?: SearchBounds;
}

/**
 * Reads rows of a tenant's log for the operator. The log gets a row about it, as about every access to it
 * (PCI DSS 10.2.1.3), unless nothing was found.
 */
export async function searchLog(
  parts: TenantParts,
  tenantId: TenantId,
  { filter, isWanted, limit, remark, bounds }: LogSearch,
): Promise<LogQueryResult> {
  const tenant = await openTenant(parts, tenantId);
  const coverage = await tenant.bulk(async (tx): Promise<LogCoverage> => {
    const { last, head, isWhole } = await readChain(tx);
    return {
      sealedUntil: last && sealedUntil(last),
      lastSeal: last?.number,
      isWhole: isWhole && head !== undefined && (!last || isOwnEntry(tenant.keys, last)),
      keptFrom: head?.keptFrom,
    };
  });
  const rows: LogRow[] = [];
  let after: LogPosition | undefined;
  do {
    const listing = { ...filter, after, offset: 0, limit: PAGE };
    const found = await tenant.bulk((tx) => findLogRows(tx, listing, bounds));
    rows.push(...found.rows.filter(isWanted));
    const last = found.rows.at(-1);
    const isFull = last !== undefined && found.rows.length === PAGE;
    after = isFull ? { createdAt: last.created_at, id: last.id } : found.endedAt;
  } while (after && rows.length <= limit);
  if (rows.length > 0) {
    await tenant.bulk(async (tx) => tx.log("log", ANY_ENTITY_ID, "read", { remark, context: OPERATOR_CONTEXT }));
  }
  return { rows: rows.slice(0, limit), hasMore: rows.length > limit, coverage };
}
