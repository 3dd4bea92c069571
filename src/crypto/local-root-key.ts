import { createCipheriv, createDecipheriv, createSecretKey, type KeyObject } from "node:crypto";
import { newNonce } from "./bytes.js";
import { type RootKey, RootKeyRefused } from "./root-key.js";
import { Sensitive } from "./sensitive.js";
import { readWrapped, writeWrapped } from "./wrapped-secret.js";

const NONCE = 12;
const TAG = 16;

/** A root key in this process, from a key file or from shares. AES-256-GCM; layout: format, nonce (12), ciphertext, tag (16). */
export class LocalRootKey implements RootKey {
  readonly id: string;
  readonly #key: KeyObject;

  /** @param secret 32 bytes, which are overwritten. */
  constructor(id: string, secret: Sensitive<Buffer>) {
    this.id = id;
    this.#key = createSecretKey(secret.reveal());
    secret.reveal().fill(0);
  }

  async wrap(secret: Uint8Array, context: Uint8Array): Promise<Buffer> {
    const nonce = newNonce();
    const cipher = createCipheriv("aes-256-gcm", this.#key, nonce);
    cipher.setAAD(context);
    const ciphertext = cipher.update(secret);
    cipher.final();
    return writeWrapped(Buffer.concat([nonce, ciphertext, cipher.getAuthTag()]));
  }

  async unwrap(wrapped: Uint8Array, context: Uint8Array): Promise<Buffer> {
    const bytes = readWrapped(wrapped);
    if (bytes.length < NONCE + TAG) throw new RootKeyRefused("a wrapped key is malformed");
    try {
      const decipher = createDecipheriv("aes-256-gcm", this.#key, bytes.subarray(0, NONCE));
      decipher.setAAD(context);
      decipher.setAuthTag(bytes.subarray(bytes.length - TAG));
      const secret = decipher.update(bytes.subarray(NONCE, bytes.length - TAG));
      decipher.final();
      return secret;
    } catch {
      throw new RootKeyRefused("a wrapped key does not open under this root key");
    }
  }

  /** Each new key has a new id, so there is one generation. */
  generationOf(): number {
    return 0;
  }

  /** The raw key, for a key file or shares. */
  export(): Sensitive<Buffer> {
    return new Sensitive(this.#key.export());
  }
}
