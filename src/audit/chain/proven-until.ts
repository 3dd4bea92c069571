import { MINUTE_MS } from "../../base/clock.js";
import type { TenantId } from "../../base/ids.js";
import type { TenantKeys } from "../../crypto/tenant-keys.js";
import { closeLog } from "../../store/audit/audit-seals.js";
import type { LogSnapshot } from "../../store/audit/log-snapshot.js";
import { isOwnEntry, verifiedHead } from "./chain.js";
import { minuteStart } from "./minute-counts.js";
import { sealedUntil } from "./next-seals.js";
import { type SealParts, sealClosed } from "./seal-log.js";

/** Of several processes that seal the same minutes at once, one finishes. */
const TRIES = 3;

/** The latest minute that may be closed at a time: the one before the last, because clocks differ. */
export function lastClosable(now: Date): Date {
  return new Date(Math.floor(now.getTime() / MINUTE_MS - 1) * MINUTE_MS);
}

/**
 * Closes a tenant's log up to the last minute, and seals what is not sealed yet. An export then proves that time too.
 * @returns whether the log is whole as far as the vault knows.
 */
export async function sealUntilNow(parts: SealParts, tenantId: TenantId, now: Date): Promise<boolean> {
  const until = lastClosable(now);
  const closing = { until, notBefore: new Date(until.getTime() + MINUTE_MS) };
  if (!(await parts.database.of(tenantId).bulk((tx) => tx.query(closeLog, closing)))) return false;
  for (let attempt = 1; attempt <= TRIES; attempt += 1) {
    const outcome = await sealClosed(parts, tenantId, { until });
    if (outcome !== "overtaken") return outcome === "sealed";
  }
  return false;
}

/**
 * The time up to which a log is complete: it is closed, every row before has a seal, and the chain ends as the vault
 * left it. Idle tenants get no seals, so the last seal alone does not say this. Undefined if it cannot be said.
 */
export async function provenUntil(snapshot: LogSnapshot, keys: TenantKeys): Promise<Date | undefined> {
  const { closedUntil, takenAt } = snapshot;
  const end = snapshot.head && verifiedHead(keys, snapshot.head);
  if (!closedUntil || !end) return undefined;
  let from: Date | undefined;
  for await (const seals of snapshot.seals({ first: end.number, last: Number.MAX_SAFE_INTEGER })) {
    const [last, ...others] = seals;
    if (!last) break;
    const isLast = others.length === 0 && last.number === end.number && last.mac.equals(end.lastMac);
    if (!isLast || !isOwnEntry(keys, last)) return undefined;
    from = sealedUntil(last);
  }
  if (end.number > 0 && !from) return undefined;
  // A log that was closed while the clock ran fast may be set back to the present.
  const until = Math.min(closedUntil.getTime(), lastClosable(takenAt).getTime());
  for await (const [unsealed] of snapshot.rows("main", from)) {
    return new Date(unsealed ? Math.min(until, minuteStart(unsealed).getTime()) : until);
  }
  return new Date(until);
}
