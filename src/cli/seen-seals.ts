import { readFile } from "node:fs/promises";
import type { SeenSeal } from "../audit/verify/verify-log.js";
import { isTenantId, type TenantId, VAULT_TENANT_ID } from "../base/ids.js";
import { UsageError } from "./usage-error.js";

/** The content of an earlier `audit verify --json`. */
export interface EarlierResult {
  /**
   * Its tenants with their last seals, or undefined before the first seal. Tenants reported as gone are omitted: each
   * is reported once.
   */
  readonly tenants: ReadonlyMap<TenantId, SeenSeal | undefined>;
  /** Its latest minute: an older tenant that it does not name was gone by then. */
  readonly until: Date;
}

/**
 * Parses an earlier result of `audit verify --json`.
 * @throws {UsageError} if the file is something else.
 */
export async function readSeenSeals(path: string): Promise<EarlierResult> {
  const text = await readFile(path, "utf8").catch(() => {
    throw new UsageError(`--since ${path} cannot be read.`);
  });
  const tenants = new Map<TenantId, SeenSeal | undefined>();
  for (const entry of parseList(text, path)) {
    if (!isObject(entry) || typeof entry.tenant_id !== "string" || !isTenantId(entry.tenant_id)) throw notAResult(path);
    if (!wasGone(entry) && entry.tenant_id !== VAULT_TENANT_ID)
      tenants.set(entry.tenant_id, readSeal(entry.last_seal, path));
  }
  const times = [...tenants.values()].map((seal) => seal?.minute.getTime() ?? 0);
  return { tenants, until: new Date(times.reduce((latest, time) => Math.max(latest, time), 0)) };
}

function readSeal(last: unknown, path: string): SeenSeal | undefined {
  if (last === undefined) return undefined;
  if (!isObject(last) || typeof last.number !== "number" || typeof last.mac !== "string") throw notAResult(path);
  const minute = new Date(typeof last.minute === "string" ? last.minute : Number.NaN);
  if (Number.isNaN(minute.getTime())) throw notAResult(path);
  return { number: last.number, mac: last.mac, minute };
}

function wasGone({ findings }: Readonly<Record<string, unknown>>): boolean {
  return Array.isArray(findings) && findings.some((finding) => isObject(finding) && finding.kind === "tenant_gone");
}

function parseList(text: string, path: string): readonly unknown[] {
  try {
    const parsed: unknown = JSON.parse(text);
    if (Array.isArray(parsed)) return parsed;
  } catch {
    // Reported below.
  }
  throw notAResult(path);
}

function notAResult(path: string): UsageError {
  return new UsageError(`--since ${path} is not what audit verify --json prints.`);
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
