import type { TenantId } from "../base/ids.js";
import {
  type ChainHead,
  type ChainMark,
  isMac,
  MARK_KINDS,
  type MarkKind,
  macOfHead,
  macOfHeadV1,
  macOfMark,
  macOfMinute,
  NO_SEAL,
} from "../crypto/log-seal.js";
import { DIGEST_VERSIONS, type DigestVersion } from "../crypto/row-digest.js";
import type { TenantKeys } from "../crypto/tenant-keys.js";
import { type HeadRow, type NewSeal, readChainHead, readLastSeal, type SealRow } from "../store/audit/audit-seals.js";
import type { Transaction } from "../store/transactions/transaction.js";

/** Another process extended the chain in the meantime; its entries are valid. */
export class ChainConflict extends Error {
  override readonly name = "ChainConflict";
}

/** The place of the next entry of a chain. */
export interface Chain {
  /** The stored head. Absent for a chain without one. */
  readonly stored: HeadRow | undefined;
  /** The content of the head, if its MAC is valid. */
  readonly head: ChainHead | undefined;
  readonly last: SealRow | undefined;
  /** The head matches its MAC and the last entry: no entry was removed or added. */
  readonly isWhole: boolean;
}

export async function readChain(tx: Transaction, keys: TenantKeys): Promise<Chain> {
  const [stored, last] = await Promise.all([tx.query(readChainHead, "head"), tx.query(readLastSeal, "last")]);
  const head = stored === null ? undefined : verifiedHead(keys, tx.tenantId, stored);
  const isWhole =
    stored === null
      ? last === null
      : head !== undefined && stored.number === (last?.number ?? 0) && stored.last_mac.equals(last?.mac ?? NO_SEAL);
  return { stored: stored ?? undefined, head, last: last ?? undefined, isWhole };
}

/** The content of a stored head; undefined unless the vault made it. */
export function verifiedHead(keys: TenantKeys, tenantId: TenantId, row: HeadRow): ChainHead | undefined {
  const { number, last_mac, kept_from, key_version, mac, attested_number, attested_mac, attested_at } = row;
  const plain = { number, lastMac: last_mac, keptFrom: kept_from ?? undefined, attested: undefined };
  const attested =
    attested_number !== null && attested_mac && attested_at
      ? { number: attested_number, mac: attested_mac, at: attested_at }
      : undefined;
  const head = { ...plain, attested };
  if (isMac(mac, () => macOfHead(keys.audit, key_version, tenantId, head))) return head;
  // A replica of an earlier release may have written it, without an attestation.
  return isMac(mac, () => macOfHeadV1(keys.audit, key_version, tenantId, plain)) ? plain : undefined;
}

/** The head of a chain with its MAC, to be stored. */
export function signHead(keys: TenantKeys, tenantId: TenantId, head: ChainHead): HeadRow {
  const version = keys.audit.current;
  return {
    number: head.number,
    last_mac: Buffer.from(head.lastMac),
    kept_from: head.keptFrom ?? null,
    key_version: version,
    mac: macOfHead(keys.audit, version, tenantId, head),
    attested_number: head.attested?.number ?? null,
    attested_mac: head.attested ? Buffer.from(head.attested.mac) : null,
    attested_at: head.attested?.at ?? null,
  };
}

/** The head of an empty chain. Tenants are created with it, so a tenant without a head has lost it. */
export function firstHead(keys: TenantKeys, tenantId: TenantId): HeadRow {
  return signHead(keys, tenantId, { number: 0, lastMac: NO_SEAL, keptFrom: undefined, attested: undefined });
}

/** An entry that does not seal a minute, with its MAC. */
export function signMark(
  keys: TenantKeys,
  tenantId: TenantId,
  mark: ChainMark,
): Omit<NewSeal, "signed_body" | "signature"> {
  const version = keys.audit.current;
  return {
    ...{ kind: mark.kind, window_start: mark.at, number: mark.number, row_count: mark.count },
    ...{ digest: Buffer.from(mark.digest), previous: Buffer.from(mark.previous), subject: mark.subject ?? null },
    ...{ key_version: version, version: 1, digest_version: 1, mac: macOfMark(keys.audit, version, tenantId, mark) },
  };
}

/** Whether the vault made this entry for this place of the chain. */
export function isOwnEntry(keys: TenantKeys, tenantId: TenantId, row: SealRow): boolean {
  const { window_start, number, row_count, digest, previous, key_version, mac, subject } = row;
  const digestVersion = digestVersionOf(row);
  if (row.version !== 1 || digestVersion === undefined) return false;
  const shared = { number, digest, previous };
  if (row.kind === "minute") {
    const minute = { windowStart: window_start, rowCount: row_count, digestVersion, ...shared };
    return isMac(mac, () => macOfMinute(keys.audit, key_version, tenantId, minute));
  }
  const kind = row.kind;
  if (!isMarkKind(kind) || digestVersion !== 1) return false;
  const mark = { kind, at: window_start, count: row_count, subject: subject ?? undefined, ...shared };
  return isMac(mac, () => macOfMark(keys.audit, key_version, tenantId, mark));
}

/** The layout of a seal's digest; undefined for one that this release does not know. */
export function digestVersionOf({ digest_version }: SealRow): DigestVersion | undefined {
  return DIGEST_VERSIONS.find((known) => known === digest_version);
}

function isMarkKind(kind: string): kind is MarkKind {
  return MARK_KINDS.some((known) => known === kind);
}
