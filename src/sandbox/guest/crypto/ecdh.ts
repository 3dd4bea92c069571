import { Buffer } from "node:buffer";
import { base64, dataBytes, encoded, type HostCrypto } from "./host-crypto.js";

/** `createECDH`: a key pair on a named curve, and its shared secret with another key. */
export class Ecdh {
  readonly #crypto: HostCrypto;
  readonly #curve: string;
  #privateKey: string | undefined;
  #publicKey: string | undefined;

  constructor(crypto: HostCrypto, curve: unknown) {
    this.#crypto = crypto;
    this.#curve = String(curve);
  }

  generateKeys(encoding?: unknown, format?: unknown): Buffer | string {
    const pair = JSON.parse(this.#crypto.text("ecdh.generate", { curve: this.#curve }));
    this.#privateKey = pair.privateKey;
    this.#publicKey = pair.publicKey;
    return this.getPublicKey(encoding, format);
  }

  setPrivateKey(key: unknown, encoding?: unknown): this {
    this.#privateKey = base64(key, encoding);
    this.#publicKey = this.#crypto.text("ecdh.publicKey", { curve: this.#curve, privateKey: this.#privateKey });
    return this;
  }

  getPrivateKey(encoding?: unknown): Buffer | string {
    return encoded(Buffer.from(this.#own(this.#privateKey), "base64"), encoding);
  }

  getPublicKey(encoding?: unknown, format?: unknown): Buffer | string {
    const parameters = { curve: this.#curve, publicKey: this.#own(this.#publicKey), format: format ?? "uncompressed" };
    return encoded(this.#crypto.bytes("ecdh.convert", parameters), encoding);
  }

  computeSecret(otherPublicKey: unknown, inputEncoding?: unknown, outputEncoding?: unknown): Buffer | string {
    const parameters = { curve: this.#curve, privateKey: this.#own(this.#privateKey) };
    const secret = this.#crypto.bytes("ecdh.compute", parameters, dataBytes(otherPublicKey, inputEncoding));
    return encoded(secret, outputEncoding);
  }

  #own(key: string | undefined): string {
    if (key === undefined) throw new Error("Failed to get ECDH key: none was generated or set.");
    return key;
  }
}
