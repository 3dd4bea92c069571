import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Clock } from "../../../src/base/clock.js";
import { showReconciliationId } from "../../../src/payments/lifecycle/payment.js";
import { agents } from "../connectors/bench.js";
import { BENCHES } from "../connectors/benches.js";
import { expectAgreement, settle } from "./agreement.js";
import { Payer } from "./payer.js";
import { standingIn } from "./services.js";
import type { Lives } from "./till.js";

const EIGHT_DAYS_MS = 8 * 86_400_000;

let payer: Payer;
let ahead = 0;
const clock: Clock = { now: () => Date.now() + ahead };
beforeAll(async () => {
  payer = await Payer.open(clock);
});
afterAll(async () => {
  await payer[Symbol.asyncDispose]();
  agents.close();
});

const STEPS = ["capture", "void", "refund"] as const;
const LIVES: readonly Lives[] = ["until the request is written down", "until the service has responded"];
const MATRIX = BENCHES.flatMap(([name, open]) =>
  STEPS.flatMap((step) => LIVES.map((lives) => [name, step, lives, open] as const)),
);

describe("after days without a look-up, when services have forgotten every key", () => {
  test.each(MATRIX)("%s, %s of a process that lived %s: nothing is done twice", async (name, step, lives, open) => {
    await using bench = await open();
    const service = standingIn(bench);
    const till = await payer.connect(service);
    ahead = 0;
    const id = await till.pay(step === "refund" ? "capture" : "authorize");
    await settle(till, id);
    await till.follow(id, step, lives);
    bench.forgetKeys();

    ahead = EIGHT_DAYS_MS;
    for (let look = 0; look < 4; look += 1) await till.sync(id);
    const { [step]: moved } = await service.moved(showReconciliationId(await till.read(id)));
    const isDone = lives === "until the service has responded";
    // Adyen has no look-up: what may have arrived stays open until a webhook reports it.
    expect(moved).toHaveLength(isDone || name !== "adyen-card" ? 1 : 0);
    if (moved.length === 0) return;

    // Services sign with their time, which is ours.
    ahead = 0;
    await till.deliverWebhooks();
    await expectAgreement(till, service, await settle(till, id));
  });
});
