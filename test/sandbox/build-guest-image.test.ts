import { afterEach, expect, test, vi } from "vitest";
import { buildGuestImage } from "../../src/sandbox/engine/quickjs/build-guest-image.js";

afterEach(() => vi.useRealTimers());

/** Keeps what clocks and chance give. */
const GUEST = `(host) => {
  globalThis.kept = [Date.now(), performance.now(), performance.timeOrigin, Math.random(), new Date(), new Set([{}, []])];
  const nothing = () => {};
  return { load: nothing, call: nothing, deliver: nothing, fire: nothing, namesOf: nothing };
}`;

test("an image has the same bytes in every build, at whatever time", async () => {
  vi.useFakeTimers({ toFake: ["Date"] });
  const build = async (at: string) => {
    vi.setSystemTime(new Date(at));
    const { snapshot, entries } = await buildGuestImage("dist/sandbox", GUEST, new Map());
    return { snapshot: Buffer.from(snapshot).toString("base64"), entries };
  };
  const first = await build("2026-03-01T12:00:00Z");
  const second = await build("2031-11-07T03:04:05Z");
  expect(second.snapshot === first.snapshot).toBe(true);
  expect(second.entries).toEqual(first.entries);
});
