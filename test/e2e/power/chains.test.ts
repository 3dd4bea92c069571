// Waits: 60 s
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { SERVICES } from "../../../src/server/served-services.js";
import { operationName, readMethodRoles } from "../../../src/services/method-roles.js";
import { allowedFor, heldIn } from "./held.js";
import { MOVES, type Move } from "./moves.js";
import { STARTS } from "./starts.js";
import { newWorld, type Start, type World } from "./world.js";

/** Operations of people that give no more than their callers have. */
const GIVE_NOTHING = new Set([
  // Values and entities of the tenant, which the role decides about.
  ...["TokenService/CreateToken", "TokenService/UpdateToken", "TokenService/DeleteToken", "TokenizeService/Tokenize"],
  "TokenService/ImportTokens",
  ...["TransactionService/CreateTransaction", "TransactionService/CaptureTransaction"],
  ...["TransactionService/VoidTransaction", "TransactionService/SyncTransaction", "TransactionService/CreateRefund"],
  ...[
    "ConnectionService/CreateConnection",
    "ConnectionService/ReplaceConnection",
    "ConnectionService/DeleteConnection",
  ],
  // Events have no values, and say what roles that create webhooks may read.
  ...["WebhookService/CreateWebhook", "WebhookService/ReplaceWebhook", "WebhookService/DeleteWebhook"],
  ...["WebhookService/RotateWebhookSecret", "WebhookService/TestWebhook", "WebhookService/ReplayWebhookDelivery"],
  // They let an application use the right that it has.
  ...["TokenExportService/RequestTokenExport", "TokenExportService/ApproveTokenExport"],
  "TokenExportService/DeleteTokenExport",
  // Code that runs without rights.
  ...["ProxyService/TestProxy", "ReactorService/TestReactor", "ReactorFormulaService/CreateReactorFormula"],
  // They take away.
  ...["ApplicationService/DeleteApplication", "ApplicationKeyService/DeleteApplicationKey", "ProxyService/DeleteProxy"],
  ...["ReactorService/DeleteReactor", "ReactorFormulaService/DeleteReactorFormula", "TenantService/DeleteTenant"],
  "SessionService/DeleteSession",
  ...["InvitationService/DeleteInvitation", "SignInService/EndSignIn", "SignInService/SignOut"],
  ...["PasskeyService/DeletePasskey", "PasskeyService/RenamePasskey"],
  // What each controlled person does when it joins, and what passkeys.test.ts tries.
  ...["PasskeyService/BeginPasskeyCheck", "PasskeyService/FinishPasskeyCheck", "SignInService/SwitchTenant"],
  ...["PasskeyService/BeginPasskeyRegistration", "PasskeyService/FinishPasskeyRegistration"],
  // Mails the link of an invitation again: it needs what the invitation needs.
  "InvitationService/ResendInvitation",
  // Shows a value to the person alone; each search looks whether it does.
  "RevealService/RevealToken",
]);

type NamedMove = readonly [string, Move];
const ALL_MOVES: readonly NamedMove[] = Object.entries(MOVES).flatMap(([operation, moves]) =>
  Object.entries(moves).map(([name, move]): NamedMove => [`${operation} ${name}`, move]),
);

const nameOf = ({ role, hasSecondFactor, containers }: Start) =>
  `${role} ${hasSecondFactor ? "with" : "without"} a second factor${containers.length > 0 ? ` in ${containers}` : ""}`;

/** Everybody whom the actor controls tries a move. Returns whether anybody may. */
async function everybodyTries(world: World, move: Move): Promise<boolean> {
  const people = [...world.people];
  return (await Promise.all(people.map((person) => move(world, person)))).some(Boolean);
}

async function gainIn(world: World): Promise<readonly string[]> {
  const isAllowed = allowedFor(world.start);
  return [...(await heldIn(world))].filter((held) => !isAllowed(held));
}

/** Everybody tries all moves of an operation. Returns whether any is allowed. */
async function allTried(world: World, operation: string): Promise<boolean> {
  const moves = Object.values(MOVES[operation] ?? {});
  return (await Promise.all(moves.map((move) => everybodyTries(world, move)))).some(Boolean);
}

describe("each operation that people may call", () => {
  it("is known to the search: either a move, or one that gives nothing", () => {
    const methods = SERVICES.flatMap((service) => service.methods);
    const ofPeople = methods.filter((method) => readMethodRoles(method).roles.length > 0);
    const isRead = (name: string) => /^(?:Get|List|Search|Follow|Explain|WhoAmI)/.test(name);
    const changes = ofPeople.filter(({ name }) => !isRead(name)).map(operationName);
    const unknown = changes.filter((operation) => !MOVES[operation] && !GIVE_NOTHING.has(operation));
    expect(unknown).toEqual([]);
    expect(Object.keys(MOVES).filter((operation) => GIVE_NOTHING.has(operation))).toEqual([]);
  });
});

describe.each(STARTS.map((start) => [nameOf(start), start] as const))("%s", (_, start) => {
  it("gains nothing by any moves, each tried after all others", async () => {
    const world = await newWorld(start);
    expect(await gainIn(world)).toEqual([]);
    for (let round = 0; round < 2; round += 1) {
      for (const [, move] of ALL_MOVES) {
        await everybodyTries(world, move);
        world.people.splice(3);
      }
      expect(await gainIn(world)).toEqual([]);
    }
  });
});

// The others differ from these by what they may not do: an OWNER from an ADMIN, a second factor of a DEVELOPER.
describe.each(
  STARTS.filter(({ role, hasSecondFactor }) => role !== "OWNER" && !hasSecondFactor).map(
    (start) => [nameOf(start), start] as const,
  ),
)("%s", (_, start) => {
  it("gains nothing by two operations, the first in a tenant of its own", async () => {
    for (const first of Object.keys(MOVES)) {
      const world = await newWorld(start);
      // What is refused changes nothing: the search above has all that follows it.
      if (!(await allTried(world, first))) continue;
      for (const next of Object.keys(MOVES)) {
        await allTried(world, next);
        world.people.splice(2);
      }
      expect(await gainIn(world), `after ${first} and another`).toEqual([]);
    }
  });
});

// CHAINS=10000 searches for hours.
describe("chains of three moves", () => {
  it("gain nothing", { timeout: 600_000 * Math.max(1, Number(process.env.CHAINS ?? 20) / 20) }, async () => {
    const chain = fc.tuple(
      fc.constantFrom(...STARTS),
      fc.array(fc.constantFrom(...ALL_MOVES), { minLength: 3, maxLength: 3 }),
    );
    await fc.assert(
      fc.asyncProperty(chain, async ([start, moves]) => {
        const world = await newWorld(start);
        for (const [, move] of moves) await everybodyTries(world, move);
        expect(await gainIn(world), `${nameOf(start)}: ${moves.map(([name]) => name).join(", ")}`).toEqual([]);
      }),
      { numRuns: Number(process.env.CHAINS ?? 20), ...(process.env.SEED ? { seed: Number(process.env.SEED) } : {}) },
    );
  });
});
