import { describe, expect, it, vi } from "vitest";
import { readJsonBytes } from "../../../src/api/messages/json-text.js";
import { CallerTurns, runFor } from "../../../src/base/caller-turns.js";
import { ProcessorTurns } from "../../../src/base/processor-turns.js";

/** How often a body gives way to other callers while it is read, on a machine on which two or three of its steps take a turn. */
async function turnsFor(body: string): Promise<number> {
  let now = 0;
  const turns = new ProcessorTurns({
    now: () => {
      now += 0.2;
      return now;
    },
    soon: (step) => void setImmediate(step),
  });
  const goOn = vi.spyOn(turns, "goOn");
  const caller = new CallerTurns(() => ({ kind: "tenant", name: "a" }), turns);
  const read = await runFor(caller, () => readJsonBytes(Buffer.from(body)));
  expect(read).toEqual(JSON.parse(body));
  return goOn.mock.calls.length;
}

describe("a request body", () => {
  it("gives way to others while it is read if it has 900 expressions, and not if it is small", async () => {
    const mask = Object.fromEntries(
      Array.from({ length: 900 }, (_, n) => [`m${n}`, `{{ data | json: "$.a[?@.n > ${n}].n" | size }}`]),
    );
    const body = JSON.stringify({ type: "token", data: { a: [1] }, mask });
    expect(await turnsFor(body)).toBeGreaterThanOrEqual(3);
    expect(await turnsFor(JSON.stringify({ type: "token", data: "x".repeat(10_000) }))).toBe(0);
  });
});
