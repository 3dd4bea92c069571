import type { ChainHead } from "../../crypto/log-seal.js";
import type { TenantKeys } from "../../crypto/tenant-keys.js";
import { type HeadRow, moveChainHead } from "../../store/audit/audit-seals.js";
import type { TenantParts } from "../tenant-database.js";
import { ATTESTED_EVERY_MS, attest } from "./attestations.js";
import { signHead } from "./chain.js";

export interface AttestableChain {
  readonly keys: TenantKeys;
  readonly stored: HeadRow | undefined;
  readonly head: ChainHead | undefined;
}

export interface AttestDueParts extends TenantParts {
  /** Called if the vault's own chain was truncated or changed. */
  readonly onVaultBroken?: () => void;
}

export function isAttestationDue({ number, attested }: ChainHead, now: Date): boolean {
  if (number === 0) return false;
  // After a clock was set back, attestations may have future times.
  return !attested || Math.abs(now.getTime() - attested.at.getTime()) >= ATTESTED_EVERY_MS;
}

/** Records the last seals of chains in the vault's own chain, except of those for which that was done within the hour. */
export async function attestWhenDue(
  parts: AttestDueParts,
  chains: readonly AttestableChain[],
  now: Date,
): Promise<void> {
  const due = chains.flatMap(({ keys, stored, head }) =>
    stored && head && isAttestationDue(head, now) ? [{ tenantId: keys.tenantId, keys, before: stored.mac, head }] : [],
  );
  if (due.length === 0) return;
  const { refs, isVaultBroken } = await attest(parts, due);
  if (isVaultBroken) parts.onVaultBroken?.();
  // If another process has moved a head meanwhile, that head names an older attestation until the next.
  await parts.database.jointly(
    due.map(({ tenantId, keys, before, head }, index) => {
      const attested = signHead(keys, { ...head, attested: refs[index] });
      return { tenantId, work: (tx) => tx.query(moveChainHead, { before, head: attested }) };
    }),
  );
}
