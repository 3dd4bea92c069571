import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Config } from "./config.js";
import type { RootKey } from "./crypto/root-key.js";
import { Sensitive } from "./crypto/sensitive.js";
import { readShare, type Share, ShareCollection, ShareError } from "./crypto/shares.js";
import { ConfigError } from "./settings/environment.js";

/** A root key that is kept in shares, and is to be put together. */
export interface NeededKey {
  readonly id: string;
  /** How many shares bring it back. Absent where nobody noted it: the shares themselves tell. */
  readonly threshold: number | undefined;
  /** Another replaces it, and it is needed until that has come to its end. */
  readonly isReplaced: boolean;
  /** Whether this is the key: shares that do not belong together give another. */
  fits(key: RootKey): Promise<boolean>;
}

/** A root key that shares brought back, and how many it took. */
export interface UnsealedKey {
  readonly key: RootKey;
  readonly threshold: number;
}

/** Puts all of these keys together: while a root key is replaced, two of them may be needed. */
export type Unseal = (needed: readonly NeededKey[]) => Promise<readonly UnsealedKey[]>;

/** What a sealed server answers to a share. Counts are of all keys that are needed, together. */
export interface ShareAnswer {
  readonly held: number;
  readonly needed: number;
  readonly unsealed: boolean;
  readonly problem?: string;
}

/** The server was told to stop while it waited for shares. */
export class StoppedSealed extends Error {
  override readonly name = "StoppedSealed";
}

/** sockaddr_un holds 108 bytes on Linux and 104 on macOS, with the closing zero. */
const LONGEST_SOCKET_PATH = 103;

/**
 * Where a sealed server takes shares.
 * @throws {ConfigError} where the path is too long for a socket.
 */
export function unsealSocketOf({ dataDir }: Config): string {
  const path = join(dataDir, "unseal.sock");
  if (Buffer.byteLength(path) <= LONGEST_SOCKET_PATH) return path;
  throw new ConfigError(`CLOAKROOM_DATA_DIR is too long for the socket ${path}: give it a shorter path.`);
}

/** Takes the shares of a command from its standard input. */
export async function sharesOnInput(needed: readonly NeededKey[]): Promise<readonly UnsealedKey[]> {
  const missing = needed.map(askForShares).join(" ");
  if (process.stdin.isTTY) throw new ShareError(missing);
  let found: readonly UnsealedKey[] | undefined;
  const desk = new ShareDesk(needed, (keys) => {
    found = keys;
  });
  for await (const line of createInterface({ input: process.stdin })) {
    if (line.trim() === "") continue;
    const { problem } = await desk.take(new Sensitive(line));
    if (problem) throw new ShareError(problem);
    if (found) return found;
  }
  throw new ShareError(missing);
}

/** The beginning of a sentence for the operator. */
export function keptInShares({ id, isReplaced }: NeededKey): string {
  const known = isReplaced ? ", which is being replaced (cloakroom keys rotate --root, until it has ended)," : "";
  return `The root key ${id}${known} is kept in shares`;
}

function askForShares(needed: NeededKey): string {
  const { id, threshold } = needed;
  return threshold === undefined
    ? `The root key ${id} is missing. Restore its file from your backup, or name its place in CLOAKROOM_ROOT_KEY_FILE; where it is kept in shares, give them on standard input, one per line.`
    : `${keptInShares(needed)}, and this command needs it: give ${threshold} of them on standard input, one per line.`;
}

/** Takes shares one after the other, of several keys in any order, and hands over the keys that they make. */
export class ShareDesk {
  readonly #places: readonly { readonly needed: NeededKey; readonly collection: ShareCollection }[];
  readonly #done: (keys: readonly UnsealedKey[]) => void;
  readonly #found = new Map<string, UnsealedKey>();
  #last: Promise<unknown> = Promise.resolve();

  constructor(needed: readonly NeededKey[], done: (keys: readonly UnsealedKey[]) => void) {
    this.#places = needed.map((key) => ({ needed: key, collection: new ShareCollection(key.id) }));
    this.#done = done;
  }

  take(line: Sensitive<string>): Promise<ShareAnswer> {
    const next = this.#last.then(() => this.#take(line));
    this.#last = next;
    return next;
  }

  async #take(line: Sensitive<string>): Promise<ShareAnswer> {
    if (this.#isDone) return this.#answer();
    try {
      await this.#add(readShare(line));
      return this.#answer();
    } catch (error) {
      return { ...this.#answer(), problem: error instanceof ShareError ? error.message : "The share cannot be used." };
    }
  }

  async #add(share: Share): Promise<void> {
    const place = this.#places.find(({ needed }) => needed.id === share.keyId);
    if (!place) {
      const ids = this.#places.map(({ needed }) => needed.id).join(" or ");
      throw new ShareError(`This share is of the root key ${share.keyId}; ${ids} is needed.`);
    }
    if (this.#found.has(share.keyId)) return;
    const key = await place.collection.add(share);
    if (!key) return;
    if (!(await place.needed.fits(key))) {
      throw new ShareError("These shares do not give the root key of this database. All were dropped: start again.");
    }
    this.#found.set(share.keyId, { key, threshold: share.threshold });
    if (this.#isDone) this.#done([...this.#found.values()]);
  }

  get #isDone(): boolean {
    return this.#found.size === this.#places.length;
  }

  #answer(): ShareAnswer {
    const counts = this.#places.map(({ needed: { id, threshold = 0 }, collection }) => {
      const needed = this.#found.get(id)?.threshold ?? collection.needed ?? threshold;
      return { held: this.#found.has(id) ? needed : collection.held, needed };
    });
    return {
      held: counts.reduce((sum, { held }) => sum + held, 0),
      needed: counts.reduce((sum, { needed }) => sum + needed, 0),
      unsealed: this.#isDone,
    };
  }
}
