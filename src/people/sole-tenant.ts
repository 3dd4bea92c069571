import type { TenantId } from "../base/ids.js";
import type { DatabaseAddress } from "../store/postgres/connect.js";
import { listActiveTenantsUpTo } from "../store/tenancy/operator-tenants.js";

/** How long the response is used. A vault with several tenants is not asked again soon. */
const FRESH_MS = 30_000;

/**
 * The vault's only tenant, for people who do not name theirs. Row-level security shows servers one tenant at a time, so
 * this asks as the owner of the tables, at most once in 30 s.
 */
export class SoleTenant {
  readonly #ownerAddress: DatabaseAddress;
  #found: Promise<readonly TenantId[]> | undefined;
  #since = 0;

  constructor(ownerAddress: DatabaseAddress) {
    this.#ownerAddress = ownerAddress;
  }

  /** Returns undefined if the vault has no tenant, or several. */
  async find(): Promise<TenantId | undefined> {
    if (!this.#found || performance.now() - this.#since >= FRESH_MS) {
      this.#since = performance.now();
      const found = listActiveTenantsUpTo(this.#ownerAddress, 2);
      this.#found = found;
      found.catch(() => {
        if (this.#found === found) this.#found = undefined;
      });
    }
    const [only, ...others] = await this.#found;
    return others.length === 0 ? only : undefined;
  }
}
