import { LRUCache } from "lru-cache";
import type { TenantId } from "../base/ids.js";
import { readSeal } from "../store/audit-seals.js";
import { type AttestParts, latestAttestation } from "./attestations.js";
import type { Chain } from "./chain.js";

/**
 * How a stored chain compares with what is known of it:
 * - `whole`: nothing contradicts it
 * - `broken`: it was changed or cut, or put back to an earlier state. It can go on with a number left out
 * - `headless`: its head is gone, so that nothing tells where it ended. It does not go on by itself
 */
export type ChainState = "whole" | "broken" | "headless";

/**
 * What this process knows of chains: the last entry that it saw of each, and of those that it has not met yet the latest
 * attestation.
 */
export class ChainHistory {
  readonly #seen = new LRUCache<TenantId, number>({ max: 20_000 });

  async stateOf(parts: AttestParts, tenantId: TenantId, chain: Chain): Promise<ChainState> {
    const known = this.#seen.get(tenantId);
    const attested = known === undefined ? await this.#lookUp(parts, tenantId) : undefined;
    if (!chain.stored) {
      // Before the first release that makes heads with tenants, a tenant had none until its first seal.
      return chain.last || known !== undefined || attested ? "headless" : "whole";
    }
    if (!chain.isWhole || chain.stored.number < (known ?? 0) || attested?.isContradicted) return "broken";
    return "whole";
  }

  /** Notes how far a chain has come. */
  note(tenantId: TenantId, number: number): void {
    this.#seen.set(tenantId, Math.max(number, this.#seen.get(tenantId) ?? 0));
  }

  /** How far a chain is known to have come. */
  reached(tenantId: TenantId): number {
    return this.#seen.get(tenantId) ?? 0;
  }

  async #lookUp(parts: AttestParts, tenantId: TenantId) {
    const attestation = await latestAttestation(parts, tenantId);
    if (!attestation) return undefined;
    const { number, mac } = attestation.seal;
    if (number === 0) return { isContradicted: false };
    const seal = await parts.database.slow.run(tenantId, "unguarded", (tx) => tx.query(readSeal, number));
    if (seal?.mac.equals(mac)) return { isContradicted: false };
    this.note(tenantId, number);
    return { isContradicted: true };
  }
}
