import { constants, createHmac, type KeyObject, sign } from "node:crypto";
import type { Uuid } from "../base/ids.js";
import type { Sensitive } from "../crypto/sensitive.js";
import type { HeaderPair } from "../egress/request-framing.js";
import { SECRET_PREFIX } from "./webhook.js";

export interface SignedRequest {
  readonly eventId: Uuid;
  /** The exact bytes of the body, as text. */
  readonly body: string;
  readonly at: Date;
}

/** The headers by which a receiver verifies a request, in both ways. */
export async function signatureHeaders(
  request: SignedRequest,
  secrets: readonly Sensitive<string>[],
  key: KeyObject,
): Promise<readonly HeaderPair[]> {
  const seconds = String(Math.floor(request.at.getTime() / 1_000));
  const signed = `${request.eventId}.${seconds}.${request.body}`;
  return [
    ["webhook-id", request.eventId],
    ["webhook-timestamp", seconds],
    ["webhook-signature", secrets.map((secret) => `v1,${hmacOf(secret, signed)}`).join(" ")],
    ["BT-SIGNATURE-VERSION", "v1"],
    ["BT-SIGNATURE", await pssOf(key, request.body)],
  ];
}

/** As Standard Webhooks describes it. */
function hmacOf(secret: Sensitive<string>, text: string): string {
  const key = Buffer.from(secret.reveal().slice(SECRET_PREFIX.length), "base64");
  return createHmac("sha256", key).update(text).digest("base64");
}

/** RSA-PSS with SHA-256, as the published interface has it. On a thread of its own: it takes 0.8 ms. */
function pssOf(key: KeyObject, body: string): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const options = {
    key,
    padding: constants.RSA_PKCS1_PSS_PADDING,
    saltLength: constants.RSA_PSS_SALTLEN_DIGEST,
  };
  sign("sha256", Buffer.from(body), options, (error, signature) => {
    if (error) reject(error);
    else resolve(signature.toString("base64"));
  });
  return promise;
}
