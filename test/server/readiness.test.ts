import { describe, expect, it } from "vitest";
import { watchReadiness } from "../../src/server/readiness.js";
import type { SinkName } from "../../src/sinks/sink.js";

const NOW = 1_800_000_000_000;

interface Situation {
  /** Milliseconds by which the database's clock is ahead. */
  readonly ahead?: number;
  readonly isAway?: boolean;
  readonly isFull?: boolean;
  readonly nodes?: number;
  /** Nodes that fail their tenants. */
  readonly failing?: number;
  readonly refusesWrites?: boolean;
  readonly hasKey?: boolean;
  /** Configured sinks. Syslog is 20 minutes behind. */
  readonly sinks?: readonly SinkName[];
}

async function reportIn(situation: Situation) {
  const { ahead = 0, isAway = false, isFull = false, hasKey = true } = situation;
  const { nodes = 1, failing = 0, refusesWrites = false, sinks } = situation;
  const database = {
    async probe() {
      if (isAway) throw new Error("away");
      return { time: new Date(NOW + ahead), nodes, failing, refusesWrites };
    },
    takesWrites: async () => !isFull,
    oldestDue: async () => new Map([["log_syslog", new Date(NOW - 20 * 60_000)]]),
  };
  const rootKey = {
    id: "root",
    async wrap() {
      if (!hasKey) throw new Error("away");
      return Buffer.from("wrapped");
    },
  };
  return watchReadiness({ database, rootKey }, { now: () => NOW }, new AbortController().signal, { sinks }).check();
}

const WELL = { serving: undefined, database: undefined, keys: undefined, clock: undefined };

describe("readiness", () => {
  it.each<[string, Situation, object]>([
    ["well", {}, {}],
    ["well with clocks two seconds apart", { ahead: 2_000 }, {}],
    ["well with clocks two seconds apart the other way", { ahead: -2_000 }, {}],
    ["not there when the clock is behind", { ahead: 2_500 }, { clock: "is 2.5 s behind the database's" }],
    ["not there when the clock is ahead", { ahead: -86_400_000 }, { clock: "is 86400.0 s ahead of the database's" }],
    ["not there without the database", { isAway: true }, { database: "does not respond", clock: "cannot be compared" }],
    ["not there with a full disk", { isFull: true }, { database: "takes no writes: its disk may be full" }],
    [
      "not there when the database refuses writes",
      { failing: 1, refusesWrites: true },
      { database: "takes no writes: its disk may be full" },
    ],
    [
      "not there when no node serves its tenants",
      { nodes: 2, failing: 2 },
      { database: "answers, but fails reads and writes of tenants" },
    ],
    ["not there without the root key", { hasKey: false }, { keys: "the root key's holder does not respond" }],
  ])("is %s", async (_name, situation, problems) => {
    expect(await reportIn(situation)).toEqual({ checks: { ...WELL, ...problems }, warnings: [] });
  });

  it("is kept while some nodes of a cluster serve their tenants, with a warning", async () => {
    expect(await reportIn({ nodes: 3, failing: 1 })).toEqual({
      checks: WELL,
      warnings: ["1 of 3 database nodes fail. Their tenants are not served."],
    });
  });

  it("is kept while a sink of the log is behind, with a warning", async () => {
    expect(await reportIn({ sinks: ["file", "syslog"] })).toEqual({
      checks: WELL,
      warnings: ["The log sink syslog has not got log rows for 20 minutes. They are kept until it has."],
    });
  });

  it("queries the database once for all concurrent checks", async () => {
    let looks = 0;
    const database = {
      async probe() {
        looks += 1;
        return { time: new Date(NOW), nodes: 1, failing: 0, refusesWrites: false };
      },
      takesWrites: async () => true,
      oldestDue: async () => new Map(),
    };
    const rootKey = { id: "root", wrap: async () => Buffer.from("wrapped") };
    const readiness = watchReadiness({ database, rootKey }, { now: () => NOW }, new AbortController().signal);
    const reports = await Promise.all(Array.from({ length: 20 }, () => readiness.check()));
    expect(reports.map(({ checks }) => checks)).toEqual(reports.map(() => WELL));
    expect(looks).toBe(1);
  });
});
