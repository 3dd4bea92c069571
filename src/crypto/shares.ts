import { createHash, randomBytes } from "node:crypto";
import { combine, split } from "shamir-secret-sharing";
import { LocalRootKey } from "./local-root-key.js";
import { Sensitive } from "./sensitive.js";

const SHARE = /^cloakroom-share-1\.([a-z0-9]{16})\.([0-9a-f]{8})\.(\d{1,3})\.([A-Za-z0-9_-]{44})\.([0-9a-f]{8})$/;
/** The library's limit: the position of a share is one non-zero byte. */
export const MAX_SHARES = 255;

/** Longest input line: a share has at most 101 characters, and may have blanks around it. */
export const MAX_SHARE_LINE_LENGTH = 1_000;

/** A share is mistyped, or does not belong to the others. The message is one line for the operator, without the share. */
export class ShareError extends Error {
  override readonly name = "ShareError";
}

/** One part of a root key. Fewer than `threshold` of them tell nothing about it. */
export interface Share {
  /** The id of its root key. */
  readonly keyId: string;
  /** Identifies one splitting of a key: shares of different splittings do not combine. */
  readonly splitId: string;
  readonly threshold: number;
  readonly part: Sensitive<Buffer>;
}

/**
 * Splits a root key by Shamir's scheme. Each share is one line: the root key's id, an id of this splitting, the
 * threshold, the part, and a checksum against typing errors.
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

/** @throws {ShareError} for a text that is not a share, or was mistyped. */
export function readShare(text: Sensitive<string>): Share {
  const line = text.reveal().trim();
  const [, keyId, splitId, threshold, part, sum] = SHARE.exec(line) ?? [];
  if (!keyId || !splitId || !threshold || !part || !sum) throw notAShare();
  if (checksum(line.slice(0, line.lastIndexOf("."))) !== sum) {
    throw new ShareError("This share is mistyped or damaged: its checksum does not fit.");
  }
  return { keyId, splitId, threshold: Number(threshold), part: new Sensitive(Buffer.from(part, "base64url")) };
}

/** Collects shares until they give a root key. */
export class ShareCollection {
  readonly #keyId: string;
  #shares: Share[] = [];

  /** @param keyId the required root key. */
  constructor(keyId: string) {
    this.#keyId = keyId;
  }

  get held(): number {
    return this.#shares.length;
  }

  /** Number of shares that give the key. Undefined before the first share. */
  get needed(): number | undefined {
    return this.#shares[0]?.threshold;
  }

  /**
   * Adds a share. A repeated share changes nothing.
   * @returns the root key once there are enough shares. Check it against its check value.
   * @throws {ShareError} for a share of another key or splitting. If the shares do not combine, all are dropped.
   */
  async add(share: Share): Promise<LocalRootKey | undefined> {
    const [first] = this.#shares;
    if (share.keyId !== this.#keyId) {
      throw new ShareError(`This share is of the root key ${share.keyId}; ${this.#keyId} is needed.`);
    }
    if (first && first.splitId !== share.splitId) {
      throw new ShareError(
        `This share is from a different split (${share.splitId}) than those handed in (${first.splitId}): use shares that were made together.`,
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

  clear(): void {
    for (const { part } of this.#shares) part.reveal().fill(0);
    this.#shares = [];
  }
}

function checksum(text: string): string {
  return createHash("sha256").update(text).digest("hex").slice(0, 8);
}
