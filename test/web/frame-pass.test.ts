import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { FramePass } from "../../src/web/elements/frame-pass.js";

const MINUTE = 60_000;

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

/** A pass for 15 minutes, from a clock that differs from this one. */
const first = `${(5_000).toString(36)}.${(5_000 + 15 * MINUTE).toString(36)}.id.mac`;

describe("the controller's pass", () => {
  it("is renewed once, before it ends, by a request that needs it", async () => {
    const renewed: string[] = [];
    const pass = new FramePass(first, async (former) => {
      renewed.push(former);
      return { pass: `pass ${renewed.length}` };
    });
    vi.advanceTimersByTime(9 * MINUTE);
    expect(await pass.current()).toBe(first);
    vi.advanceTimersByTime(2 * MINUTE);
    expect(await Promise.all([pass.current(), pass.current()])).toEqual(["pass 1", "pass 1"]);
    vi.advanceTimersByTime(11 * MINUTE);
    expect(await pass.current()).toBe("pass 2");
    expect(renewed).toEqual([first, "pass 1"]);
  });

  it("is asked for again after a failure", async () => {
    let tries = 0;
    const pass = new FramePass(first, async () => {
      tries += 1;
      if (tries === 1) throw new Error("no network");
      return { pass: "next" };
    });
    vi.advanceTimersByTime(60 * MINUTE);
    await expect(pass.current()).rejects.toThrow("no network");
    expect(await pass.current()).toBe("next");
  });
});
