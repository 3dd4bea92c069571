import { afterAll, describe, expect, test } from "vitest";
import type { PaymentReference } from "../../../src/payments/connector.js";
import { SERVICE_FAULTS, type ServiceFault } from "../standins/provider-server.js";
import { agents, authorization, type Bench, contextOf } from "./bench.js";
import { BENCHES } from "./benches.js";
import { settle, settleFollowUp } from "./reconcile.js";

afterAll(() => agents.close());

const OPERATIONS = ["authorize", "sale", "capture", "void", "refund"] as const;
type Operation = (typeof OPERATIONS)[number];

/** One fault, then two in a row of which the first may have acted: what a retry meets. */
const FAULTS: readonly (readonly ServiceFault[])[] = [
  ...SERVICE_FAULTS.map((fault) => [fault]),
  [
    { answer: "reset", acted: true },
    { answer: 500, acted: false },
  ],
  [
    { answer: 500, acted: true },
    { answer: "garbage", acted: true },
  ],
];

const MATRIX = BENCHES.flatMap(([name, open]) => OPERATIONS.map((operation) => [name, operation, open] as const));

describe.each(MATRIX)("%s, %s", (_name, operation, open) => {
  test.concurrent.each(FAULTS.map((faults) => [faults.map(named).join(", then "), faults] as const))(
    "%s: money moves at most once, and our record agrees",
    async (_faults, faults) => {
      await using bench = await open();
      const { reference, record } = await run(bench, operation, faults);
      const { ledger } = bench;
      for (const kind of ["authorize", "capture", "void", "refund"] as const) {
        expect(ledger.of(reference, kind).length, kind).toBeLessThanOrEqual(1);
        expect(ledger.total(reference, kind), kind).toBe(record[kind]);
      }
    },
  );
});

function named({ answer, acted }: ServiceFault): string {
  return `${answer}${acted ? " after it acted" : ""}`;
}

type Totals = Record<"authorize" | "capture" | "void" | "refund", number>;

/** Runs one operation under faults and reconciles it. Answers with what our record says in the end. */
async function run(bench: Bench, operation: Operation, faults: readonly ServiceFault[]) {
  const record: Totals = { authorize: 0, capture: 0, void: 0, refund: 0 };
  const intent = operation === "sale" || operation === "refund" ? "capture" : "authorize";
  const request = authorization(bench, { intent });
  const isFollowUp = operation === "capture" || operation === "void" || operation === "refund";
  if (!isFollowUp) bench.server.fail(bench.routes.authorize, ...faults);
  const standing = await settle(bench, request);
  if (standing.kind === "authorized" || standing.kind === "captured") record.authorize = 1234;
  if (standing.kind === "captured") record.capture = standing.amount;
  if (!isFollowUp || !("providerId" in standing) || standing.providerId === undefined) {
    return { reference: request.reconciliationId, record };
  }
  const payment: PaymentReference & { providerId: string } = { ...request, providerId: standing.providerId };
  bench.server.fail(bench.routes[operation], ...faults);
  const outcome = await settleFollowUp(bench, operation, payment, operation === "void" ? undefined : 500);
  if (outcome.kind === "done") record[operation] = operation === "void" ? 1234 : 500;
  return { reference: request.reconciliationId, record };
}

describe.each(BENCHES)("%s", (_name, open) => {
  test("a refusal for too many requests is repeated, and fails cleanly when it stays", async () => {
    await using bench = await open();
    const tooMany: ServiceFault = { answer: 429, acted: false };
    bench.server.fail(bench.routes.authorize, tooMany, tooMany);
    expect(await bench.connector.authorize(contextOf(bench), authorization(bench))).toMatchObject({
      kind: "authorized",
    });
    bench.server.fail(bench.routes.authorize, tooMany, tooMany, tooMany);
    const outcome = await bench.connector.authorize(contextOf(bench), authorization(bench));
    expect(outcome).toMatchObject({ kind: "failed", errorCode: "service_rate_limit" });
  });

  test("what never left is known not to have moved money", async () => {
    const bench = await open();
    await bench[Symbol.asyncDispose]();
    const outcome = await bench.connector.authorize(contextOf(bench), authorization(bench));
    expect(outcome).toMatchObject({ kind: "failed", errorCode: "service_network_error" });
  });
});
