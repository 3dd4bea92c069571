import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { Sensitive } from "../../../src/crypto/sensitive.js";
import { ERROR_CODES, isDecline } from "../../../src/payments/contract/error-code.js";
import type { AuthorizationRequest, ThreeDSData } from "../../../src/payments/contract/payment-request.js";
import { type Behaviour, simulatedBehaviour } from "../../../src/payments/simulator/rules.js";

interface Sample extends Partial<Omit<AuthorizationRequest, "card" | "money">> {
  readonly number?: string;
  readonly cvc?: string;
  readonly amount?: number;
}

function behaviour({ number = "4242424242424242", cvc, amount = 1_000, ...more }: Sample): Behaviour {
  return simulatedBehaviour({
    ...{
      reconciliationId: "r",
      idempotencyKey: "k",
      intent: "authorize",
      metadata: {},
      returnUrl: "https://shop.example",
    },
    ...{ country: undefined, externalIdentifier: undefined, paymentSource: "ecommerce", isMerchantInitiated: false },
    ...{ isSubsequentPayment: false, previousSchemeTransactionId: undefined, threeDS: undefined },
    card: new Sensitive({ number, expirationMonth: 12, expirationYear: 2030, cvc }),
    money: { amount, currency: "USD" },
    ...more,
  });
}
const AUTHENTICATED: ThreeDSData = {
  ...{ version: "2.2.0", authenticationValue: "a", eci: "05", dsTransactionId: "d", directoryStatus: "Y" },
  ...{ authenticationStatus: "Y", statusReason: undefined, method: "frictionless" },
};

describe("the simulator's card", () => {
  it.each([
    ["4242424242424242", "approve", undefined],
    ["5555555555554444", "approve", undefined],
    ["4000000000000002", "decline", "issuer_decline"],
    ["4000000000009995", "decline", "insufficient_funds"],
    ["4000000000000069", "decline", "expired_payment_method"],
    ["4000000000000127", "decline", "incorrect_cvv"],
    ["4000000000000119", "fail", "service_error"],
    ["4100000000000019", "decline", "suspected_fraud"],
    ["4000000000003220", "challenge", undefined],
    ["4000008400001629", "challenge", undefined],
    ["4000000000003055", "frictionless", undefined],
    ["4000000000003097", "setup_error", undefined],
    ["4000002500003155", "challenge", undefined],
  ])("%s leads to: %s %s", (number, kind, errorCode) => {
    expect(behaviour({ number }).verdict).toMatchObject({ kind, ...(errorCode ? { errorCode } : {}) });
  });

  it.each<[string, Sample, string]>([
    ["4000000000003220", { threeDS: AUTHENTICATED }, "approve"],
    ["4000000000003055", { threeDS: AUTHENTICATED }, "approve"],
    ["4000000000003097", { threeDS: AUTHENTICATED }, "setup_error"],
    ["4000000000000002", { threeDS: AUTHENTICATED }, "decline"],
    ["4000000000003220", { isMerchantInitiated: true }, "challenge"],
    ["4000002500003155", { isMerchantInitiated: true }, "approve"],
    ["4000002500003155", { previousSchemeTransactionId: "1" }, "approve"],
  ])("%s with %j leads to: %s", (number, more, kind) => {
    expect(behaviour({ number, ...more }).verdict.kind).toBe(kind);
  });

  it.each([
    ["4242424242424242", undefined, "not_provided"],
    ["4242424242424242", "123", "match"],
    ["4242424242424242", "001", "no_match"],
    ["4242424242424242", "002", "unavailable"],
    ["4000000000000127", "123", "no_match"],
    ["4000000000000101", "123", "no_match"],
  ])("%s with the code %s returns: %s", (number, cvc, expected) => {
    expect(behaviour(cvc === undefined ? { number } : { number, cvc }).cvv).toBe(expected);
  });
});

describe("the simulator's amount", () => {
  const codeOf = (amount: number) => {
    const { verdict } = behaviour({ amount });
    return verdict.kind === "decline" || verdict.kind === "fail" ? verdict.errorCode : undefined;
  };
  const range = (first: number, last: number) => Array.from({ length: last - first + 1 }, (_, index) => first + index);

  it("plays one error code each, from the ranges that the documentation names", () => {
    const ranges = [range(200_001, 200_022), range(300_001, 300_015), range(400_001, 400_017)];
    expect(readFileSync("docs/payments.md", "utf8")).toContain(
      "| 200001 to 200022, 300001 to 300015, 400001 to 400017 |",
    );
    const codes = ranges.flat().map(codeOf);
    expect(new Set(codes).size).toBe(codes.length);
    for (const code of codes) expect(ERROR_CODES).toContain(code);
    for (const amounts of ranges)
      expect([codeOf((amounts[0] ?? 0) - 1), codeOf((amounts.at(-1) ?? 0) + 1)]).toEqual([undefined, undefined]);
  });

  it("declines for the issuer's reasons, and fails for all others", () => {
    for (const amount of [...range(200_001, 200_022), ...range(300_001, 300_015), ...range(400_001, 400_017)]) {
      const { verdict } = behaviour({ amount });
      const code = codeOf(amount);
      expect([amount, verdict.kind]).toEqual([amount, code && isDecline(code) ? "decline" : "fail"]);
    }
  });

  it.each<[number, Partial<Behaviour>]>([
    [500_001, { later: { operation: "capture", errorCode: "service_network_error" } }],
    [510_002, { later: { operation: "void", errorCode: "issuer_decline" } }],
    [520_004, { later: { operation: "refund", errorCode: "refund_already_satisfied" } }],
    [600_001, { responseFault: "lost" }],
    [600_002, { responseFault: "request_lost" }],
    [600_003, { responseFault: "status_500" }],
    [600_004, { responseFault: "malformed" }],
    [600_005, { responseFault: "late" }],
    [600_006, { approvesHalf: true }],
    [600_007, { asyncCapture: true }],
    [600_008, { asyncVoid: true }],
    [600_009, { isSentTwice: true }],
    [600_010, { approvesLate: true, verdict: { kind: "challenge", afterwards: "as_chosen" } }],
  ])("%i differs from an approval in: %j", (amount, expected) => {
    expect(behaviour({ amount })).toEqual({ ...behaviour({}), ...expected });
  });

  it("counts only for a card that would be approved", () => {
    expect(behaviour({ number: "4000000000000002", amount: 300_001 }).verdict).toMatchObject({
      errorCode: "issuer_decline",
    });
  });
});
