import { expect, test } from "vitest";
import { ListMemory } from "../../src/tokens/list-memory.js";

test("a total is recounted by one request at a time, and never shown when it is half a minute old", () => {
  let now = 0;
  const memory = new ListMemory(() => now);
  const shown = () => [memory.largeTotal("list"), memory.largeTotal("list"), memory.largeTotal("other")];
  expect(shown()).toEqual([undefined, undefined, undefined]);
  memory.rememberTotal("list", 200_000);
  now = 14_999;
  expect(shown()).toEqual([200_000, 200_000, undefined]);
  now = 15_000;
  expect(shown()).toEqual([undefined, 200_000, undefined]);
  now = 29_999;
  expect(shown()).toEqual([200_000, 200_000, undefined]);
  // The request that was to recount never returned: every request counts.
  now = 30_000;
  expect(shown()).toEqual([undefined, undefined, undefined]);
  memory.rememberTotal("list", 200_001);
  expect(shown()).toEqual([200_001, 200_001, undefined]);
});
