import { createCipheriv, createDecipheriv, randomBytes } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";

/** A server that implements the JSON protocol of AWS KMS as far as encrypting and decrypting need it. */
export interface KmsServer extends AsyncDisposable {
  readonly url: string;
  /** The environment with which an AWS client uses this server. */
  readonly environment: Readonly<Record<string, string>>;
  /** While set, the name of the error that answers all requests. */
  failing: string | undefined;
  readonly requests: { readonly operation: string; readonly body: Record<string, unknown> }[];
}

export const KMS_KEYS = [
  "arn:aws:kms:eu-central-1:111122223333:key/1234abcd-12ab-34cd-56ef-1234567890ab",
  "arn:aws:kms:eu-central-1:111122223333:key/0987dcba-09fe-87dc-65ba-ab0987654321",
] as const;

class KmsError extends Error {}

export async function startKms(): Promise<KmsServer> {
  const keys = new Map<unknown, Buffer>(KMS_KEYS.map((id) => [id, randomBytes(32)]));
  const state = { failing: undefined as string | undefined, requests: [] as KmsServer["requests"][number][] };

  const run = (operation: string, body: Record<string, unknown>): unknown => {
    if (state.failing) throw new KmsError(state.failing);
    const key = keys.get(body.KeyId);
    if (!key) throw new KmsError("NotFoundException");
    const context = Buffer.from(JSON.stringify(body.EncryptionContext ?? {}));
    const keyName = Buffer.from(String(body.KeyId).slice(-36));
    if (operation === "Encrypt") {
      const nonce = randomBytes(12);
      const cipher = createCipheriv("aes-256-gcm", key, nonce).setAAD(context);
      const sealed = Buffer.concat([cipher.update(String(body.Plaintext), "base64"), cipher.final()]);
      const blob = Buffer.concat([keyName, nonce, sealed, cipher.getAuthTag()]);
      return { KeyId: body.KeyId, CiphertextBlob: blob.toString("base64"), EncryptionAlgorithm: "SYMMETRIC_DEFAULT" };
    }
    const blob = Buffer.from(String(body.CiphertextBlob), "base64");
    if (blob.length < 64) throw new KmsError("InvalidCiphertextException");
    // KMS finds the key of a ciphertext by itself, and compares it with the requested one.
    if (!blob.subarray(0, 36).equals(keyName)) {
      const isKnown = KMS_KEYS.some((id) => id.endsWith(blob.subarray(0, 36).toString()));
      throw new KmsError(isKnown ? "IncorrectKeyException" : "InvalidCiphertextException");
    }
    try {
      const decipher = createDecipheriv("aes-256-gcm", key, blob.subarray(36, 48)).setAAD(context);
      decipher.setAuthTag(blob.subarray(-16));
      const plaintext = Buffer.concat([decipher.update(blob.subarray(48, -16)), decipher.final()]);
      return { KeyId: body.KeyId, Plaintext: plaintext.toString("base64") };
    } catch {
      throw new KmsError("InvalidCiphertextException");
    }
  };

  const server = createServer(async (request, response) => {
    const body = JSON.parse(await text(request));
    const [, operation = ""] = /^TrentService\.(Encrypt|Decrypt)$/.exec(String(request.headers["x-amz-target"])) ?? [];
    state.requests.push({ operation, body });
    try {
      const isSigned = /^AWS4-HMAC-SHA256 /.test(request.headers.authorization ?? "");
      if (!isSigned) throw new KmsError("IncompleteSignatureException");
      const result = JSON.stringify(run(operation, body));
      response.writeHead(200, { "Content-Type": "application/x-amz-json-1.1" });
      response.end(result);
    } catch (error) {
      const name = error instanceof KmsError ? error.message : "KMSInternalException";
      response.writeHead(name === "KMSInternalException" ? 500 : 400, { "Content-Type": "application/x-amz-json-1.1" });
      response.end(JSON.stringify({ __type: name, message: "told by the stand-in" }));
    }
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return Object.assign(state, {
    url,
    environment: {
      AWS_ENDPOINT_URL_KMS: url,
      AWS_REGION: "eu-central-1",
      AWS_ACCESS_KEY_ID: "AKIDEXAMPLE",
      AWS_SECRET_ACCESS_KEY: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY",
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  });
}
