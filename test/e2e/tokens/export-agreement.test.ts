// Computes: 15 s
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ClockedServer } from "./support/agreeing-people.js";
import { EXPORT_MOVES, type ExportMove } from "./support/export-moves.js";
import { ExportWorld } from "./support/export-world.js";

let server: ClockedServer;
beforeAll(async () => {
  server = await ClockedServer.start();
});
afterAll(async () => {
  await server?.[Symbol.asyncDispose]();
});

const named = (...names: string[]) => names.flatMap((name) => EXPORT_MOVES.filter((move) => move.name === name));
/** Chains begin with what two people may have agreed to: there is little to take otherwise. */
const chains = fc
  .tuple(
    fc.constantFrom(
      named("ask for one container", "approve the last request"),
      named("ask for everything", "approve the last request"),
      named("mask by the rules", "ask for everything", "approve the last request"),
    ),
    fc.array(fc.constantFrom<ExportMove>(...EXPORT_MOVES), { minLength: 5, maxLength: 14 }),
  )
  .map(([beginning, moves]) => [...beginning, ...moves]);

// Seeds differ from run to run. RUNS=500 searches for an hour.
const RUNS = Number(process.env.RUNS ?? 8);

describe("whatever one person or key does", () => {
  it("no value leaves by an export that two people did not both see described", {
    timeout: 25_000 * RUNS,
  }, async () => {
    let revealed = 0;
    await fc.assert(
      fc.asyncProperty(chains, fc.infiniteStream(fc.nat()), async (moves, choices) => {
        const world = await ExportWorld.create(server, (count) => Number(choices.next().value) % count);
        for (const move of moves) {
          await move.run(world);
          await world.exportAll();
        }
        expect(world.unseen, moves.map(({ name }) => name).join(", ")).toEqual([]);
        revealed += world.revealed;
      }),
      { numRuns: RUNS },
    );
    expect(revealed).toBeGreaterThan(0);
  });
});
