import {
  type ChainHead,
  type ChainMark,
  isMac,
  MARK_KINDS,
  type MarkKind,
  macOfHead,
  macOfMark,
  macOfMinute,
  NO_SEAL,
  SEAL_FORMAT,
} from "../../crypto/log-seal.js";
import type { TenantKeys } from "../../crypto/tenant-keys.js";
import {
  type HeadRow,
  type NewSeal,
  readChainHead,
  readLastSeal,
  type SealRow,
} from "../../store/audit/audit-seals.js";
import type { TenantTransaction } from "../tenant-transaction.js";

/** Another process extended the chain in the meantime; its entries are valid. */
export class ChainConflict extends Error {
  override readonly name = "ChainConflict";
}

export interface Chain {
  /** The stored head. Absent for a chain without one. */
  readonly stored: HeadRow | undefined;
  /** The content of the head, if its MAC is valid. */
  readonly head: ChainHead | undefined;
  readonly last: SealRow | undefined;
  /** The head matches its MAC and the last entry: no entry was removed or added. */
  readonly isWhole: boolean;
}

export async function readChain(tx: TenantTransaction): Promise<Chain> {
  const [stored, last] = await Promise.all([tx.query(readChainHead, "head"), tx.query(readLastSeal, "last")]);
  const head = stored === null ? undefined : verifiedHead(tx.keys, stored);
  const isWhole =
    stored === null
      ? last === null
      : head !== undefined && stored.number === (last?.number ?? 0) && stored.last_mac.equals(last?.mac ?? NO_SEAL);
  return { stored: stored ?? undefined, head, last: last ?? undefined, isWhole };
}

/** The content of a stored head; undefined unless the vault made it. */
export function verifiedHead(keys: TenantKeys, row: HeadRow): ChainHead | undefined {
  const { version, number, last_mac, kept_from, archived_from, key_version, mac } = row;
  const { attested_number, attested_mac, attested_at } = row;
  if (version !== SEAL_FORMAT) return undefined;
  const attested =
    attested_number !== null && attested_mac && attested_at
      ? { number: attested_number, mac: attested_mac, at: attested_at }
      : undefined;
  const [keptFrom, archivedFrom] = [kept_from ?? undefined, archived_from ?? undefined];
  const head = { number, lastMac: last_mac, keptFrom, archivedFrom, attested };
  return isMac(mac, () => macOfHead(keys.audit, key_version, keys.tenantId, head)) ? head : undefined;
}

/** The head of a chain with its MAC, to be stored. */
export function signHead(keys: TenantKeys, head: ChainHead): HeadRow {
  const version = keys.audit.current;
  return {
    version: SEAL_FORMAT,
    number: head.number,
    last_mac: Buffer.from(head.lastMac),
    kept_from: head.keptFrom ?? null,
    archived_from: head.archivedFrom ?? null,
    key_version: version,
    mac: macOfHead(keys.audit, version, keys.tenantId, head),
    attested_number: head.attested?.number ?? null,
    attested_mac: head.attested ? Buffer.from(head.attested.mac) : null,
    attested_at: head.attested?.at ?? null,
  };
}

/** The head of an empty chain. Tenants are created with it, so a tenant without a head has lost it. */
export function firstHead(keys: TenantKeys): HeadRow {
  return signHead(keys, { number: 0, lastMac: NO_SEAL, keptFrom: undefined, attested: undefined });
}

/** An entry that does not seal a minute, with its MAC. */
export function signMark(keys: TenantKeys, mark: ChainMark): Omit<NewSeal, "signed_body" | "signature"> {
  const version = keys.audit.current;
  return {
    kind: mark.kind,
    window_start: mark.at,
    number: mark.number,
    row_count: mark.count,
    digest: Buffer.from(mark.digest),
    previous: Buffer.from(mark.previous),
    subject: mark.subject ?? null,
    key_version: version,
    version: SEAL_FORMAT,
    mac: macOfMark(keys.audit, version, keys.tenantId, mark),
  };
}

export function isOwnEntry(keys: TenantKeys, row: SealRow): boolean {
  const { window_start, number, row_count, digest, previous, key_version, mac, subject } = row;
  if (row.version !== SEAL_FORMAT) return false;
  const shared = { number, digest, previous };
  if (row.kind === "minute") {
    const minute = { windowStart: window_start, rowCount: row_count, ...shared };
    return isMac(mac, () => macOfMinute(keys.audit, key_version, keys.tenantId, minute));
  }
  const kind = row.kind;
  if (!isMarkKind(kind)) return false;
  const mark = { kind, at: window_start, count: row_count, subject: subject ?? undefined, ...shared };
  return isMac(mac, () => macOfMark(keys.audit, key_version, keys.tenantId, mark));
}

function isMarkKind(kind: string): kind is MarkKind {
  return MARK_KINDS.some((known) => known === kind);
}
