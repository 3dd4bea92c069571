import { join } from "node:path";
import { LineTooLong, linesOf } from "../base/line-splitter.js";
import type { RootKey } from "../crypto/root-key.js";
import { Sensitive } from "../crypto/sensitive.js";
import { LONGEST_SHARE_LINE, notAShare, readShare, type Share, ShareCollection, ShareError } from "../crypto/shares.js";
import type { Config } from "../settings/config.js";
import { ConfigError } from "../settings/environment.js";

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

/**
 * What a sealed server answers to a share. Counts are of all keys that are needed, together, and of the splittings that
 * their last shares are of.
 */
export interface ShareAnswer {
  readonly held: number;
  readonly needed: number;
  /** Shares of other splittings: they are kept, and do not go with the last one. */
  readonly apart: number;
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
  for await (const line of sharesIn(process.stdin)) {
    if (line.trim() === "") continue;
    const { problem } = await desk.take(new Sensitive(line));
    if (problem) throw new ShareError(problem);
    if (found) return found;
  }
  throw new ShareError(missing);
}

/** For a process that a running server starts: shares are handed in where the server itself starts. */
export async function sharesNeedRestart(needed: readonly NeededKey[]): Promise<never> {
  const missing = needed.map(keptInShares).join(". ");
  throw new ShareError(`${missing}. Restart the server to hand in its shares.`);
}

/** The lines of a file or standard input that is to hold shares. @throws {ShareError} where one is too long for a share. */
export async function* sharesIn(input: AsyncIterable<Buffer | string>): AsyncGenerator<string> {
  try {
    yield* linesOf(input, LONGEST_SHARE_LINE);
  } catch (error) {
    throw error instanceof LineTooLong ? notAShare() : error;
  }
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

/** Splittings of one key whose shares are kept. The oldest are forgotten beyond. */
const MOST_SPLITTINGS = 16;

/** A root key that is needed, with the shares of it that were handed in. */
class SplitKey {
  readonly needed: NeededKey;
  readonly #collections = new Map<string, ShareCollection>();
  /** The splitting that the last share is of. */
  #last: ShareCollection | undefined;
  found: UnsealedKey | undefined;

  constructor(needed: NeededKey) {
    this.needed = needed;
  }

  /** Shares of other splittings than the last one. */
  get apart(): number {
    const others = [...this.#collections.values()].filter((collection) => collection !== this.#last);
    return this.found ? 0 : others.reduce((sum, { held }) => sum + held, 0);
  }

  get counts(): { readonly held: number; readonly needed: number } {
    const needed = this.found?.threshold ?? this.#last?.needed ?? this.needed.threshold ?? 0;
    return { held: this.found ? needed : (this.#last?.held ?? 0), needed };
  }

  async add(share: Share): Promise<void> {
    if (this.found) return;
    const collection = this.#collections.get(share.splitId) ?? new ShareCollection(share.keyId);
    this.#collections.set(share.splitId, collection);
    this.#last = collection;
    const [oldest] = this.#collections.keys();
    if (this.#collections.size > MOST_SPLITTINGS && oldest !== undefined) this.#collections.delete(oldest);
    const key = await collection.add(share);
    if (!key) return;
    if (!(await this.needed.fits(key))) {
      throw new ShareError("These shares do not give the root key of this database. All were dropped: start again.");
    }
    this.found = { key, threshold: share.threshold };
    for (const other of this.#collections.values()) other.clear();
  }
}

/**
 * Takes shares one after the other, of several keys in any order, and hands over the keys that they make. A key may have
 * been split more than once: shares of each splitting are kept by themselves, and the first that is complete counts.
 */
export class ShareDesk {
  readonly #keys: readonly SplitKey[];
  readonly #done: (keys: readonly UnsealedKey[]) => void;
  #last: Promise<unknown> = Promise.resolve();

  constructor(needed: readonly NeededKey[], done: (keys: readonly UnsealedKey[]) => void) {
    this.#keys = needed.map((key) => new SplitKey(key));
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
      return this.refuse(error);
    }
  }

  /** The answer to what could not be taken for a share. */
  refuse(error: unknown): ShareAnswer {
    return { ...this.#answer(), problem: error instanceof ShareError ? error.message : "The share cannot be used." };
  }

  async #add(share: Share): Promise<void> {
    const key = this.#keys.find(({ needed }) => needed.id === share.keyId);
    if (!key) {
      const ids = this.#keys.map(({ needed }) => needed.id).join(" or ");
      throw new ShareError(`This share is of the root key ${share.keyId}; ${ids} is needed.`);
    }
    await key.add(share);
    if (this.#isDone) this.#done(this.#keys.flatMap(({ found }) => found ?? []));
  }

  get #isDone(): boolean {
    return this.#keys.every(({ found }) => found !== undefined);
  }

  #answer(): ShareAnswer {
    const sum = (numbers: readonly number[]) => numbers.reduce((total, number) => total + number, 0);
    return {
      held: sum(this.#keys.map(({ counts }) => counts.held)),
      needed: sum(this.#keys.map(({ counts }) => counts.needed)),
      apart: sum(this.#keys.map(({ apart }) => apart)),
      unsealed: this.#isDone,
    };
  }
}
