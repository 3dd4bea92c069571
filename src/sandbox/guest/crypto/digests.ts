import { Buffer } from "node:buffer";
import { dataBytes, encoded, type HostCrypto } from "./host-crypto.js";
import { keySpec } from "./keys.js";

/** Gathers data and passes it to the worker at once: a hash of many small chunks costs one call. */
class Gathering {
  protected readonly crypto: HostCrypto;
  protected chunks: Buffer[] = [];
  #done = false;

  constructor(crypto: HostCrypto) {
    this.crypto = crypto;
  }

  update(data: unknown, encoding?: unknown): this {
    if (this.#done) throw new Error("Digest already called");
    // A copy: the caller may change its buffer afterwards.
    this.chunks.push(Buffer.from(dataBytes(data, encoding)));
    return this;
  }

  /** For use as a writable stream: `hash.write(...); hash.end()`. */
  write(data: unknown, encoding?: unknown): boolean {
    this.update(data, encoding);
    return true;
  }

  end(data?: unknown, encoding?: unknown): this {
    return data === undefined ? this : this.update(data, encoding);
  }

  protected gathered(): Buffer {
    if (this.#done) throw new Error("Digest already called");
    this.#done = true;
    return Buffer.concat(this.chunks);
  }
}

export class Hash extends Gathering {
  readonly #options: object;

  constructor(crypto: HostCrypto, options: object) {
    super(crypto);
    this.#options = options;
    // An unknown algorithm is an error of createHash, not of digest.
    crypto.text("hash.check", options);
  }

  copy(): Hash {
    const copy = new Hash(this.crypto, this.#options);
    copy.chunks = [...this.chunks];
    return copy;
  }

  digest(encoding?: unknown): Buffer | string {
    return encoded(this.crypto.bytes("hash", this.#options, this.gathered()), encoding);
  }
}

export class Hmac extends Gathering {
  readonly #options: object;

  constructor(crypto: HostCrypto, options: object) {
    super(crypto);
    this.#options = options;
    crypto.text("hmac.check", options);
  }

  digest(encoding?: unknown): Buffer | string {
    return encoded(this.crypto.bytes("hmac", this.#options, this.gathered()), encoding);
  }
}

export class Sign extends Gathering {
  readonly #algorithm: string;

  constructor(crypto: HostCrypto, algorithm: string) {
    super(crypto);
    this.#algorithm = algorithm;
  }

  sign(key: unknown, encoding?: unknown): Buffer | string {
    return encoded(signWith(this.crypto, this.#algorithm, this.gathered(), key), encoding);
  }
}

export class Verify extends Gathering {
  readonly #algorithm: string;

  constructor(crypto: HostCrypto, algorithm: string) {
    super(crypto);
    this.#algorithm = algorithm;
  }

  verify(key: unknown, signature: unknown, encoding?: unknown): boolean {
    return verifyWith(
      this.crypto,
      this.#algorithm,
      { data: this.gathered(), signature: dataBytes(signature, encoding) },
      key,
    );
  }
}

export function signWith(crypto: HostCrypto, algorithm: unknown, data: Uint8Array, key: unknown): Buffer {
  return crypto.bytes("sign", { algorithm: algorithm ?? null, key: keySpec(key, "private") }, data);
}

export interface SignedData {
  readonly data: Uint8Array;
  readonly signature: Buffer;
}

export function verifyWith(
  crypto: HostCrypto,
  algorithm: unknown,
  { data, signature }: SignedData,
  key: unknown,
): boolean {
  const parameters = {
    algorithm: algorithm ?? null,
    key: keySpec(key, "public"),
    signature: signature.toString("base64"),
  };
  return crypto.text("verify", parameters, data) === "true";
}
