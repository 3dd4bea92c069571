import { join } from "node:path";
import { LineTooLong, readLines } from "../base/line-splitter.js";
import { terminal } from "../base/terminal.js";
import type { RootKey } from "../crypto/root-key.js";
import { Sensitive } from "../crypto/sensitive.js";
import {
  MAX_SHARE_LINE_LENGTH,
  notAShare,
  readShare,
  type Share,
  ShareCollection,
  ShareError,
} from "../crypto/shares.js";
import type { Config } from "../settings/config.js";
import { ConfigError } from "../settings/config-error.js";

/** A root key that is kept in shares and must be assembled. */
export interface KeyInShares {
  readonly id: string;
  /** How many shares are required. Absent if that was not recorded: the shares themselves show it. */
  readonly threshold: number | undefined;
  /** Another key replaces it, and it is needed until the replacement has ended. */
  readonly isReplaced: boolean;
  /** Whether this is the key: shares of different splits give a different one. */
  fits(key: RootKey): Promise<boolean>;
}

/** A root key assembled from shares, and how many it took. */
export interface UnsealedKey {
  readonly key: RootKey;
  readonly threshold: number;
}

/** Assembles all these keys: during a replacement of the root key, two may be needed. */
export type Unseal = (needed: readonly KeyInShares[]) => Promise<readonly UnsealedKey[]>;

/** A sealed server's response to a share. Counts cover all needed keys together, each for the split of its last share. */
export interface ShareResult {
  readonly held: number;
  readonly needed: number;
  /** Shares of other splits: they are kept, but do not combine with the last one. */
  readonly apart: number;
  readonly unsealed: boolean;
  readonly problem?: string;
}

/** sockaddr_un holds 108 bytes on Linux and 104 on macOS, including the terminating zero. */
const MAX_SOCKET_PATH_LENGTH = 103;

/**
 * The socket where a sealed server accepts shares.
 * @throws {ConfigError} if the path is too long for a socket.
 */
export function unsealSocketPath({ dataDir }: Config): string {
  const path = join(dataDir, "unseal.sock");
  if (Buffer.byteLength(path) <= MAX_SOCKET_PATH_LENGTH) return path;
  throw new ConfigError(`CLOAKROOM_DATA_DIR is too long for the socket ${path}: give it a shorter path.`);
}

/** Reads a command's shares from its standard input. */
export async function sharesOnInput(needed: readonly KeyInShares[]): Promise<readonly UnsealedKey[]> {
  const missing = needed.map(askForShares).join(" ");
  if (terminal().stdin.isTTY) throw new ShareError(missing);
  let found: readonly UnsealedKey[] | undefined;
  const collector = new ShareCollector(needed, (keys) => {
    found = keys;
  });
  for await (const line of sharesIn(terminal().stdin)) {
    if (line.trim() === "") continue;
    const { problem } = await collector.take(new Sensitive(line));
    if (problem) throw new ShareError(problem);
    if (found) return found;
  }
  throw new ShareError(missing);
}

/** For a process that a running server starts: shares can only be provided when the server itself starts. */
export async function sharesNeedRestart(needed: readonly KeyInShares[]): Promise<never> {
  const missing = needed.map(keptInShares).join(". ");
  throw new ShareError(`${missing}. Restart the server to hand in its shares.`);
}

/** The lines of a file or standard input with shares. @throws {ShareError} if one is too long for a share. */
export async function* sharesIn(input: AsyncIterable<Buffer | string>): AsyncGenerator<string> {
  try {
    yield* readLines(input, MAX_SHARE_LINE_LENGTH);
  } catch (error) {
    throw error instanceof LineTooLong ? notAShare() : error;
  }
}

/** The start of a sentence for the operator. */
export function keptInShares({ id, isReplaced }: KeyInShares): string {
  const known = isReplaced ? ", which is being replaced (cloakroom keys rotate --root, until it has ended)," : "";
  return `The root key ${id}${known} is kept in shares`;
}

function askForShares(needed: KeyInShares): string {
  const { id, threshold } = needed;
  return threshold === undefined
    ? `The root key ${id} is missing. Restore its file from your backup, or name its place in CLOAKROOM_ROOT_KEY_FILE; where it is kept in shares, give them on standard input, one per line.`
    : `${keptInShares(needed)}, and this command needs it: give ${threshold} of them on standard input, one per line.`;
}

/** Splits of one key whose shares are kept. Beyond this number, the oldest are dropped. */
const MAX_SPLITTINGS = 16;

class SplitKey {
  readonly needed: KeyInShares;
  readonly #collections = new Map<string, ShareCollection>();
  /** The split of the last share. */
  #last: ShareCollection | undefined;
  found: UnsealedKey | undefined;

  constructor(needed: KeyInShares) {
    this.needed = needed;
  }

  /** Shares of splits other than the last one. */
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
    if (this.#collections.size > MAX_SPLITTINGS && oldest !== undefined) this.#collections.delete(oldest);
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
 * Accepts shares of several keys in any order, and returns the assembled keys. A key may have been split more than
 * once: shares of each split are kept separately, and the first complete split is used.
 */
export class ShareCollector {
  readonly #keys: readonly SplitKey[];
  readonly #done: (keys: readonly UnsealedKey[]) => void;
  #last: Promise<unknown> = Promise.resolve();

  constructor(needed: readonly KeyInShares[], done: (keys: readonly UnsealedKey[]) => void) {
    this.#keys = needed.map((key) => new SplitKey(key));
    this.#done = done;
  }

  take(line: Sensitive<string>): Promise<ShareResult> {
    const next = this.#last.then(() => this.#take(line));
    this.#last = next;
    return next;
  }

  async #take(line: Sensitive<string>): Promise<ShareResult> {
    if (this.#isDone) return this.#progress();
    try {
      await this.#add(readShare(line));
      return this.#progress();
    } catch (error) {
      return this.refuse(error);
    }
  }

  refuse(error: unknown): ShareResult {
    return { ...this.#progress(), problem: error instanceof ShareError ? error.message : "The share cannot be used." };
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

  #progress(): ShareResult {
    const sum = (numbers: readonly number[]) => numbers.reduce((total, number) => total + number, 0);
    return {
      held: sum(this.#keys.map(({ counts }) => counts.held)),
      needed: sum(this.#keys.map(({ counts }) => counts.needed)),
      apart: sum(this.#keys.map(({ apart }) => apart)),
      unsealed: this.#isDone,
    };
  }
}
