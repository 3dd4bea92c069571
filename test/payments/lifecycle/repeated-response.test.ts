import { afterAll, describe, expect, it, test } from "vitest";
import { ERROR_CODES, isCredentialsError, isDecline } from "../../../src/payments/contract/error-code.js";
import { outcomeForAttempt } from "../../../src/payments/lifecycle/repeated-response.js";
import { agents, authorization, contextOf } from "../connectors/bench.js";
import { BENCHES } from "../connectors/benches.js";

afterAll(() => agents.close());

test.each(BENCHES)("%s: an early rejection does not end what was sent before", async (_name, open) => {
  await using bench = await open();
  const request = authorization(bench);
  bench.server.fail(bench.routes.authorize, { response: "reset", acted: true });
  const first = await bench.connector.authorize(contextOf(bench), request);
  expect(first.kind).toBe("unknown");
  const tooMany = { response: 429, acted: false } as const;
  bench.server.fail(bench.routes.authorize, tooMany, tooMany, tooMany);
  const second = await bench.connector.authorize(contextOf(bench), request);
  expect(second).toMatchObject({ kind: "failed", errorCode: "service_rate_limit" });
  expect(bench.ledger.of(request.reconciliationId, "authorize")).toHaveLength(1);
  expect(outcomeForAttempt({ state: "unknown" }, second).kind).toBe("unknown");
  expect(outcomeForAttempt({ state: "sent" }, second)).toBe(second);
});

test("a refusal by the service's own decision ends the attempt, however often it was sent", () => {
  const declined = { kind: "declined", errorCode: "issuer_decline", codes: {} } as const;
  const refused = { kind: "refused", as: "failed", errorCode: "invalid_amount", codes: {} } as const;
  const lost = { kind: "refused", as: "failed", errorCode: "service_network_error", codes: {} } as const;
  expect(outcomeForAttempt({ state: "unknown" }, declined)).toBe(declined);
  expect(outcomeForAttempt({ state: "unknown" }, refused)).toBe(refused);
  expect(outcomeForAttempt({ state: "unknown" }, lost)).toEqual({ kind: "unknown", codes: {} });
});

describe("a refusal of a request that may have been executed before", () => {
  const NOT_EXECUTED = [
    ...["insufficient_service_permissions", "invalid_service_configuration", "invalid_service_credentials"],
    ...["service_network_error", "service_rate_limit", "service_resource_conflict"],
  ];
  const failed = (errorCode: (typeof ERROR_CODES)[number]) =>
    ({ kind: "failed", errorCode, codes: { rawCode: "1" } }) as const;

  it.each(ERROR_CODES)("for %s ends it only if the service judged the payment itself", (code) => {
    for (const state of ["unknown", "accepted"] as const) {
      const meant = outcomeForAttempt({ state }, failed(code));
      if (NOT_EXECUTED.includes(code)) expect(meant).toEqual({ kind: "unknown", codes: { rawCode: "1" } });
      else expect(meant).toEqual(failed(code));
    }
  });

  it.each(ERROR_CODES)("ends the first sending for every reason: %s", (code) => {
    const outcome = failed(code);
    expect(outcomeForAttempt({ state: "sent" }, outcome)).toBe(outcome);
  });

  it("never says that the service judged it for a reason that concerns the connection", () => {
    for (const code of ERROR_CODES.filter(isCredentialsError)) expect(NOT_EXECUTED).toContain(code);
    for (const code of ERROR_CODES.filter(isDecline)) expect(NOT_EXECUTED).not.toContain(code);
  });
});
