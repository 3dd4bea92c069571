import { afterAll, expect, test } from "vitest";
import { authorizenetBench } from "./authorizenet-bench.js";
import { agents, authorization, contextOf, newReference } from "./bench.js";

afterAll(() => agents.close());

type Bench = Awaited<ReturnType<typeof authorizenetBench>>;

/** Some hours pass, for us and for the service. */
function later(bench: Bench, hours: number) {
  bench.standIn.ahead = hours * 3_600_000;
  return { ...contextOf(bench), now: new Date(Date.now() + bench.standIn.ahead) };
}

/** A sale of 12.34, and a refund of it, or of a part, that was sent once with an unknown outcome. */
async function refundSent(bench: Bench, amount: number) {
  const sale = authorization(bench, { intent: "capture" });
  const sold = await bench.connector.authorize(contextOf(bench), sale);
  if (sold.kind !== "captured") throw new Error(`the sale is ${sold.kind}`);
  const request = {
    payment: { ...sale, providerId: sold.providerId },
    idempotencyKey: "refund-1",
    reference: newReference(),
    money: { amount, currency: "USD" },
    reason: undefined,
  };
  const sent = await bench.connector.refund(contextOf(bench), request);
  if (sent.kind !== "done") throw new Error(`the refund is ${sent.kind}`);
  return { request, providerId: sent.providerId, total: () => bench.ledger.total(sale.reconciliationId, "refund") };
}

test.each([
  ["a part, before the settlement", 500, 1],
  ["a part, when the service knows no duplicates any more", 500, 9],
  ["a part, weeks later", 500, 24 * 20],
  ["all of it, before the settlement", 1234, 1],
  ["all of it, when the service knows no duplicates any more", 1234, 9],
])("a refund of %s is not sent again", async (_name, amount, hours) => {
  await using bench = await authorizenetBench();
  const { request, providerId, total } = await refundSent(bench, amount);
  expect(await bench.connector.refund(later(bench, hours), request)).toMatchObject({ kind: "done", providerId });
  expect(total()).toBe(amount);
});

test.each([
  ["a part", 500, 1],
  ["a part", 500, 9],
  ["a part", 500, 24 * 20],
  ["all of it", 1234, 1],
  ["all of it", 1234, 9],
])("a settled refund of %s (%i) is found %i hours later", async (_name, amount, hours) => {
  await using bench = await authorizenetBench();
  const { request, providerId, total } = await refundSent(bench, amount);
  bench.standIn.settleDay();
  expect(await bench.connector.refund(later(bench, hours), request)).toMatchObject({ kind: "done", providerId });
  expect(total()).toBe(amount);
});

test.each([1, 9])("if settlements are not listed, a refund stays open after %i hours", async (hours) => {
  await using bench = await authorizenetBench();
  const { request, total } = await refundSent(bench, 500);
  bench.standIn.settleDay();
  bench.standIn.tellsSettlements = false;
  expect(await bench.connector.refund(later(bench, hours), request)).toMatchObject({ kind: "unknown" });
  expect(total()).toBe(500);
});

test("a refund that is older than any list stays open", async () => {
  await using bench = await authorizenetBench();
  const { request, total } = await refundSent(bench, 500);
  bench.standIn.settleDay();
  expect(await bench.connector.refund(later(bench, 24 * 40), request)).toMatchObject({ kind: "unknown" });
  expect(total()).toBe(500);
});

test("a refund that never arrived is sent again, whenever that is noticed", async () => {
  await using bench = await authorizenetBench();
  const { request, total } = await refundSent(bench, 500);
  bench.standIn.settleDay();
  const other = { ...request, idempotencyKey: "refund-2", reference: newReference() };
  expect(await bench.connector.refund(later(bench, 30), other)).toMatchObject({ kind: "done" });
  expect(total()).toBe(1000);
});

test("a settled refund is found despite a rejected repetition of it", async () => {
  await using bench = await authorizenetBench();
  const { request, providerId, total } = await refundSent(bench, 1234);
  bench.standIn.settleDay();
  for (const hours of [1, 9, 30]) {
    expect(await bench.connector.refund(later(bench, hours), request)).toMatchObject({ kind: "done", providerId });
  }
  expect(total()).toBe(1234);
});

test.each([
  ["refundPendingSettlement", { kind: "done" }],
  ["refundSettledSuccessfully", { kind: "done" }],
  ["settlementError", { kind: "refused", as: "failed" }],
  ["failedReview", { kind: "refused", as: "failed" }],
  ["voided", { kind: "refused", errorCode: "canceled" }],
  ["underReview", { kind: "accepted" }],
  ["FDSPendingReview", { kind: "accepted" }],
  ["somethingNew", { kind: "unknown" }],
])("a refund that is found as %s is reported so", async (status, outcome) => {
  await using bench = await authorizenetBench();
  const { request } = await refundSent(bench, 500);
  bench.standIn.become(request.reference, status);
  expect(await bench.connector.refund(later(bench, 1), request)).toMatchObject(outcome);
});

test("a refund of more than is left is refused if none of ours explains it", async () => {
  await using bench = await authorizenetBench();
  const { request, total } = await refundSent(bench, 1000);
  const other = { ...request, idempotencyKey: "refund-2", reference: newReference() };
  expect(await bench.connector.refund(later(bench, 1), other)).toMatchObject({
    kind: "refused",
    errorCode: "invalid_amount",
    codes: { rawCode: "55" },
  });
  expect(total()).toBe(1000);
});

test("a sale whose response was lost is found after its settlement", async () => {
  await using bench = await authorizenetBench();
  const sale = authorization(bench, { intent: "capture" });
  await bench.connector.authorize(contextOf(bench), sale);
  bench.standIn.settleDay();
  const payment = { ...sale, providerId: undefined };
  for (const hours of [1, 9, 23]) {
    expect(await bench.connector.lookUp(later(bench, hours), payment)).toMatchObject({
      kind: "found",
      state: { kind: "captured", amount: 1234 },
    });
  }
  bench.standIn.tellsSettlements = false;
  expect(await bench.connector.lookUp(later(bench, 1), payment)).toMatchObject({ kind: "unknown" });
});
