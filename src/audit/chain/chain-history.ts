import { LRUCache } from "lru-cache";
import type { TenantId } from "../../base/ids.js";
import { lruEntries } from "../../base/lru-entries.js";
import { readSeal } from "../../store/audit/audit-seals.js";
import type { TenantParts } from "../tenant-database.js";
import { latestAttestations } from "./attestations.js";
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
  readonly #seen = new LRUCache<TenantId, number>(lruEntries(20_000));

  async stateOf(parts: TenantParts, tenantId: TenantId, chain: Chain): Promise<ChainState> {
    return (await this.statesOf(parts, new Map([[tenantId, chain]]))).get(tenantId) ?? "headless";
  }

  async statesOf(parts: TenantParts, chains: ReadonlyMap<TenantId, Chain>): Promise<ReadonlyMap<TenantId, ChainState>> {
    const known = new Map([...chains.keys()].map((tenantId) => [tenantId, this.#seen.get(tenantId)]));
    const unseen = [...chains.keys()].filter((tenantId) => known.get(tenantId) === undefined);
    const contradicted = await this.#contradicted(parts, unseen);
    const stateOf = (tenantId: TenantId, { stored, isWhole }: Chain): ChainState => {
      if (!stored) return "headless";
      const isShort = stored.number < (known.get(tenantId) ?? 0);
      return !isWhole || isShort || contradicted.has(tenantId) ? "broken" : "whole";
    };
    return new Map([...chains].map(([tenantId, chain]) => [tenantId, stateOf(tenantId, chain)]));
  }

  /** Records how far a chain has come. */
  note(tenantId: TenantId, number: number): void {
    this.#seen.set(tenantId, Math.max(number, this.#seen.get(tenantId) ?? 0));
  }

  /** The highest number that a chain is known to have reached. */
  reached(tenantId: TenantId): number {
    return this.#seen.get(tenantId) ?? 0;
  }

  /** The tenants without the seal that their latest attestation names. */
  async #contradicted(parts: TenantParts, tenantIds: readonly TenantId[]): Promise<ReadonlySet<TenantId>> {
    const attested = tenantIds.length > 0 ? [...(await latestAttestations(parts, tenantIds))] : [];
    const sealed = attested.filter(([, { seal }]) => seal.number > 0);
    const seals = await parts.database.jointly(
      sealed.map(([tenantId, { seal }]) => ({ tenantId, work: (tx) => tx.query(readSeal, seal.number) })),
    );
    const contradicted = sealed.filter(([, { seal }], index) => !seals[index]?.mac.equals(seal.mac));
    for (const [tenantId, { seal }] of contradicted) this.note(tenantId, seal.number);
    return new Set(contradicted.map(([tenantId]) => tenantId));
  }
}
