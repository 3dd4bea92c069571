import { LRUCache } from "lru-cache";
import type { TenantId } from "../../base/ids.js";
import { readSeal } from "../../store/audit/audit-seals.js";
import { type AttestParts, latestAttestation } from "./attestations.js";
import type { Chain } from "./chain.js";

/**
 * The state of a stored chain, compared with what is known of it:
 * - `whole`: nothing contradicts it
 * - `broken`: it was changed, truncated or rolled back. It can continue after a skipped number
 * - `headless`: its head is gone, so its end is unknown. It does not continue by itself
 */
export type ChainState = "whole" | "broken" | "headless";

/**
 * Known states of chains: the last entry that this process saw of each, and the latest attestation of chains that it
 * has not seen.
 */
export class ChainHistory {
  readonly #seen = new LRUCache<TenantId, number>({ max: 20_000 });

  async stateOf(parts: AttestParts, tenantId: TenantId, chain: Chain): Promise<ChainState> {
    const known = this.#seen.get(tenantId);
    const attested = known === undefined ? await this.#lookUp(parts, tenantId) : undefined;
    if (!chain.stored) return "headless";
    if (!chain.isWhole || chain.stored.number < (known ?? 0) || attested?.isContradicted) return "broken";
    return "whole";
  }

  /** Records how far a chain has come. */
  note(tenantId: TenantId, number: number): void {
    this.#seen.set(tenantId, Math.max(number, this.#seen.get(tenantId) ?? 0));
  }

  /** The highest number that a chain is known to have reached. */
  reached(tenantId: TenantId): number {
    return this.#seen.get(tenantId) ?? 0;
  }

  async #lookUp(parts: AttestParts, tenantId: TenantId) {
    const attestation = await latestAttestation(parts, tenantId);
    if (!attestation) return undefined;
    const { number, mac } = attestation.seal;
    if (number === 0) return { isContradicted: false };
    const seal = await parts.database.of(tenantId).bulk((tx) => tx.query(readSeal, number));
    if (seal?.mac.equals(mac)) return { isContradicted: false };
    this.note(tenantId, number);
    return { isContradicted: true };
  }
}
