// Computes: 20 s
import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { Fault } from "../../../src/base/fault.js";
import type { Uuid } from "../../../src/base/ids.js";
import { agents } from "../connectors/bench.js";
import { isSettled } from "../lifecycle/settled.js";
import { SERVICE_FAULTS, type ServiceFault } from "../standins/provider-server.js";
import { expectAgreement, settle } from "./agreement.js";
import { Payer } from "./payer.js";
import { KINDS, SERVICES, type Service } from "./services.js";
import type { Till } from "./till.js";

let payer: Payer;
beforeAll(async () => {
  payer = await Payer.open();
});
afterAll(async () => {
  await payer[Symbol.asyncDispose]();
  agents.close();
});

/** A time-out takes its time, and says no more than a reset; a 429 is sent again after a pause. */
const QUICK = SERVICE_FAULTS.filter(({ response }) => response !== "silence" && response !== 429);

/** Possible next steps of an owner, a service or the time. */
type Move =
  | { readonly kind: "capture" | "void" | "refund" | "sync" | "hear" }
  | { readonly kind: "fail"; readonly what: (typeof KINDS)[number]; readonly fault: ServiceFault };

const moves = fc.array(
  fc.oneof(
    fc.record({ kind: fc.constantFrom("capture", "void", "refund", "sync", "hear") }),
    fc.record({ kind: fc.constant("fail"), what: fc.constantFrom(...KINDS), fault: fc.constantFrom(...QUICK) }),
  ),
  { maxLength: 8 },
);

test.each(SERVICES)("%s: after any steps in any order, our record equals the service's", async (_name, open) => {
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(undefined, ...QUICK), moves, async (first, sequence) => {
      await using service = await open(payer.vault.database, payer.tenantId);
      const till = await payer.connect(service);
      if (first) service.fail("authorize", first);
      const id = await till.pay("authorize");
      for (const move of sequence) await make(move, till, service, id);
      await expectAgreement(till, service, await settle(till, id));
    }),
    { numRuns: 12 },
  );
});

/** A step that is not allowed is rejected, and changes nothing. */
async function make(move: Move, till: Till, service: Service, id: Uuid): Promise<void> {
  const before = await till.read(id);
  if (move.kind === "fail") return service.fail(move.what, move.fault);
  try {
    if (move.kind === "hear") await till.deliverWebhooks();
    else if (move.kind === "sync") await till.sync(id);
    else await till.follow(id, move.kind);
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    expect(["conflict", "wrong_state", "validation_failed"]).toContain(error.code);
    expect((await till.read(id)).revision).toBe(before.revision);
  }
  const after = await till.read(id);
  if (isSettled(before.status)) expect(after.status).toBe(before.status);
  expect(after.capturedAmount).toBeLessThanOrEqual(after.authorizedAmount);
  expect(after.refundedAmount).toBeLessThanOrEqual(after.capturedAmount);
}
