// Waits: 30 s
import fc from "fast-check";
import { expect, it } from "vitest";
import { COLLUSION_MOVES, type Draw } from "./collusion-moves.js";
import { type Collusion, GROUPS, type Holder, heldByKey, keyHolder, newCollusion } from "./collusion-world.js";

/** One move of one caller, with numbers that choose what it names. */
const step = fc.record({
  by: fc.nat(),
  operation: fc.nat(),
  // One in four moves is one that no caller of its kind may make.
  isAny: fc.constantFrom(true, false, false, false),
  picks: fc.array(fc.nat(), { minLength: 8, maxLength: 8 }),
});
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;
const OPERATIONS = Object.keys(COLLUSION_MOVES);

const NONE = "01890000-0000-7000-8000-000000000000";
const PROXY_KEY = /^key_prod_prx_/;

function drawFrom({ known }: Collusion, picks: readonly number[]): Draw {
  let at = 0;
  const pick = (length: number) => (picks[at++ % picks.length] ?? 0) % Math.max(1, length);
  return {
    // The newest are as likely as all others: what the group made is what it goes on with.
    id: (kind) => known[kind].at(pick(2) === 0 ? -1 : pick(known[kind].length)) ?? NONE,
    one(choices) {
      const chosen = choices[pick(choices.length)];
      if (chosen === undefined) throw new Error("there is nothing to choose from");
      return chosen;
    },
  };
}

/** What a response gives the group for its next moves. */
function learn(collusion: Collusion, operation: string, body: Record<string, unknown>): void {
  const { known, tenant, holders } = collusion;
  const { makes } = COLLUSION_MOVES[operation] ?? {};
  if (makes && typeof body.id === "string") known[makes].push(body.id);
  if (typeof body.nonce === "string") known.nonce.push(body.nonce);
  for (const key of JSON.stringify(body).match(/key_prod_\w+/g) ?? []) {
    if (PROXY_KEY.test(key)) known.proxyKey.push(key);
    else if (!holders.some((holder) => holder.key === key)) holders.push(keyHolder(tenant, "learned", key));
  }
}

/** Calls the proxies that the group knows, for each token and with each of its keys. */
async function callProxies({ tenant, known, holders }: Collusion): Promise<string> {
  const keys = [undefined, ...holders.flatMap(({ key }) => key ?? [])];
  const calls = [...new Set(known.proxyKey)].flatMap((proxyKey) =>
    keys.map(async (key) => {
      const headers = {
        ...{ "Content-Type": "application/json", "BT-PROXY-KEY": proxyKey },
        ...(key === undefined ? {} : { "BT-API-KEY": key }),
      };
      const [token = ""] = known.token;
      const seen = known.token.map((id) => `{{ ${id} }}`);
      const body = JSON.stringify({ token, seen });
      return (await fetch(`${tenant.url}/proxy`, { method: "POST", headers, body })).text();
    }),
  );
  return (await Promise.all(calls)).join("\n");
}

async function carryOut(collusion: Collusion, { by, operation: which, isAny, picks }: Step): Promise<string> {
  const holder: Holder | undefined = collusion.holders[by % collusion.holders.length];
  const operations = OPERATIONS.filter((name) => isAny || holder?.mayCall(name));
  const operation = operations[which % operations.length] ?? "";
  const move = COLLUSION_MOVES[operation];
  if (!holder || !move) throw new Error("a move without its caller");
  const { status, body } = await holder.call(operation, move.body(drawFrom(collusion, picks), collusion));
  if (status === 200) learn(collusion, operation, body);
  if (process.env.MOVES)
    console.log(`${holder.name} ${operation} ${status} ${status === 400 ? JSON.stringify(body) : ""}`);
  return JSON.stringify(body);
}

// COLLUSIONS=500 searches for an hour, SHRINK=1 looks for the fewest moves, MOVES=1 says what each move gets.
it("callers that share all they know end with nothing that none of them may have, and take nothing from others", async () => {
  const runs = Number(process.env.COLLUSIONS ?? 4);
  const searched = fc.asyncProperty(
    fc.constantFrom(...GROUPS),
    fc.array(step, { minLength: 100, maxLength: 150 }),
    async (group, steps) => {
      await using collusion = await newCollusion(group);
      const before = await collusion.strong();
      const responses: string[] = [];
      for (const each of steps) responses.push(await carryOut(collusion, each));
      responses.push(await callProxies(collusion));
      const sent = collusion.destination.requests.map(({ line, headers, body }) => `${line} ${headers} ${body}`);
      const shown = [...responses, ...sent].join("\n");
      const keys = collusion.holders.flatMap(({ key }) => key ?? []);
      const held = (await Promise.all(keys.map((key) => heldByKey(collusion.tenant, key)))).flat();
      expect({
        shown: collusion.secrets.filter((secret) => shown.includes(secret)),
        held: held.filter((one) => !collusion.isAllowed(one)),
        strong: await collusion.strong(),
      }).toEqual({ shown: [], held: [], strong: before });
    },
  );
  const seed = process.env.SEED ? { seed: Number(process.env.SEED) } : {};
  await fc.assert(searched, { numRuns: runs, ...seed, endOnFailure: process.env.SHRINK === undefined });
});
