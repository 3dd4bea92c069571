import { Buffer } from "node:buffer";
import { base64, dataBytes, encoded, type HostCrypto } from "./host-crypto.js";
import { secretBase64 } from "./keys.js";

/** What tenants' code passes to `createCipheriv` and `createDecipheriv`. */
interface CipherArguments {
  readonly decrypt: boolean;
  readonly algorithm: unknown;
  readonly key: unknown;
  readonly iv: unknown;
  readonly options: unknown;
}

/** A cipher or decipher with its state in the worker, because each `update` returns its output so far. */
export class Cipher {
  readonly #crypto: HostCrypto;
  readonly #id: string;
  readonly #algorithm: string;

  constructor(crypto: HostCrypto, { decrypt, algorithm, key, iv, options }: CipherArguments) {
    const { authTagLength } = Object(options);
    this.#crypto = crypto;
    this.#algorithm = String(algorithm);
    this.#id = crypto.text("cipher.open", {
      decrypt,
      algorithm: this.#algorithm,
      key: secretBase64(key),
      iv: iv === null || iv === undefined ? null : base64(iv),
      authTagLength,
    });
  }

  update(data: unknown, inputEncoding?: unknown, outputEncoding?: unknown): Buffer | string {
    const given = dataBytes(data, inputEncoding);
    return encoded(Buffer.concat(this.#pieces(given).map((piece) => this.#update(piece))), outputEncoding);
  }

  #update(data: Uint8Array): Buffer {
    return this.#crypto.bytes("cipher.update", { id: this.#id }, data);
  }

  /** Splits data to the worker's limit. The worker rejects longer data of modes that take all data at once. */
  #pieces(data: Buffer): Buffer[] {
    const size = /cfb[18]$/i.test(this.#algorithm) ? 64 * 1024 : 1024 * 1024;
    if (data.length <= size || /ccm$|wrap/i.test(this.#algorithm)) return [data];
    return Array.from({ length: Math.ceil(data.length / size) }, (_, index) =>
      data.subarray(index * size, (index + 1) * size),
    );
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
