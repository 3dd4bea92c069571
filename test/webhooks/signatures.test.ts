import { constants, generateKeyPairSync, verify } from "node:crypto";
import { describe, expect, it } from "vitest";
import { verifyWebhook } from "../../clients/typescript/src/verify-webhook.js";
import { newUuid } from "../../src/base/ids.js";
import { attemptDelay, RETRIED_FOR_MS } from "../../src/webhooks/retry-delay.js";
import { signatureHeaders } from "../../src/webhooks/signatures.js";
import { stableJson } from "../../src/webhooks/stable-json.js";
import { newWebhookSecret } from "../../src/webhooks/webhook.js";

describe("a request to a webhook", () => {
  it("has a signature for each secret, and one by the vault's key", async () => {
    const { privateKey, publicKey } = generateKeyPairSync("rsa", { modulusLength: 2_048 });
    const [present, former, other] = [newWebhookSecret(), newWebhookSecret(), newWebhookSecret()];
    const eventId = newUuid();
    const body = stableJson({ event: { id: eventId, type: "token.read" } });
    const headers = await signatureHeaders({ eventId, body, at: new Date() }, [present, former], privateKey);
    const named = Object.fromEntries(headers.map(([name, value]) => [name.toLowerCase(), value]));
    for (const secret of [present, former]) {
      await expect(verifyWebhook(body, named, secret.reveal())).resolves.toMatchObject({ id: eventId });
    }
    await expect(verifyWebhook(body, named, other.reveal())).rejects.toThrow("No signature");
    const key = { key: publicKey, padding: constants.RSA_PKCS1_PSS_PADDING };
    const signature = Buffer.from(named["bt-signature"] ?? "", "base64");
    expect(verify("sha256", Buffer.from(body), key, signature)).toBe(true);
  });

  it("has its names sorted at all depths, and no spaces", () => {
    expect(stableJson({ b: [{ d: 1, c: null }], a: { z: "é\n", B: true } })).toBe(
      '{"a":{"B":true,"z":"é\\n"},"b":[{"c":null,"d":1}]}',
    );
  });

  it("is tried for three days", () => {
    expect(RETRIED_FOR_MS).toBeGreaterThan(71 * 60 * 60_000);
    expect(RETRIED_FOR_MS).toBeLessThanOrEqual(72 * 60 * 60_000);
    expect(attemptDelay(1, () => 0.5)).toBe(5_000);
    expect(attemptDelay(15)).toBeUndefined();
  });
});
