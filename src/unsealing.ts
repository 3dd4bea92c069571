import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Config } from "./config.js";
import type { RootKey } from "./crypto/root-key.js";
import { Sensitive } from "./crypto/sensitive.js";
import { readShare, ShareCollection, ShareError } from "./crypto/shares.js";
import { ConfigError } from "./settings/environment.js";

/** A root key that is kept in shares, and is to be put together. */
export interface NeededKey {
  readonly id: string;
  readonly threshold: number;
  /** Whether this is the key: shares that do not belong together give another. */
  fits(key: RootKey): Promise<boolean>;
}

export type Unseal = (needed: NeededKey) => Promise<RootKey>;

/** What a sealed server answers to a share. */
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
export async function sharesOnInput(needed: NeededKey): Promise<RootKey> {
  const missing = `The root key ${needed.id} is kept in shares, and this command needs it: give ${needed.threshold} of them on standard input, one per line.`;
  if (process.stdin.isTTY) throw new ShareError(missing);
  let found: RootKey | undefined;
  const desk = new ShareDesk(needed, (key) => {
    found = key;
  });
  for await (const line of createInterface({ input: process.stdin })) {
    if (line.trim() === "") continue;
    const { problem } = await desk.take(new Sensitive(line));
    if (problem) throw new ShareError(problem);
    if (found) return found;
  }
  throw new ShareError(missing);
}

/** Takes shares one after the other, and hands over the key that they make. */
export class ShareDesk {
  readonly #needed: NeededKey;
  readonly #collection: ShareCollection;
  readonly #done: (key: RootKey) => void;
  #last: Promise<unknown> = Promise.resolve();
  #isDone = false;

  constructor(needed: NeededKey, done: (key: RootKey) => void) {
    this.#needed = needed;
    this.#collection = new ShareCollection(needed.id);
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
      const key = await this.#collection.add(readShare(line));
      if (!key) return this.#answer();
      if (!(await this.#needed.fits(key))) {
        throw new ShareError("These shares do not give the root key of this database. All were dropped: start again.");
      }
      this.#isDone = true;
      this.#done(key);
      return this.#answer();
    } catch (error) {
      return { ...this.#answer(), problem: error instanceof ShareError ? error.message : "The share cannot be used." };
    }
  }

  #answer(): ShareAnswer {
    const { threshold } = this.#needed;
    return { held: this.#isDone ? threshold : this.#collection.held, needed: threshold, unsealed: this.#isDone };
  }
}
