import type { LogCoverage } from "../audit/follow/search-log.js";
import { type LogChange, readChanges } from "../audit/log-changes.js";
import type { TenantId } from "../base/ids.js";
import type { LogRow } from "../store/audit/log-listing.js";
import type { CommandInput } from "./operator-command.js";
import { readTime } from "./time-argument.js";
import { UsageError } from "./usage-error.js";

const DEFAULT_LIMIT = 1_000;
const MAX_LIMIT = 10_000;

export interface Window {
  readonly from: Date | undefined;
  readonly until: Date | undefined;
  readonly limit: number;
}

/** @throws {UsageError} */
export function readWindow(options: CommandInput["options"], now: Date, defaultSince?: string): Window {
  const limit = options.limit === undefined ? DEFAULT_LIMIT : Number(options.limit);
  if (!Number.isInteger(limit) || limit < 1 || limit > MAX_LIMIT) {
    throw new UsageError(`--limit must be a whole number from 1 to ${MAX_LIMIT}.`);
  }
  return {
    from: readTime("since", options.since ?? defaultSince, now),
    until: readTime("until", options.until, now),
    limit,
  };
}

export interface FoundRow {
  readonly tenantId: TenantId;
  readonly row: LogRow;
}

/** A row as commands print it, without what it does not have. */
export function showRow({ tenantId, row }: FoundRow): Readonly<Record<string, unknown>> {
  const { created_at, entity_type, entity_id, id, operation, message, changes, ...request } = row;
  return {
    tenant_id: tenantId,
    id,
    created_at: created_at.toISOString(),
    operation,
    entity_type,
    entity_id,
    message,
    ...Object.fromEntries(Object.entries(request).filter(([, value]) => value !== null)),
    ...(changes === null ? {} : { changes: readChanges(changes).map(showChange) }),
  };
}

export function showCoverage(
  tenantId: TenantId,
  { sealedUntil, lastSeal, isWhole, keptFrom }: LogCoverage,
  rows: readonly LogRow[],
): Readonly<Record<string, unknown>> {
  const sealed = sealedUntil ? rows.filter((row) => row.created_at < sealedUntil).length : 0;
  return {
    tenant_id: tenantId,
    rows: rows.length,
    sealed_rows: sealed,
    ...(sealedUntil ? { sealed_until: sealedUntil.toISOString(), last_seal: lastSeal } : {}),
    chain: isWhole ? "whole" : "tampered with",
    ...(keptFrom ? { kept_from: keptFrom.toISOString() } : {}),
    verify: `cloakroom audit verify --tenant ${tenantId}`,
  };
}

function showChange({ field, before, after, isTruncated }: LogChange) {
  return { field, before, after, ...(isTruncated ? { truncated: true } : {}) };
}
