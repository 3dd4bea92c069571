import { Buffer } from "node:buffer";
import { base64, dataBytes, encoded, type HostCrypto } from "./host-crypto.js";
import { secretBase64 } from "./keys.js";

/** A cipher or decipher whose state is in the worker, because each `update` gives what it has so far. */
export class Cipher {
  readonly #crypto: HostCrypto;
  readonly #id: string;

  constructor(crypto: HostCrypto, decrypt: boolean, algorithm: unknown, key: unknown, iv: unknown, options: unknown) {
    const { authTagLength } = Object(options);
    this.#crypto = crypto;
    this.#id = crypto.text("cipher.open", {
      decrypt,
      algorithm: String(algorithm),
      key: secretBase64(key),
      iv: iv === null || iv === undefined ? null : base64(iv),
      authTagLength,
    });
  }

  update(data: unknown, inputEncoding?: unknown, outputEncoding?: unknown): Buffer | string {
    const given = dataBytes(data, inputEncoding);
    return encoded(this.#crypto.bytes("cipher.update", { id: this.#id }, given), outputEncoding);
  }

  final(outputEncoding?: unknown): Buffer | string {
    return encoded(this.#crypto.bytes("cipher.final", { id: this.#id }), outputEncoding);
  }

  setAAD(data: unknown, options?: unknown): this {
    const { plaintextLength } = Object(options);
    this.#crypto.text("cipher.setAAD", { id: this.#id, plaintextLength }, dataBytes(data));
    return this;
  }

  setAuthTag(tag: unknown, encoding?: unknown): this {
    this.#crypto.text("cipher.setAuthTag", { id: this.#id }, dataBytes(tag, encoding));
    return this;
  }

  getAuthTag(): Buffer {
    return Buffer.from(this.#crypto.bytes("cipher.getAuthTag", { id: this.#id }));
  }

  setAutoPadding(on = true): this {
    this.#crypto.text("cipher.setAutoPadding", { id: this.#id, on: Boolean(on) });
    return this;
  }
}
