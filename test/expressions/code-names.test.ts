import { describe, expect, it } from "vitest";
import { namesCode } from "../../src/expressions/code-names.js";

describe("the name of a field", () => {
  it.each([
    ...["cvc", "CVV2", "cid", "cav2", "cv2", "card_cvc", "cardCvv", "cardcvc", "cc-csc", "payment.cvv"],
    ...["securityCode", "card_security_code", "cardcode", "verification value", "cardVerificationCode"],
  ])("says of %s that it is a verification code", (name) => {
    expect(namesCode(name)).toBe(true);
  });

  it.each([
    "number",
    "name",
    "accident",
    "zip_code",
    "postalCode",
    "promo_code",
    "coincidence",
    "cvs",
    "x".repeat(5_000),
  ])("does not say so of %s", (name) => {
    expect(namesCode(name)).toBe(false);
  });
});
