import { timingSafeEqual } from "node:crypto";
import { contextDigest, type RootKey, RootKeyDenied, RootKeyRefused } from "./root-key.js";
import { TransitClient, type TransitSettings } from "./transit-client.js";
import { readWrapped, writeWrapped } from "./wrapped-secret.js";

const DIGEST = 32;
const CIPHERTEXT = /^vault:v(\d+):[A-Za-z0-9+/=]+$/;

/**
 * A key of the Transit engine of HashiCorp Vault or OpenBao. A digest of the context is prepended to the secret,
 * because older releases ignore the engine's own `associated_data`.
 */
export class TransitRootKey implements RootKey {
  readonly id: string;
  readonly #client: TransitClient;
  readonly #settings: TransitSettings;

  constructor(settings: TransitSettings) {
    this.id = transitKeyId(settings);
    this.#client = new TransitClient(settings);
    this.#settings = settings;
  }

  async wrap(secret: Uint8Array, context: Uint8Array): Promise<Buffer> {
    const plaintext = Buffer.concat([contextDigest(context), secret]);
    const data = await this.#client.write(this.#path("encrypt"), { plaintext: plaintext.toString("base64") });
    plaintext.fill(0);
    if (data === "refused" || typeof data.ciphertext !== "string" || !CIPHERTEXT.test(data.ciphertext)) {
      throw new RootKeyDenied(
        `${this.#settings.origin} does not encrypt with ${this.id}. The key must be of a type that encrypts, such as aes256-gcm96.`,
      );
    }
    return writeWrapped(Buffer.from(data.ciphertext));
  }

  async unwrap(wrapped: Uint8Array, context: Uint8Array): Promise<Buffer> {
    const ciphertext = readWrapped(wrapped).toString("latin1");
    if (!CIPHERTEXT.test(ciphertext)) throw new RootKeyRefused("a wrapped key was not made by Transit");
    const data = await this.#client.write(this.#path("decrypt"), { ciphertext });
    if (data === "refused" || typeof data.plaintext !== "string") {
      throw new RootKeyRefused("a wrapped key does not open under this root key");
    }
    const plaintext = Buffer.from(data.plaintext, "base64");
    const fits = plaintext.length >= DIGEST && timingSafeEqual(plaintext.subarray(0, DIGEST), contextDigest(context));
    const secret = Buffer.from(plaintext.subarray(DIGEST));
    plaintext.fill(0);
    if (!fits) {
      secret.fill(0);
      throw new RootKeyRefused("a wrapped key is bound to another context");
    }
    return secret;
  }

  generationOf(wrapped: Uint8Array): number {
    return Number(CIPHERTEXT.exec(readWrapped(wrapped).toString("latin1"))?.[1] ?? 0);
  }

  async renew(): Promise<void> {
    await this.#client.write(`${this.#settings.mount}/keys/${encodeURIComponent(this.#settings.keyName)}/rotate`, {});
  }

  #path(operation: "encrypt" | "decrypt"): string {
    return `${this.#settings.mount}/${operation}/${encodeURIComponent(this.#settings.keyName)}`;
  }
}

/** The id omits the host, because the address of a key may change. */
export function transitKeyId({ mount, keyName }: Pick<TransitSettings, "mount" | "keyName">): string {
  return `transit:${mount}/${keyName}`;
}
