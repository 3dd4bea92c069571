import { expect, it } from "vitest";
import { CALLBACK_MS } from "../../src/reactors/callback.js";
import { LEASE_SECONDS } from "../../src/reactors/run-queue.js";
import { defaultKillLimits, defaultLimits, defaultQueueLimits } from "../../src/sandbox/limits.js";

it("a run is leased for longer than it can take, with its waits and the delivery of its result", () => {
  const { wallMs, loadMs } = defaultLimits("reactor");
  const { graceMs, threadExitMs, silenceMs } = defaultKillLimits;
  // For a runner, then for one of its threads.
  const waitsMs = 2 * defaultQueueLimits.waitMs;
  const longestMs = waitsMs + loadMs + wallMs + graceMs + threadExitMs + silenceMs + CALLBACK_MS;
  expect(LEASE_SECONDS * 1_000).toBeGreaterThan(longestMs + 10_000);
});
