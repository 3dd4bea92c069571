import type { KMSClient } from "@aws-sdk/client-kms";
import { contextDigest, type RootKey, RootKeyDenied, RootKeyRefused, RootKeyUnreachable } from "./root-key.js";
import { readWrapped, writeWrapped } from "./wrapped-secret.js";

const TIMEOUT_MS = 5_000;

/** KMS reports that the ciphertext belongs to another key or is damaged. */
const REFUSED = ["InvalidCiphertextException", "IncorrectKeyException"];
/** KMS denied access, or the AWS client has no credentials: a retry will not help. */
const DENIED = [
  "AccessDeniedException",
  "NotFoundException",
  "DisabledException",
  "KMSInvalidStateException",
  "InvalidKeyUsageException",
  "UnrecognizedClientException",
  "InvalidSignatureException",
  "ExpiredTokenException",
  "IncompleteSignatureException",
  "ValidationException",
  "CredentialsProviderError",
];

/**
 * A symmetric key of AWS KMS. Region, credentials and endpoint come from the usual AWS sources: the environment, a
 * profile, or the machine's role. A digest of the context is the encryption context, which CloudTrail shows.
 */
export class KmsRootKey implements RootKey {
  readonly id: string;
  readonly #keyId: string;
  #client: Promise<AwsKms> | undefined;

  constructor(keyId: string) {
    this.id = `kms:${keyId}`;
    this.#keyId = keyId;
  }

  async wrap(secret: Uint8Array, context: Uint8Array): Promise<Buffer> {
    const { client, EncryptCommand } = await this.#open();
    const command = new EncryptCommand({
      KeyId: this.#keyId,
      Plaintext: secret,
      EncryptionContext: encryptionContext(context),
    });
    const { CiphertextBlob } = await client.send(command).catch((error: unknown) => Promise.reject(this.#name(error)));
    if (!CiphertextBlob) throw this.#unreachable("no ciphertext");
    return writeWrapped(CiphertextBlob);
  }

  async unwrap(wrapped: Uint8Array, context: Uint8Array): Promise<Buffer> {
    const { client, DecryptCommand } = await this.#open();
    const command = new DecryptCommand({
      KeyId: this.#keyId,
      CiphertextBlob: readWrapped(wrapped),
      EncryptionContext: encryptionContext(context),
    });
    const { Plaintext } = await client.send(command).catch((error: unknown) => Promise.reject(this.#name(error)));
    if (!Plaintext) throw this.#unreachable("no plaintext");
    return Buffer.from(Plaintext);
  }

  /** KMS rotates its key material without notice and keeps the old versions. */
  generationOf(): number {
    return 0;
  }

  #open(): Promise<AwsKms> {
    this.#client ??= openClient();
    return this.#client;
  }

  /** Uses only the names of AWS errors: their messages contain account numbers and more. */
  #name(error: unknown): Error {
    const name = error instanceof Error ? error.name : "unknown";
    if (REFUSED.includes(name)) return new RootKeyRefused("a wrapped key does not open under this root key");
    if (DENIED.includes(name)) {
      return new RootKeyDenied(
        `AWS KMS does not let us use the root key ${this.#keyId} (${name}). Check CLOAKROOM_KMS_KEY_ID, AWS_REGION, the AWS credentials, and that they allow kms:Encrypt and kms:Decrypt on an enabled symmetric key.`,
      );
    }
    return this.#unreachable(name);
  }

  #unreachable(reason: string): RootKeyUnreachable {
    return new RootKeyUnreachable(
      `AWS KMS, which holds the root key ${this.#keyId}, does not respond (${reason}). Check the network and AWS_REGION.`,
    );
  }
}

interface AwsKms {
  readonly client: KMSClient;
  readonly EncryptCommand: typeof import("@aws-sdk/client-kms").EncryptCommand;
  readonly DecryptCommand: typeof import("@aws-sdk/client-kms").DecryptCommand;
}

/** The AWS client is large and optional, so it is loaded only when a KMS key is configured. */
async function openClient(): Promise<AwsKms> {
  const aws = await import("@aws-sdk/client-kms").catch(() => {
    throw new RootKeyDenied("CLOAKROOM_KMS_KEY_ID needs the package @aws-sdk/client-kms. Run: npm install");
  });
  const { EncryptCommand, DecryptCommand } = aws;
  const client = new aws.KMSClient({
    maxAttempts: 3,
    requestHandler: { connectionTimeout: 2_000, requestTimeout: TIMEOUT_MS },
  });
  return { client, EncryptCommand, DecryptCommand };
}

function encryptionContext(context: Uint8Array): Record<string, string> {
  return { cloakroom: contextDigest(context).toString("hex") };
}
