import { describe, expect, it } from "vitest";
import { verifyWebhook } from "../../../clients/typescript/src/verify-webhook.js";

// The example of the Standard Webhooks specification and its libraries.
const SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const BODY = '{"test": 2432232314}';
const HEADERS = {
  "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
  "webhook-timestamp": "1614265330",
  "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
};
const NOW = { now: new Date(1_614_265_330_000) };

describe("the verification of a webhook", () => {
  it("accepts the published example, which is no event", async () => {
    await expect(verifyWebhook(BODY, HEADERS, SECRET, NOW)).rejects.toThrow("The body has no event.");
    await expect(verifyWebhook(Buffer.from(BODY), new Headers(HEADERS), SECRET, NOW)).rejects.toThrow("has no event");
    const both = { ...HEADERS, "webhook-signature": `v1,AAAA v2,x ${HEADERS["webhook-signature"]}` };
    await expect(verifyWebhook(BODY, both, SECRET, NOW)).rejects.toThrow("has no event");
  });

  it.each<[string, string, object, string]>([
    ["another body", `${BODY} `, {}, "No signature"],
    ["another id", BODY, { "webhook-id": "msg_2" }, "No signature"],
    ["another time", BODY, { "webhook-timestamp": "1614265331" }, "No signature"],
    ["no time", BODY, { "webhook-timestamp": "soon" }, "not a time"],
    ["a signature that is not base64", BODY, { "webhook-signature": "v1,%" }, "No signature"],
    ["no signature", BODY, { "webhook-signature": undefined }, "no header webhook-signature"],
  ])("refuses %s", async (_, body, changed, message) => {
    await expect(verifyWebhook(body, { ...HEADERS, ...changed }, SECRET, NOW)).rejects.toThrow(message);
  });

  it("refuses an old request", async () => {
    await expect(verifyWebhook(BODY, HEADERS, SECRET)).rejects.toThrow("too old");
  });
});
