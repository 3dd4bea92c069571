import { afterAll, expect, test } from "vitest";
import { reconcileResend } from "../../src/payments/reconcile-resend.js";
import { agents, authorization, contextOf } from "./connectors/bench.js";
import { BENCHES } from "./connectors/benches.js";

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
  expect(reconcileResend({ state: "unknown" }, second).kind).toBe("unknown");
  expect(reconcileResend({ state: "sent" }, second)).toBe(second);
});

test("a refusal by the service's own decision ends the attempt, however often it was sent", () => {
  const declined = { kind: "declined", errorCode: "issuer_decline", codes: {} } as const;
  const refused = { kind: "refused", as: "failed", errorCode: "invalid_amount", codes: {} } as const;
  const lost = { kind: "refused", as: "failed", errorCode: "service_network_error", codes: {} } as const;
  expect(reconcileResend({ state: "unknown" }, declined)).toBe(declined);
  expect(reconcileResend({ state: "unknown" }, refused)).toBe(refused);
  expect(reconcileResend({ state: "unknown" }, lost)).toEqual({ kind: "unknown", codes: {} });
});
