import type { TenantId } from "../base/ids.js";
import { type ChainEnd, isMac, macOfEnd, NO_SEAL } from "../crypto/log-seal.js";
import type { TenantKeys } from "../crypto/tenant-keys.js";
import { type EndRow, readChainEnd, readLastSeal, type SealRow } from "../store/audit-seals.js";
import type { Transaction } from "../store/transaction.js";

/** Another process has gone on with the chain meanwhile: what it wrote stands. */
export class ChainMoved extends Error {
  override readonly name = "ChainMoved";
}

/** Where the next seal of a tenant goes. */
export interface Chain {
  /** The end as it is stored. Absent: there is none. */
  readonly stored: EndRow | undefined;
  readonly last: SealRow | undefined;
  /** The end fits its mac and the last seal: nothing was taken off or put on. */
  readonly isWhole: boolean;
}

export async function readChain(tx: Transaction, keys: TenantKeys): Promise<Chain> {
  const [stored, last] = await Promise.all([tx.ask(readChainEnd, "end"), tx.ask(readLastSeal, "last")]);
  const isWhole =
    stored === null
      ? last === null
      : isEnd(keys, tx.tenantId, stored) &&
        stored.number === (last?.number ?? 0) &&
        stored.last_mac.equals(macOf(last));
  return { stored: stored ?? undefined, last: last ?? undefined, isWhole };
}

/** Whether the stored end of a chain is one that we made. */
export function isEnd(keys: TenantKeys, tenantId: TenantId, row: EndRow): boolean {
  return isMac(row.mac, () => macOfEnd(keys.audit, row.key_version, tenantId, endOf(row)));
}

/** The end of a chain with its mac, to be stored. */
export function signEnd(keys: TenantKeys, tenantId: TenantId, end: ChainEnd): EndRow {
  const version = keys.audit.current;
  return {
    number: end.number,
    last_mac: Buffer.from(end.lastMac),
    kept_from: end.keptFrom ?? null,
    key_version: version,
    mac: macOfEnd(keys.audit, version, tenantId, end),
  };
}

function endOf({ number, last_mac, kept_from }: EndRow): ChainEnd {
  return { number, lastMac: last_mac, keptFrom: kept_from ?? undefined };
}

function macOf(seal: SealRow | null): Uint8Array {
  return seal?.mac ?? NO_SEAL;
}
