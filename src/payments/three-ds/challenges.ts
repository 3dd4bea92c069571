import type { Uuid } from "../../base/ids.js";
import type { TenantKeys } from "../../crypto/tenant-keys.js";
import type { Tenants } from "../../tenancy/tenants.js";
import { decodeSignedPath, encodeSignedPath, isAuthenticPath } from "../signed-path.js";
import type { ThreeDSDirectory } from "./directory.js";
import type { ThreeDSSession } from "./session.js";
import { type ChallengeChoice, endChallenge, find } from "./sessions.js";

/** The issuer's challenges, where cardholders authenticate themselves. */
export class SimulatedChallenges {
  readonly #tenants: Tenants;
  readonly #directory: ThreeDSDirectory;

  constructor(tenants: Tenants, directory: ThreeDSDirectory) {
    this.#tenants = tenants;
    this.#directory = directory;
  }

  static addressOf(keys: TenantKeys, id: Uuid): string {
    return encodeSignedPath(keys, "three-ds-challenge", id);
  }

  /** Undefined for an address that we did not create, or a session that has ended. */
  async get(address: string): Promise<ThreeDSSession | undefined> {
    const found = await this.#authenticated(address);
    return found?.tenant.shared((tx) => find(tx, found.id));
  }

  async decide(address: string, choice: ChallengeChoice): Promise<ThreeDSSession | undefined> {
    const found = await this.#authenticated(address);
    return found?.tenant.ordinary((tx) => endChallenge(tx, this.#directory, found.id, choice));
  }

  async #authenticated(address: string) {
    const presented = decodeSignedPath(address);
    if (!presented) return undefined;
    const tenant = await this.#tenants.find(presented.tenantId);
    if (!tenant || !isAuthenticPath(tenant.keys, "three-ds-challenge", presented)) return undefined;
    return { id: presented.id, tenant };
  }
}
