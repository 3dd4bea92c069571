import { createHmac, timingSafeEqual } from "node:crypto";
import type { TenantId, Uuid } from "../base/ids.js";
import { lengthPrefixed } from "./bytes.js";
import { type KeyVersions, SealBroken } from "./sealed.js";

/** Version of the layouts of entries and heads: of their MACs, of the digest over rows, and of signed texts. */
export const SEAL_FORMAT = 1;

export interface SealedMinute {
  readonly windowStart: Date;
  /** Counts a tenant's seals from 1. */
  readonly number: number;
  readonly rowCount: number;
  /** Covers the rows in the order of (created_at, id). */
  readonly digest: Uint8Array;
  /** The MAC of the previous seal, or {@link NO_SEAL} for the first. */
  readonly previous: Uint8Array;
}

/**
 * An entry of a chain that does not seal a minute:
 * - `set_back`: the clock was set back; the log continues at `at`, and existing seals of later minutes are set aside
 * - `restart`: an operator continued a broken chain with the minutes from `at`
 * - `attestation`: the last seal of a tenant, in the vault's own chain
 * - `event`: a row of the vault's own log, in the vault's own chain
 */
export interface ChainMark {
  readonly kind: MarkKind;
  readonly at: Date;
  readonly number: number;
  /** Number of seals set aside; for an attestation, the number of the attested seal; for an event, 1. */
  readonly count: number;
  /** For an attestation, the MAC of the attested seal; for an event, the hash of the row; otherwise {@link NO_SEAL}. */
  readonly digest: Uint8Array;
  /** For an attestation, the tenant. */
  readonly subject: Uuid | undefined;
  readonly previous: Uint8Array;
}

export const MARK_KINDS = ["set_back", "restart", "attestation", "event"] as const;
export type MarkKind = (typeof MARK_KINDS)[number];

/** An entry of the vault's own chain that names the last seal of a tenant. */
export interface AttestationRef {
  readonly number: number;
  readonly mac: Uint8Array;
  readonly at: Date;
}

/** The head of a tenant's chain of seals: its last entry, and the time from which its rows still exist. */
export interface ChainHead {
  readonly number: number;
  readonly lastMac: Uint8Array;
  readonly keptFrom: Date | undefined;
  /** Rows from here until `keptFrom` are in the archive. Absent: none are. */
  readonly archivedFrom?: Date | undefined;
  /** The latest attestation of the chain. Absent before the first. */
  readonly attested: AttestationRef | undefined;
}

export const NO_SEAL: Uint8Array = Buffer.alloc(32);

/** @throws {SealBroken} if the key of that version is gone. */
export function macOfMinute(keys: KeyVersions, version: number, tenantId: TenantId, minute: SealedMinute): Buffer {
  return mac(keys, version, [
    `cloakroom/log-seal/${SEAL_FORMAT}`,
    tenantId,
    minute.windowStart.toISOString(),
    String(minute.number),
    String(minute.rowCount),
    minute.digest,
    minute.previous,
  ]);
}

/** @throws {SealBroken} if the key of that version is gone. */
export function macOfMark(keys: KeyVersions, version: number, tenantId: TenantId, mark: ChainMark): Buffer {
  return mac(keys, version, [
    `cloakroom/log-mark/${SEAL_FORMAT}`,
    tenantId,
    mark.kind,
    mark.at.toISOString(),
    String(mark.number),
    String(mark.count),
    mark.digest,
    mark.subject ?? "",
    mark.previous,
  ]);
}

/** @throws {SealBroken} if the key of that version is gone. */
export function macOfHead(keys: KeyVersions, version: number, tenantId: TenantId, head: ChainHead): Buffer {
  const { number, mac: attestedMac, at } = head.attested ?? { number: "", mac: "", at: undefined };
  return mac(keys, version, [
    `cloakroom/log-end/${SEAL_FORMAT}`,
    tenantId,
    String(head.number),
    head.lastMac,
    head.keptFrom?.toISOString() ?? "",
    String(number),
    attestedMac,
    at?.toISOString() ?? "",
    ...(head.archivedFrom ? [head.archivedFrom.toISOString()] : []),
  ]);
}

/**
 * Proves that the vault itself deleted a tenant. It uses the vault's keys, because the tenant's own are gone by then.
 * @throws {SealBroken} if the key of that version is gone.
 */
export function macOfDeletion(keys: KeyVersions, version: number, closing: TenantDeletion): Buffer {
  const { tenantId, at, by } = closing;
  return mac(keys, version, ["cloakroom/tenant-closing/1", tenantId, at.toISOString(), by]);
}

export interface TenantDeletion {
  readonly tenantId: TenantId;
  readonly at: Date;
  readonly by: string;
}

/** Whether `given` is the MAC that `make` returns. False if the key no longer exists. */
export function isMac(given: Uint8Array, make: () => Buffer): boolean {
  try {
    const expected = make();
    return expected.length === given.length && timingSafeEqual(expected, given);
  } catch (error) {
    if (error instanceof SealBroken) return false;
    throw error;
  }
}

function mac(keys: KeyVersions, version: number, parts: readonly (string | Uint8Array)[]): Buffer {
  const key = keys.byVersion.get(version);
  if (!key) throw new SealBroken("the key of a seal of the log is gone");
  return createHmac("sha256", key).update(lengthPrefixed(parts)).digest();
}
