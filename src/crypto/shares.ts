import { createHash, randomBytes } from "node:crypto";
import { combine, split } from "shamir-secret-sharing";
import { LocalRootKey } from "./local-root-key.js";
import { Sensitive } from "./sensitive.js";

const SHARE = /^cloakroom-share-1\.([a-z0-9]{16})\.([0-9a-f]{8})\.(\d{1,3})\.([A-Za-z0-9_-]{44})\.([0-9a-f]{8})$/;
/** The library's own limits: a share's place is one byte that is not zero. */
export const MOST_SHARES = 255;

/** No line of shares is longer: a share has at most 101 characters, and may have blanks around it. */
export const LONGEST_SHARE_LINE = 1_000;

/** A share is mistyped, or does not belong to the others. The message is one line for the operator, without the share. */
export class ShareError extends Error {
  override readonly name = "ShareError";
}

/** One part of a root key. Fewer than `threshold` of them tell nothing about it. */
export interface Share {
  /** The root key that it is a part of. */
  readonly keyId: string;
  /** Tells splittings of one key apart: their shares do not go together. */
  readonly splitId: string;
  readonly threshold: number;
  readonly part: Sensitive<Buffer>;
}

/**
 * Splits a root key by Shamir's scheme. Each share is one line: the root key's id, an id of this splitting, the threshold,
 * the part, and a checksum against slips of the pen.
 */
export async function splitRootKey(
  key: LocalRootKey,
  { shares, threshold }: { readonly shares: number; readonly threshold: number },
): Promise<Sensitive<string>[]> {
  const secret = key.export().reveal();
  const parts = await split(Uint8Array.from(secret), shares, threshold);
  secret.fill(0);
  const splitId = randomBytes(4).toString("hex");
  return parts.map((part) => {
    const text = `cloakroom-share-1.${key.id}.${splitId}.${threshold}.${Buffer.from(part).toString("base64url")}`;
    return new Sensitive(`${text}.${checksum(text)}`);
  });
}

export function notAShare(): ShareError {
  return new ShareError("This is not a share: it starts with cloakroom-share-1 and is one line.");
}

/** @throws {ShareError} for a text that is no share, or was mistyped. */
export function readShare(text: Sensitive<string>): Share {
  const line = text.reveal().trim();
  const [, keyId, splitId, threshold, part, sum] = SHARE.exec(line) ?? [];
  if (!keyId || !splitId || !threshold || !part || !sum) throw notAShare();
  if (checksum(line.slice(0, line.lastIndexOf("."))) !== sum) {
    throw new ShareError("This share is mistyped or damaged: its checksum does not fit.");
  }
  return { keyId, splitId, threshold: Number(threshold), part: new Sensitive(Buffer.from(part, "base64url")) };
}

/** Collects shares until a root key can be put together. */
export class ShareCollection {
  readonly #keyId: string;
  #shares: Share[] = [];

  /** @param keyId the root key that is needed. */
  constructor(keyId: string) {
    this.#keyId = keyId;
  }

  get held(): number {
    return this.#shares.length;
  }

  /** Shares that bring the key together. Undefined before the first one tells. */
  get needed(): number | undefined {
    return this.#shares[0]?.threshold;
  }

  /**
   * Adds a share. One that was handed in already changes nothing.
   * @returns the root key once there are enough. Whether it is the right one is for its check value to tell.
   * @throws {ShareError} for a share of another key or splitting, and where the shares do not go together: all are
   * forgotten then.
   */
  async add(share: Share): Promise<LocalRootKey | undefined> {
    const [first] = this.#shares;
    if (share.keyId !== this.#keyId) {
      throw new ShareError(`This share is of the root key ${share.keyId}; ${this.#keyId} is needed.`);
    }
    if (first && first.splitId !== share.splitId) {
      throw new ShareError(
        `This share is of another splitting (${share.splitId}) than those handed in (${first.splitId}): use shares that were made together.`,
      );
    }
    if (!this.#shares.some(({ part }) => part.equals(share.part))) this.#shares.push(share);
    if (this.#shares.length < share.threshold) return undefined;
    const parts = this.#shares.map(({ part }) => Uint8Array.from(part.reveal()));
    this.clear();
    const secret = await combine(parts).catch(() => {
      throw new ShareError("These shares do not go together. All were dropped: start again.");
    });
    return new LocalRootKey(this.#keyId, new Sensitive(Buffer.from(secret)));
  }

  /** Forgets what was handed in. */
  clear(): void {
    for (const { part } of this.#shares) part.reveal().fill(0);
    this.#shares = [];
  }
}

function checksum(text: string): string {
  return createHash("sha256").update(text).digest("hex").slice(0, 8);
}
