import { afterAll, beforeAll, expect, test } from "vitest";
import type { Clock } from "../../../src/base/clock.js";
import { agents } from "../connectors/bench.js";
import { stripeBench } from "../connectors/stripe-bench.js";
import { Payer } from "./payer.js";
import { standingIn } from "./services.js";

const HOUR_MS = 3_600_000;

let payer: Payer;
let step = 0;
const read: number[] = [];
/** Once `step` is set, the time advances with each reading. */
const clock: Clock = {
  now() {
    const now = (step === 0 ? Date.now() : (read.at(-1) ?? Date.now())) + step;
    read.push(now);
    return now;
  },
};
beforeAll(async () => {
  payer = await Payer.open(clock);
});
afterAll(async () => {
  await payer[Symbol.asyncDispose]();
  agents.close();
});

test("a payment that is still due after reconciliation rests for a minute", async () => {
  await using bench = await stripeBench();
  const service = standingIn(bench);
  const till = await payer.connect(service);
  service.fail("authorize", { response: "reset", acted: true });
  const id = await till.pay("authorize");
  service.fail("look up", { response: 500, acted: false });
  step = HOUR_MS;
  const looked = await till.sync(id);
  step = 0;
  expect(looked.status).toBe("processing");
  const due = (await till.read(id)).dueAt?.getTime() ?? 0;
  expect(read).toContain(due - 60_000);
  // It is not reserved: it can be reconciled again.
  expect((await till.sync(id)).status).toBe("authorization_succeeded");
});
