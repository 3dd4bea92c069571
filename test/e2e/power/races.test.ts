// Waits: 20 s
import fc from "fast-check";
import { afterAll, beforeAll, expect, it } from "vitest";
import { OidcIssuer } from "../../support/oidc-issuer.js";
import { type ServerHere, startServerHere } from "../../support/server-here.js";
import { HELD_TABLES, HeldRows, type HeldTable, SEVERAL_AT_ONCE } from "../support/held-rows.js";
import { RACE_MOVES } from "./race-moves.js";
import { loggedSince, logOf, stateOf } from "./race-state.js";
import { OF_MANY_NETWORKS, RaceWorld } from "./race-world.js";

let issuer: OidcIssuer;
let server: ServerHere;
let database: HeldRows;
beforeAll(async () => {
  issuer = await OidcIssuer.open();
  server = await startServerHere({ ...issuer.settings, ...SEVERAL_AT_ONCE, ...OF_MANY_NETWORKS, LOG_LEVEL: "error" });
  issuer.serve(server.url);
  database = new HeldRows(server.vault);
});
afterAll(async () => {
  await database?.[Symbol.asyncDispose]();
  await server?.[Symbol.asyncDispose]();
  issuer?.close();
});

const { RACES, SEED = RACES === undefined ? "1" : undefined } = process.env;
const NAMES = Object.keys(RACE_MOVES).filter((name) => new RegExp(process.env.ONLY ?? "").test(name));
const HELD = [undefined, ...HELD_TABLES];

interface Pair {
  readonly first: string;
  readonly second: string;
}

/** How two requests meet. A list: only these, one after the other. */
type Meeting = { readonly held: HeldTable | undefined; readonly isTurned: boolean } | readonly (0 | 1)[];

/** Lets two requests meet in a tenant of their own. Returns who was served, and all that is left. */
async function outcomeOf({ first, second }: Pair, meeting: Meeting): Promise<string> {
  const world = await RaceWorld.create(server, issuer);
  const done = [false, false];
  const sends: (() => Promise<void>)[] = [];
  for (const [index, name] of [first, second].entries()) {
    const send = await RACE_MOVES[name]?.(world);
    if (!send) throw new Error(`no move ${name}`);
    sends.push(async () => {
      done[index] = await send();
    });
  }
  const before = new Set((await logOf(world)).map(({ id }) => id));
  if ("held" in meeting) {
    await database.race(world.id, meeting.held, meeting.isTurned ? sends.toReversed() : sends);
  } else for (const index of meeting) await sends[index]?.();
  const log = await loggedSince(world, before);
  return JSON.stringify({ done, log, state: await stateOf(world, database) }, undefined, 1);
}

const ORDERS = [[], [0], [1], [0, 1], [1, 0]] as const;
const known = new Map<string, Promise<readonly string[]>>();

/** What becomes of two requests in either order, and of one of them or of neither. */
function orderly(pair: Pair): Promise<readonly string[]> {
  const name = JSON.stringify(pair);
  const outcomes = known.get(name) ?? Promise.all(ORDERS.map((order) => outcomeOf(pair, order)));
  known.set(name, outcomes);
  return outcomes;
}

const pair = fc.record({ first: fc.constantFrom(...NAMES), second: fc.constantFrom(...NAMES) });
const meeting = fc.record({ held: fc.constantFrom(...HELD), isTurned: fc.boolean() });

// A run without settings tries the same pairs each time. RACES=2000 searches for an hour, ONLY=DEVELOPER with the moves that have this in their names.
it("two requests at one moment leave what they leave one after the other, with its rows in the log", async () => {
  const seed = SEED === undefined ? {} : { seed: Number(SEED) };
  const searched = fc.asyncProperty(pair, fc.array(meeting, { minLength: 2, maxLength: 2 }), async (met, meetings) => {
    const allowed = await orderly(met);
    for (const each of meetings) {
      const outcome = await outcomeOf(met, each);
      expect(allowed, `${JSON.stringify(met)} ${JSON.stringify(each)}`).toContain(outcome);
    }
  });
  await fc.assert(searched, { numRuns: Number(RACES ?? 3), ...seed, endOnFailure: true });
});
