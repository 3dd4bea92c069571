import { type TenantId, VAULT_TENANT_ID } from "../../base/ids.js";
import { type ChainHead, NO_SEAL } from "../../crypto/log-seal.js";
import { insertSeal, moveChainHead } from "../../store/audit/audit-seals.js";
import { OPERATOR_CONTEXT } from "../audit-context.js";
import { ANY_ENTITY_ID } from "../log-entry.js";
import { openTenant } from "../tenant-database.js";
import { attestWhenDue } from "./attest-due.js";
import { attest, latestAttestations, nextPosition } from "./attestations.js";
import { ChainConflict, readChain, signHead, signMark } from "./chain.js";
import { ChainHistory } from "./chain-history.js";
import { type Finding, writeAcknowledged } from "./findings.js";
import { sealedUntil } from "./next-seals.js";
import type { SealParts } from "./seal-log.js";
import { lastSignedBody, signSeals, unsigned } from "./sign-seals.js";

export interface KnownFindings {
  readonly findings: readonly Finding[];
  readonly findingCount: number;
}

/**
 * Continues a chain that was tampered with, after an operator's investigation. Skips a number if the chain was
 * truncated. Known findings are acknowledged; later ones are not.
 * @returns the number of the new entry.
 */
export async function restartChain(parts: SealParts, tenantId: TenantId, known: KnownFindings): Promise<number> {
  const { history = new ChainHistory() } = parts;
  const work = await openTenant(parts, tenantId);
  const { keys } = work;
  const { chain, before, at } = await work.bulk(async (tx) => {
    const chain = await readChain(tx);
    return { chain, before: tenantId === VAULT_TENANT_ID ? undefined : await lastSignedBody(tx, chain), at: tx.now };
  });
  const attested =
    tenantId === VAULT_TENANT_ID ? undefined : (await latestAttestations(parts, [tenantId])).get(tenantId);
  const isWhole =
    tenantId === VAULT_TENANT_ID ? chain.isWhole : (await history.stateOf(parts, tenantId, chain)) === "whole";
  const least = Math.max(history.reached(tenantId), attested?.seal.number ?? 0);
  const { number } = nextPosition({ ...chain, isWhole }, least);
  const row = signMark(keys, {
    // A chain without a seal seals all remaining rows in their present state.
    kind: "restart",
    at: chain.last ? sealedUntil(chain.last) : new Date(0),
    number,
    previous: chain.last?.mac ?? NO_SEAL,
    subject: undefined,
    count: known.findingCount,
    digest: writeAcknowledged(known.findings),
  });
  const [signed = unsigned(row)] = tenantId === VAULT_TENANT_ID ? [] : await signSeals(keys, [row], { before, at });
  const { keptFrom, archivedFrom } = chain.head ?? { keptFrom: undefined };
  const head: ChainHead = { number, lastMac: row.mac, keptFrom, archivedFrom, attested: undefined };
  const stored = signHead(keys, head);
  const now = await work.bulk(async (tx) => {
    const details = { remark: "seals restarted", context: OPERATOR_CONTEXT };
    if (tenantId !== VAULT_TENANT_ID) tx.log("log", ANY_ENTITY_ID, "update", details);
    tx.enqueue(insertSeal, signed);
    if (!(await tx.query(moveChainHead, { before: chain.stored?.mac, head: stored }))) throw new ChainConflict();
    return tx.now;
  });
  // From here on, comparisons use this position in the chain.
  if (tenantId !== VAULT_TENANT_ID) await attestWhenDue(parts, [{ keys, stored, head }], now);
  return number;
}

/** Records in the vault's own chain that a tenant which is gone is no longer expected. */
export async function attestTenantGone(parts: SealParts, tenantId: TenantId): Promise<void> {
  const head = { number: 0, lastMac: NO_SEAL, keptFrom: undefined, attested: undefined };
  await attest(parts, [{ tenantId, head }]);
}
