import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { type Part, SHUTDOWN_TIMEOUT_MS, Shutdown } from "../../src/server/shutdown.js";

/** The time of the timers that the cases move. */
const fakeTime = () => Date.now();
const forever = () => new Promise<never>(() => {});
const lasting = (ms: number) => () => new Promise<void>((resolve) => setTimeout(resolve, ms));

/** A shutdown, and the lines that it writes for the operator. */
function began() {
  const lines: string[] = [];
  const write = (level: string) => (fields: object, text?: string) =>
    void lines.push(`${level} ${Object.values(fields).join(" ")}: ${text}`);
  return { shutdown: new Shutdown({ info: write("info"), warn: write("warn") }), lines };
}

/** The parts of a server, in the order in which they end. Those of several processes end in the primary. */
const ORDER = {
  ...{ "requests in flight": true, "the admin port": true, "logs being set back": true, jobs: true },
  ...{
    "runs, deliveries and payments in the background": true,
    "the sandbox's runner": true,
    "failed runs being stored": true,
  },
  ...{ "log rows of refused keys": true, "the counters of rate limits": true, "the record of the stop": true },
  ...{ "the database's connections": true, "the embedded database": true, "the traces exporter": true },
} as const satisfies Record<Exclude<Part, "processes">, true>;
const PARTS = Object.keys(ORDER).filter((part): part is keyof typeof ORDER => part in ORDER);

describe("the end of a server", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  /** Ends parts one after the other, and returns how long that took, in milliseconds. */
  async function endAll(
    shutdown: Shutdown,
    parts: readonly (readonly [Part, () => Promise<unknown>])[],
  ): Promise<number> {
    const zero = fakeTime();
    const ended = (async () => {
      for (const [part, end] of parts) await shutdown.end(part, end);
      return fakeTime() - zero;
    })();
    await vi.advanceTimersByTimeAsync(60_000);
    return ended;
  }

  it("comes before the process is ended, even if not one part ends", async () => {
    const { shutdown, lines } = began();
    expect(
      await endAll(
        shutdown,
        PARTS.map((part) => [part, forever]),
      ),
    ).toBeLessThan(SHUTDOWN_TIMEOUT_MS);
    expect(lines).toHaveLength(PARTS.length);
    for (const line of lines) expect(line).toMatch(/^warn .*: shutdown: component timed out and was abandoned$/);
  });

  it.each<[Part, number]>([
    ["requests in flight", 25_200],
    ["the admin port", 1_000],
    ["jobs", 25_000],
    ["the sandbox's runner", 2_000],
    ["the database's connections", 6_000],
    ["the traces exporter", 2_000],
  ])("waits for %s for %i ms at most", async (part, ms) => {
    expect(await endAll(began().shutdown, [[part, forever]])).toBe(ms);
    expect(await endAll(began().shutdown, [[part, lasting(ms - 1)]])).toBe(ms - 1);
  });

  it("leaves a part 100 ms at least, however late its turn comes", async () => {
    const { shutdown, lines } = began();
    shutdown.begin();
    vi.advanceTimersByTime(40_000);
    expect(
      await endAll(shutdown, [
        ["jobs", forever],
        ["the traces exporter", lasting(99)],
      ]),
    ).toBe(199);
    expect(lines).toEqual(["warn jobs 100: shutdown: component timed out and was abandoned"]);
  });

  it("names slow parts for the operator, and no quick ones", async () => {
    const { shutdown, lines } = began();
    await endAll(shutdown, [
      ["jobs", lasting(1_500)],
      ["the sandbox's runner", lasting(900)],
    ]);
    expect(lines).toEqual(["info jobs 1500: shutdown: slow component stopped"]);
  });

  it("goes on after a part that fails, and reports its error at the end", async () => {
    const { shutdown } = began();
    const ended: string[] = [];
    const stop = shutdown.stopper(async () => {
      await shutdown.end("jobs", () => Promise.reject(new Error("a job failed")));
      await shutdown.end("the database's connections", async () => void ended.push("connections"));
    });
    await expect(stop()).rejects.toThrow("a job failed");
    expect(ended).toEqual(["connections"]);
  });

  it("happens once, however often it is asked for", async () => {
    const { shutdown } = began();
    let stops = 0;
    const stop = shutdown.stopper(async () => {
      stops += 1;
    });
    await Promise.all([stop(), stop(), stop()]);
    expect(stops).toBe(1);
  });

  it("shows what it waits for", async () => {
    const { shutdown } = began();
    const ending = shutdown.end("jobs", lasting(50));
    expect(shutdown.waitingFor).toEqual(["jobs"]);
    await vi.advanceTimersByTimeAsync(50);
    await ending;
    expect(shutdown.waitingFor).toEqual([]);
  });
});
