import { Buffer } from "node:buffer";
import { base64, dataBytes, type HostCrypto } from "./host-crypto.js";

/** A key for the worker: its material and its options (padding, hashes). */
export interface KeySpec {
  readonly role: "private" | "public" | "secret";
  readonly pem?: string;
  /** Base64. */
  readonly der?: string;
  readonly derType?: unknown;
  readonly jwk?: unknown;
  /** Base64, for secret keys. */
  readonly secret?: string;
  readonly padding?: unknown;
  readonly saltLength?: unknown;
  readonly dsaEncoding?: unknown;
  readonly oaepHash?: unknown;
  /** Base64. */
  readonly oaepLabel?: string;
}

/** The material of a key lives in the instance; the worker reads it again for each use. */
export class KeyObject {
  readonly type: KeySpec["role"];
  readonly asymmetricKeyType: string | undefined;
  readonly asymmetricKeyDetails: unknown;
  readonly symmetricKeySize: number | undefined;
  readonly #crypto: HostCrypto;
  readonly #spec: KeySpec;

  constructor(crypto: HostCrypto, spec: KeySpec) {
    this.#crypto = crypto;
    this.#spec = spec;
    const described = JSON.parse(crypto.text("key.describe", { key: spec }));
    this.type = spec.role;
    this.asymmetricKeyType = described.asymmetricKeyType;
    this.asymmetricKeyDetails = described.asymmetricKeyDetails;
    this.symmetricKeySize = described.symmetricKeySize;
  }

  export(options: unknown): unknown {
    const { format, type } = Object(options);
    if (this.type === "secret" && format !== "jwk") return Buffer.from(this.#spec.secret ?? "", "base64");
    const parameters = { key: this.#spec, format: format ?? "pem", type };
    if (format === "jwk") return JSON.parse(this.#crypto.text("key.export", parameters));
    return format === "der"
      ? this.#crypto.bytes("key.export", parameters)
      : this.#crypto.text("key.export", parameters);
  }

  equals(other: KeyObject): boolean {
    return JSON.stringify(this.export({ format: "jwk" })) === JSON.stringify(other.export({ format: "jwk" }));
  }

  spec(): KeySpec {
    return this.#spec;
  }
}

/** Describes a key in any form that Node accepts: PEM text, bytes, an object with `key` and options, a KeyObject. */
export function keySpec(given: unknown, role: "private" | "public"): KeySpec {
  if (given instanceof KeyObject) return { ...given.spec(), role };
  if (typeof given === "string" || ArrayBuffer.isView(given) || given instanceof ArrayBuffer) {
    return { role, pem: dataBytes(given).toString("utf8") };
  }
  const { key, format, type, passphrase, oaepLabel, ...rest } = Object(given);
  if (passphrase !== undefined) {
    // The key's creator chooses the time that opening it takes, and it cannot be interrupted.
    throw new Error("Keys with a passphrase are not supported here.");
  }
  const { padding, saltLength, dsaEncoding, oaepHash } = rest;
  const options = { padding, saltLength, dsaEncoding, oaepHash, ...(oaepLabel && { oaepLabel: base64(oaepLabel) }) };
  if (key instanceof KeyObject) return { ...key.spec(), role, ...options };
  if (format === "jwk") return { role, jwk: key, ...options };
  if (format === "der") return { role, der: base64(key), derType: type, ...options };
  return { role, pem: dataBytes(key).toString("utf8"), ...options };
}

/** A secret as base64: text, bytes or a secret KeyObject. */
export function secretBase64(key: unknown): string {
  return key instanceof KeyObject ? (key.spec().secret ?? "") : base64(key);
}
