import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { SharedLeases } from "../../src/store/jobs/shared-leases.js";
import { startDatabase, type TestDatabase } from "../support/databases.js";

const PARTS = 16;
const ALL = Array.from({ length: PARTS }, (_, part) => part);

let stored: TestDatabase;
beforeAll(async () => {
  stored = await startDatabase();
});
afterAll(() => stored?.[Symbol.asyncDispose]());
beforeEach(async () => {
  await stored.owner`delete from leases`;
  // The leases are due for a renewal at each call.
  let now = 0;
  vi.spyOn(performance, "now").mockImplementation(() => (now += 60_000));
});
afterEach(() => {
  vi.restoreAllMocks();
});

const newReplica = () =>
  new SharedLeases(async (query) => await query(stored.owner), { name: "work", parts: PARTS, seconds: 60 });

async function settled(replicas: readonly SharedLeases[]): Promise<(readonly number[])[]> {
  let held: (readonly number[])[] = [];
  for (let round = 0; round < 4; round += 1) {
    held = [];
    for (const replica of replicas) held.push(await replica.hold());
  }
  return held;
}

const counts = (held: readonly (readonly number[])[]) => held.map(({ length }) => length);

describe("leases of the parts of some work", () => {
  it("are all held by a single replica", async () => {
    expect(await newReplica().hold()).toEqual(ALL);
  });

  it.each([[2], [3], [5], [16]])("are shared evenly by %i replicas, each part by one", async (count) => {
    const held = await settled(Array.from({ length: count }, () => newReplica()));
    expect(held.flat().sort((a, b) => a - b)).toEqual(ALL);
    expect(Math.max(...counts(held))).toBeLessThanOrEqual(Math.ceil(PARTS / count));
  });

  it("leave replicas without a part if they are more than there are parts", async () => {
    const held = await settled(Array.from({ length: PARTS + 3 }, () => newReplica()));
    expect(counts(held)).toEqual([...ALL.map(() => 1), 0, 0, 0]);
  });

  it("go to the others when a replica stops, and when the leases of one that died have expired", async () => {
    const [one, two, three] = [newReplica(), newReplica(), newReplica()];
    await settled([one, two, three]);
    await three.release();
    expect(counts(await settled([one, two]))).toEqual([8, 8]);
    expect(counts(await settled([one])), "those of the other are held for now").toEqual([8]);
    await stored.owner`update leases set until = clock_timestamp() - interval '1 second' where name like 'work %'`;
    expect(await settled([one])).toEqual([ALL]);
    expect(await stored.owner`select name from leases`, "no row of the dead replica").toHaveLength(PARTS + 1);
  });

  it("are never held by two, whenever replicas come, ask at once, and go", async () => {
    const replicas = [newReplica()];
    for (let round = 0; round < 12; round += 1) {
      if (round % 3 === 0) replicas.push(newReplica());
      if (round % 4 === 3) await replicas.shift()?.release();
      const held = (await Promise.all(replicas.map((replica) => replica.hold()))).flat();
      expect(new Set(held).size, `round ${round}`).toBe(held.length);
    }
    expect((await settled(replicas)).flat().sort((a, b) => a - b)).toEqual(ALL);
  });
});
