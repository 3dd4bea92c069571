import { createPrivateKey, createPublicKey, generateKeyPair, type KeyObject } from "node:crypto";
import { promisify } from "node:util";
import { openTenant, type TenantParts } from "../audit/tenant-database.js";
import { parseUuid, type Uuid, VAULT_TENANT_ID } from "../base/ids.js";
import { sealedBytes } from "../crypto/sealed-record.js";
import type { TenantKeys } from "../crypto/tenant-keys.js";
import { insertSigningKeyIfMissing, readSigningKey } from "../store/jobs/webhook-signing-keys.js";

/** Of the published interface's signatures, version 1. Another version would have another id. */
const KEY_ID = "00000000-0000-7000-8000-000000000001";
const BITS = 2_048;

/** The RSA key of the vault that signs requests to webhooks. It is created at its first use, and never replaced. */
export class SigningKey {
  readonly #parts: TenantParts;
  #loaded: KeyObject | undefined;

  constructor(parts: TenantParts) {
    this.#parts = parts;
  }

  async privateKey(): Promise<KeyObject> {
    this.#loaded ??= await this.#load();
    return this.#loaded;
  }

  /** As SPKI in PEM, by which receivers verify. */
  async publicKeyPem(): Promise<string> {
    return String(createPublicKey(await this.privateKey()).export({ type: "spki", format: "pem" }));
  }

  async #load(): Promise<KeyObject> {
    const vault = await openTenant(this.#parts, VAULT_TENANT_ID);
    const found = await vault.ordinary((tx) => tx.query(readSigningKey, keyId()));
    if (found) return opened(vault.keys, found.private_key);
    const { privateKey } = await promisify(generateKeyPair)("rsa", { modulusLength: BITS });
    const text = privateKey.export({ type: "pkcs8", format: "der" });
    const stored = await vault.ordinary(async (tx) => {
      tx.enqueue(insertSigningKeyIfMissing, {
        id: keyId(),
        private_key: signingKeyBytes.seal(vault.keys, { id: keyId() }, text),
      });
      return tx.query(readSigningKey, keyId());
    });
    if (!stored) throw new Error("the key that signs requests to webhooks was not stored");
    return opened(vault.keys, stored.private_key);
  }
}

function opened(keys: TenantKeys, sealed: Buffer): KeyObject {
  return createPrivateKey({ key: signingKeyBytes.open(keys, { id: keyId() }, sealed), type: "pkcs8", format: "der" });
}

export const signingKeyBytes = sealedBytes({ field: "webhook_signing_key" });

function keyId(): Uuid {
  const id = parseUuid(KEY_ID);
  if (!id) throw new Error("the id of the signing key is not a UUID");
  return id;
}
