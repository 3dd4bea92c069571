import type { LogCoverage } from "../audit/search-log.js";
import type { TenantId } from "../base/ids.js";
import { parseIsoTime } from "../base/iso-time.js";
import type { LogRow } from "../store/audit/log-listing.js";
import type { CommandInput } from "./operator-command.js";
import { UsageError } from "./usage-error.js";

/** Options of every search of the log. */
export const SEARCH_OPTIONS = {
  tenant: { type: "string" },
  since: { type: "string" },
  until: { type: "string" },
  limit: { type: "string" },
} as const;

export const SEARCH_HELP = [
  "--tenant ID        this tenant alone",
  "--since TIME       from this time on: ISO 8601, or a time ago such as 90m, 24h or 7d",
  "--until TIME       before this time",
  "--limit N          rows of each tenant at most, up to 10000; 1000 unless given",
];

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

const UNITS: Readonly<Record<string, number>> = { m: 60_000, h: 60 * 60_000, d: 24 * 60 * 60_000 };

function readTime(name: string, given: string | boolean | undefined, now: Date): Date | undefined {
  if (given === undefined) return undefined;
  const text = String(given);
  const [, count, unit = ""] = /^(\d{1,5})([mhd])$/.exec(text) ?? [];
  const length = UNITS[unit];
  if (count !== undefined && length !== undefined) return new Date(now.getTime() - Number(count) * length);
  const time = parseIsoTime(text);
  if (time) return time;
  throw new UsageError(`--${name} must be an ISO 8601 time, or a time ago such as 90m, 24h or 7d.`);
}

/** A row as commands print it, without what it does not have. */
export function showRow(tenantId: TenantId, row: LogRow): Readonly<Record<string, unknown>> {
  const { created_at, entity_type, entity_id, id, actor_id, actor_type, operation, message, ...request } = row;
  const all = { actor_id, actor_type, ...request };
  return {
    ...{ tenant_id: tenantId, id, created_at: created_at.toISOString(), operation, entity_type, entity_id, message },
    ...Object.fromEntries(Object.entries(all).filter(([, value]) => value !== null)),
  };
}

/** What the rows of one tenant prove, as commands print it. */
export function showCoverage(
  tenantId: TenantId,
  { sealedUntil, lastSeal, isWhole, keptFrom }: LogCoverage,
  rows: readonly LogRow[],
): Readonly<Record<string, unknown>> {
  const sealed = sealedUntil ? rows.filter((row) => row.created_at < sealedUntil).length : 0;
  return {
    ...{ tenant_id: tenantId, rows: rows.length, sealed_rows: sealed },
    ...(sealedUntil ? { sealed_until: sealedUntil.toISOString(), last_seal: lastSeal } : {}),
    chain: isWhole ? "whole" : "tampered with",
    ...(keptFrom ? { kept_from: keptFrom.toISOString() } : {}),
    verify: `cloakroom audit verify --tenant ${tenantId}`,
  };
}
