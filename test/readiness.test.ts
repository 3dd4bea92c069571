import { describe, expect, it } from "vitest";
import { readinessOf } from "../src/readiness.js";

const NOW = 1_800_000_000_000;

interface Situation {
  /** Milliseconds that the database's clock is ahead. */
  readonly ahead?: number;
  readonly isAway?: boolean;
  readonly isFull?: boolean;
  readonly hasKey?: boolean;
}

async function checksIn({ ahead = 0, isAway = false, isFull = false, hasKey = true }: Situation) {
  const database = {
    async ping() {
      if (isAway) throw new Error("away");
      return new Date(NOW + ahead);
    },
    takesWrites: async () => !isFull,
  };
  const rootKey = {
    id: "root",
    async wrap() {
      if (!hasKey) throw new Error("away");
      return Buffer.from("wrapped");
    },
  };
  return readinessOf(database, rootKey, { now: () => NOW }, new AbortController().signal).check();
}

const WELL = { serving: undefined, database: undefined, keys: undefined, clock: undefined };

describe("readiness", () => {
  it.each<[string, Situation, object]>([
    ["well", {}, {}],
    ["well with clocks two seconds apart", { ahead: 2_000 }, {}],
    ["well with clocks two seconds apart the other way", { ahead: -2_000 }, {}],
    ["not there when the clock is behind", { ahead: 2_500 }, { clock: "is 2.5 s behind the database's" }],
    ["not there when the clock is ahead", { ahead: -86_400_000 }, { clock: "is 86400.0 s ahead of the database's" }],
    ["not there without the database", { isAway: true }, { database: "does not answer", clock: "cannot be compared" }],
    ["not there with a full disk", { isFull: true }, { database: "takes no writes: its disk may be full" }],
    ["not there without the root key", { hasKey: false }, { keys: "the root key's holder does not answer" }],
  ])("is %s", async (_name, situation, problems) => {
    expect(await checksIn(situation)).toEqual({ ...WELL, ...problems });
  });
});
