import { asServer } from "../../audit/tenant-database.js";
import type { Uuid } from "../../base/ids.js";
import type { TenantKeys } from "../../crypto/tenant-keys.js";
import type { Database } from "../../store/database.js";
import type { Keyring } from "../../tenancy/keyring.js";
import { decodeSignedPath, encodeSignedPath, isAuthenticPath } from "../signed-path.js";
import type { ThreeDSDirectory } from "./directory.js";
import type { ThreeDSSession } from "./session.js";
import { type ChallengeChoice, endChallenge, find } from "./sessions.js";

/** The issuer's challenges, where cardholders authenticate themselves. */
export class SimulatedChallenges {
  readonly #database: Database;
  readonly #keyring: Keyring;
  readonly #directory: ThreeDSDirectory;

  constructor(database: Database, keyring: Keyring, directory: ThreeDSDirectory) {
    this.#database = database;
    this.#keyring = keyring;
    this.#directory = directory;
  }

  static addressOf(keys: TenantKeys, id: Uuid): string {
    return encodeSignedPath(keys, "three-ds-challenge", id);
  }

  /** Undefined for an address that we did not create, or a session that has ended. */
  async get(address: string): Promise<ThreeDSSession | undefined> {
    const found = await this.#authenticated(address);
    return found && asServer(this.#database, found.keys).shared((tx) => find(tx, found.id));
  }

  async decide(address: string, choice: ChallengeChoice): Promise<ThreeDSSession | undefined> {
    const found = await this.#authenticated(address);
    return (
      found &&
      asServer(this.#database, found.keys).ordinary((tx) => endChallenge(tx, this.#directory, found.id, choice))
    );
  }

  async #authenticated(address: string) {
    const presented = decodeSignedPath(address);
    if (!presented) return undefined;
    const keys = await this.#keyring.find(presented.tenantId);
    return keys && isAuthenticPath(keys, "three-ds-challenge", presented) ? { ...presented, keys } : undefined;
  }
}
