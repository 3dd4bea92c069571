import { HOUR_MS } from "../../base/clock.js";
import { type TenantId, VAULT_TENANT_ID } from "../../base/ids.js";
import { type AttestationRef, type ChainHead, NO_SEAL } from "../../crypto/log-seal.js";
import { insertSeal, moveChainHead, readAttestation } from "../../store/audit/audit-seals.js";
import { UniqueViolation } from "../../store/postgres/database-error.js";
import { openTenant, type TenantParts } from "../tenant-database.js";
import type { TenantTransaction } from "../tenant-transaction.js";
import { type Chain, ChainConflict, isOwnEntry, readChain, signHead, signMark } from "./chain.js";
import { unsigned } from "./sign-seals.js";

/**
 * The vault's own chain names the last seal of each tenant, under a key that no tenant has, and each tenant's head
 * names its last attestation. Deleting or rolling back one tenant's log contradicts the vault's chain; doing the same
 * to the vault's chain contradicts the heads of the tenants attested since. Only restoring the whole database to an
 * earlier state goes unnoticed.
 */
export interface Attestation extends AttestationRef {
  readonly seal: { readonly number: number; readonly mac: Buffer };
}

/** A tenant whose log is in use is attested once an hour, otherwise once a day. */
export const ATTESTED_EVERY_MS = HOUR_MS;

export interface AttestTask {
  readonly tenantId: TenantId;
  readonly head: ChainHead;
}

export interface Attested {
  /** In the order of the tasks. */
  readonly refs: readonly AttestationRef[];
  /** The vault's own chain was truncated or changed. It continues after a skipped number. */
  readonly isVaultBroken: boolean;
}

/** Records the last seals of tenants in the vault's own chain. */
export function attest(parts: TenantParts, tasks: readonly AttestTask[]): Promise<Attested> {
  return appendToVaultChain(parts, 5, (tx) => append(tx, tasks));
}

/** Runs work that appends to the vault's own chain, again where another process was faster. */
export async function appendToVaultChain<T>(
  parts: TenantParts,
  tries: number,
  work: (tx: TenantTransaction) => Promise<T>,
): Promise<T> {
  const vault = await openTenant(parts, VAULT_TENANT_ID);
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await vault.bulk(work);
    } catch (error) {
      const isTaken = error instanceof UniqueViolation || error instanceof ChainConflict;
      if (!isTaken || attempt === tries) throw error;
    }
  }
}

async function append(tx: TenantTransaction, tasks: readonly AttestTask[]): Promise<Attested> {
  const chain = await readChain(tx);
  const least = Math.max(0, ...tasks.map(({ head }) => head.attested?.number ?? 0));
  const isVaultBroken = !chain.isWhole || (chain.stored?.number ?? 0) < least;
  let { number, previous } = nextPosition({ ...chain, isWhole: !isVaultBroken }, least);
  const refs = tasks.map(({ tenantId, head }, index): AttestationRef => {
    if (index > 0) number += 1;
    const mark = { kind: "attestation", at: tx.now, number, previous } as const;
    const row = signMark(tx.keys, { ...mark, count: head.number, digest: head.lastMac, subject: tenantId });
    tx.enqueue(insertSeal, unsigned(row));
    previous = row.mac;
    return { number, mac: row.mac, at: tx.now };
  });
  const moved = { number, lastMac: previous, keptFrom: chain.head?.keptFrom, attested: undefined };
  const move = { before: chain.stored?.mac, head: signHead(tx.keys, moved) };
  if (!(await tx.query(moveChainHead, move))) throw new ChainConflict();
  return { refs, isVaultBroken };
}

/**
 * The position of the next entry of a chain. After tampering it skips a number: the gap can never be filled.
 * @param least a number that the chain is known to have reached.
 */
export function nextPosition(chain: Pick<Chain, "stored" | "last" | "isWhole">, least = 0) {
  const reached = Math.max(chain.stored?.number ?? 0, chain.last?.number ?? 0, least);
  const number = chain.isWhole ? (chain.stored?.number ?? 0) + 1 : reached + 2;
  const previous: Uint8Array = chain.stored?.last_mac ?? chain.last?.mac ?? NO_SEAL;
  return { number, previous };
}

/** The latest attestation of each of these tenants that the vault made. */
export async function latestAttestations(
  parts: TenantParts,
  tenantIds: readonly TenantId[],
): Promise<ReadonlyMap<TenantId, Attestation>> {
  const vault = await openTenant(parts, VAULT_TENANT_ID);
  const rows = await vault.bulk((tx) => Promise.all(tenantIds.map((tenantId) => tx.query(readAttestation, tenantId))));
  const found = new Map<TenantId, Attestation>();
  for (const [index, tenantId] of tenantIds.entries()) {
    const row = rows[index];
    if (!row || !isOwnEntry(vault.keys, row)) continue;
    const { number, mac, window_start, row_count, digest } = row;
    found.set(tenantId, { number, mac, at: window_start, seal: { number: row_count, mac: digest } });
  }
  return found;
}
