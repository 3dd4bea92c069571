import type { CallerTransaction } from "../access/caller-transaction.js";
import { sealedUntil } from "../audit/chain/next-seals.js";
import { DAY_MS } from "../base/clock.js";
import { countApplicationKeys } from "../store/access/application-keys.js";
import { readLastSeal } from "../store/audit/audit-seals.js";
import { readSinkPositions } from "../store/audit/audit-sinks.js";
import { listOutages, type OutageRow } from "../store/audit/log-outages.js";
import { listTenantKeys } from "../store/tenancy/tenant-keys.js";

export interface Health {
  readonly sealedUntil: Date | undefined;
  readonly outages: readonly OutageRow[];
  readonly receivers: readonly { readonly name: string; readonly sentUntil: Date }[];
  /** When the oldest of the keys that seal new values was made. */
  readonly keysCreatedAt: Date | undefined;
  readonly applicationKeys: { readonly all: number; readonly old: number };
}

/** A key of an application that is older than this should be replaced (NIST SP 800-57 1, 5.3.6: a year or two). */
const OLD_KEY_MS = 365 * DAY_MS;

/** Reads what there is to know of a tenant's log and keys without reading the log. */
export async function readTenantHealth(tx: CallerTransaction): Promise<Health> {
  const [seal, outages, positions, keys, [applicationKeys]] = await Promise.all([
    tx.query(readLastSeal, "last"),
    tx.query(listOutages, "all"),
    tx.query(readSinkPositions, "all"),
    tx.query(listTenantKeys, tx.tenantId),
    tx.query(countApplicationKeys, new Date(tx.now.getTime() - OLD_KEY_MS)),
  ]);
  tx.log("tenant", tx.tenantId, "read");
  const current = keys.filter(({ state }) => state === "current").map(({ created_at }) => created_at);
  return {
    sealedUntil: seal ? sealedUntil(seal) : undefined,
    outages,
    receivers: [...positions].map(([name, { sentUntil }]) => ({ name, sentUntil })),
    keysCreatedAt: current.toSorted((one, other) => one.getTime() - other.getTime())[0],
    applicationKeys: applicationKeys ?? { all: 0, old: 0 },
  };
}
