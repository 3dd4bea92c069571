import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { logEntry } from "../../src/audit/log-entry.js";
import { systemClock } from "../../src/base/clock.js";
import { newTenantId } from "../../src/base/ids.js";
import { writeLog } from "../../src/store/audit-logs.js";
import { type BatchLimits, FAST_LIMITS } from "../../src/store/batch-limits.js";
import { type CommitLookup, commitLookupIn } from "../../src/store/commit-lookup.js";
import { ConnectionSlot } from "../../src/store/connection-slot.js";
import type { Transaction } from "../../src/store/transaction.js";
import { TransactionBatcher } from "../../src/store/transaction-batcher.js";
import { awaitedLater } from "../support/awaited-later.js";
import { startDatabase, type TestDatabase } from "../support/databases.js";
import type { Trap } from "../support/postgres-proxy.js";
import { hangIfFree, seeCoat } from "./support/coats.js";
import { type Deck, FIRST_REVISION, hangAndLog, openDeck, together, transactionsOf } from "./support/deck.js";

let database: TestDatabase;
beforeAll(async () => {
  database = await startDatabase();
});
afterAll(() => database?.[Symbol.asyncDispose]());

const UNAVAILABLE = expect.objectContaining({ name: "Fault", code: "unavailable", retryAfter: 1 });

/** Work in one step, in two, and in three; each counts how often it ran, in the name of its coat. */
const WORKS: Record<string, (runs: () => number) => (tx: Transaction) => Promise<unknown>> = {
  "one step": (runs) => async (tx) => hangAndLog(tx, `run ${runs()}`),
  "two steps": (runs) => async (tx) => {
    await tx.query(seeCoat, "warm");
    hangAndLog(tx, `run ${runs()}`);
  },
  "three steps": (runs) => async (tx) => {
    const run = runs();
    if (!(await tx.query(hangIfFree, `run ${run}`))) throw new Error("somebody hung this coat");
    if (!(await tx.query(seeCoat, `run ${run}`))) throw new Error("the coat is not there");
    writeLog(tx, logEntry(undefined, "tenant", tx.tenantId, "update"));
  },
};

const ALL = Object.keys(WORKS);

/**
 * Where a connection can be lost, and the works that are committed all the same: a step is run as a whole before any of it is
 * answered, and the last one holds the commit.
 */
const LOSSES: [string, Trap, readonly string[]][] = [
  ["before begin arrives", { at: "before", statement: /^begin/, does: "cut" }, []],
  ["before begin is answered", { at: "answer", statement: /^begin/, does: "cut" }, ["one step"]],
  ["before the guard arrives", { at: "before", statement: /from tenants/, does: "cut" }, []],
  ["before the guard is answered", { at: "answer", statement: /from tenants/, does: "cut" }, ["one step"]],
  ["before an insert arrives", { at: "before", statement: /^insert into due/, does: "cut" }, []],
  [
    "before an insert is answered",
    { at: "answer", statement: /^insert into due/, does: "cut" },
    ["one step", "two steps"],
  ],
  ["before the commit arrives", { at: "before", statement: /^commit/, does: "cut" }, []],
  ["when the commit has happened", { at: "answer", statement: /^commit/, does: "cut" }, ALL],
  ["on our side alone, at the commit", { at: "before", statement: /^commit/, does: "orphan" }, ALL],
];

async function settled(deck: Deck, work: (tx: Transaction) => Promise<unknown>) {
  const [outcome] = await together<unknown>(deck, [work]);
  return outcome;
}

/** The limits of either kind of transaction. */
const KINDS: [string, Partial<BatchLimits>][] = [
  ["a shared", {}],
  ["an ordinary", { batch: 1 }],
];

describe.each(KINDS)("work in %s transaction", (_, limits) => {
  describe.each(ALL)("in %s", (kind) => {
    describe.each([["warm"], ["new"]])("on a %s connection", (age) => {
      it.each(LOSSES)("that is lost %s is stored exactly once", async (_, trap, committed) => {
        await using deck = await openDeck(database, { ...limits, lanes: 2 });
        // A statement is parsed at its first use on a connection.
        if (age === "warm") {
          await settled(deck, WORKS[kind]?.(() => 0) ?? fail);
          await deck.hang("warm");
        }
        const before = new Set(await deck.coats());
        const logs = await deck.logs();
        deck.proxy.sent.length = 0;

        const sprung = deck.proxy.set(trap);
        let runs = 0;
        const work = WORKS[kind]?.(() => {
          runs += 1;
          return runs;
        });
        expect(await settled(deck, work ?? fail)).toEqual({ status: "fulfilled", value: undefined });
        await sprung;

        const stored = (await deck.coats()).filter((name) => !before.has(name));
        expect(stored).toEqual([committed.includes(kind) ? "run 1" : `run ${runs}`]);
        if (committed.includes(kind)) expect(runs).toBe(1);
        expect(await deck.logs()).toBe(logs + 1);
        // Throws for a statement that went out on another connection than its begin.
        for (const transaction of transactionsOf(deck)) expect(transaction[0]).toBe("begin");
      });
    });
  });
});

function fail(): never {
  throw new Error("no such work");
}

describe("a connection that is lost", () => {
  it("between two steps is noticed, and the work begins anew", async () => {
    await using deck = await openDeck(database, { lanes: 1 });
    await deck.hang("warm");
    await deck.flights.run(deck.tenantId, FIRST_REVISION, (tx) => tx.query(seeCoat, "warm"));
    for (const writes of [false, true]) {
      const sprung = deck.proxy.set({ at: "pause", statement: /^select kind/, does: "cut" });
      const seen = await deck.flights.run(deck.tenantId, FIRST_REVISION, async (tx) => {
        const first = await tx.query(seeCoat, "warm");
        if (writes) hangAndLog(tx, "second step");
        // Outside of its transaction this would find nothing, as row-level security has it, and not fail.
        return [first, await tx.query(seeCoat, "warm")];
      });
      await sprung;
      expect(seen).toEqual([true, true]);
    }
    expect(await deck.coats()).toEqual(["second step", "warm"]);
  });

  it("with a hundred requests aboard loses none and doubles none", async () => {
    await using deck = await openDeck(database, { lanes: 2 });
    await deck.hang("warm");
    for (const [index, [, trap]] of LOSSES.entries()) {
      const names = Array.from({ length: 100 }, (_, coat) => `${index}/${coat}`);
      const sprung = deck.proxy.set(trap);
      await Promise.all(names.map((name) => deck.hang(name)));
      await sprung;
      const stored = (await deck.coats()).filter((name) => name.startsWith(`${index}/`));
      expect(stored).toEqual(names.toSorted());
    }
    expect(await deck.logs()).toBe(1 + 100 * LOSSES.length);
  });

  it.each<["before" | "answer"]>([["before"], ["answer"]])(
    "when its statements are to be planned anew (%s) loses none and doubles none",
    async (at) => {
      await using deck = await openDeck(database, { lanes: 1 });
      const sprung = deck.proxy.set({ at, statement: /^discard plans/, does: "cut" });
      const names = Array.from({ length: 25 }, (_, coat) => `coat ${coat}`);
      for (const name of names) await deck.hang(name);
      await sprung;
      expect(await deck.coats()).toEqual(names.toSorted());
      expect(await deck.logs()).toBe(names.length);
      // Of the first connection its tenth flight, and so of the next.
      expect(deck.proxy.sent.filter(({ text }) => text.startsWith("discard plans"))).toHaveLength(2);
    },
  );

  it("while nobody uses it is replaced without a word", async () => {
    await using deck = await openDeck(database, { lanes: 2 });
    await Promise.all([deck.hang("1"), deck.hang("2")]);
    deck.proxy.goAway();
    deck.proxy.comeBack();
    // The news takes a turn or two of the event loop to get here.
    await new Promise((resolve) => setTimeout(resolve, 50));
    deck.proxy.sent.length = 0;
    await deck.hang("3");
    expect(transactionsOf(deck), "flights").toHaveLength(1);
  });

  it("as its backend is ended by an administrator counts as lost", async () => {
    await using deck = await openDeck(database, { lanes: 1 });
    await deck.hang("warm");
    const session = await database.owner.reserve();
    await session`begin`;
    await session`lock table due in share mode`;
    const hanging = deck.hang("coat");
    await expect
      .poll(
        () => database.owner`
        select pg_terminate_backend(pid) from pg_stat_activity where wait_event_type = 'Lock' and pid <> pg_backend_pid()`,
      )
      .toHaveLength(1);
    await session`rollback`;
    session.release();
    await hanging;
    expect(await deck.coats()).toEqual(["coat", "warm"]);
  });
});

describe("a transaction that goes on without us", () => {
  it("is ended before it is done once more, so that it never happens twice", async () => {
    await using deck = await openDeck(database, { lanes: 2 });
    await deck.hang("warm");
    // The insert waits for a lock, with the commit behind it, when the connection is lost on our side alone.
    const session = await database.owner.reserve();
    await session`begin`;
    await session`lock table due in share mode`;
    const orphaned = deck.proxy.set({ at: "before", statement: /^commit/, does: "orphan" });
    let runs = 0;
    const hanging = awaitedLater(
      deck.flights.run(deck.tenantId, FIRST_REVISION, async (tx) => {
        runs += 1;
        hangAndLog(tx, `run ${runs}`);
      }),
    );
    await orphaned;
    await expect.poll(() => runs).toBe(2);
    await session`rollback`;
    session.release();
    await hanging;
    expect(await deck.coats()).toEqual(["run 2", "warm"]);
    expect(await deck.logs()).toBe(2);
  });

  it.each([
    ["as its process is to be ended", /pg_terminate_backend/],
    ["as its log row is read", /^select 1 from audit_logs/],
  ])("is looked up on another connection where one falls silent %s", async (_, statement) => {
    const lookups: CommitLookup[] = [];
    const wasCommitted: CommitLookup = async (commit) => lookups.at(0)?.(commit) ?? fail();
    await using deck = await openDeck(database, { lanes: 1, retryDelays: [0, 5], wasCommitted });
    lookups.push(commitLookupIn(deck.proxy.address, 500));
    await deck.hang("warm");
    const cut = deck.proxy.set({ at: "answer", statement: /^commit/, does: "cut" });
    const silent = deck.proxy.set({ at: "before", statement, does: "hang" });
    await deck.hang("once");
    await Promise.all([cut, silent]);
    expect(await deck.coats()).toEqual(["once", "warm"]);
    expect(await deck.logs()).toBe(2);
  });

  it("and whose fate stays unknown is reported as such, and not done again", async () => {
    let looks = 0;
    const wasCommitted = async () => {
      looks += 1;
      throw new Error("no answer");
    };
    await using deck = await openDeck(database, { lanes: 1, retryDelays: [0, 5, 5], wasCommitted });
    await deck.hang("warm");
    void deck.proxy.set({ at: "answer", statement: /^commit/, does: "cut" });
    await expect(deck.hang("who knows")).rejects.toEqual(UNAVAILABLE);
    expect(looks).toBe(3);
    expect(await deck.coats()).toEqual(["warm", "who knows"]);
  });

  it("is found by a log row that was really written", async () => {
    // The first of the two writes a log row and fails before it boards: nobody must look for that row.
    await using deck = await openDeck(database, { lanes: 1 });
    await deck.hang("warm");
    const sprung = deck.proxy.set({ at: "answer", statement: /^commit/, does: "cut" });
    const [failed, fine] = await together(deck, [
      async (tx) => {
        hangAndLog(tx, "never");
        throw new Error("before it boards");
      },
      async (tx) => hangAndLog(tx, "once"),
    ]);
    await sprung;
    expect(failed).toMatchObject({ status: "rejected", reason: { message: "before it boards" } });
    expect(fine).toEqual({ status: "fulfilled", value: undefined });
    expect(await deck.coats()).toEqual(["once", "warm"]);
    expect(await deck.logs()).toBe(2);
  });
});

describe("a database that is away", () => {
  const away: [string, (deck: Deck) => Promise<void>][] = [
    ["refuses connections", async ({ proxy }) => proxy.stopListening()],
    ["closes every connection", async ({ proxy }) => proxy.goAway()],
  ];
  it.each(away)("and %s is a 503, for reads and writes, in one step or more", async (_, leave) => {
    await using deck = await openDeck(database, { lanes: 2 });
    await deck.hang("warm");
    await leave(deck);
    const outcomes = await together<unknown>(deck, [
      async (tx) => hangAndLog(tx, "never"),
      (tx) => tx.query(seeCoat, "warm"),
      async (tx) => {
        await tx.query(seeCoat, "warm");
        hangAndLog(tx, "never either");
      },
    ]);
    expect(outcomes).toEqual(outcomes.map(() => ({ status: "rejected", reason: UNAVAILABLE })));
    await deck.proxy.listenAgain();
    await deck.hang("afterwards");
    expect(await deck.coats()).toEqual(["afterwards", "warm"]);
    expect(deck.proxy.links, "connections, of which there are lanes").toBeLessThanOrEqual(2);
  });

  it("before a transaction has begun is tried again, without a look for a commit", async () => {
    const wasCommitted = () => Promise.reject(new Error("there is nothing to look for"));
    await using deck = await openDeck(database, { lanes: 1, retryDelays: [0], wasCommitted });
    await deck.proxy.stopListening();
    // The news takes a turn or two of the event loop to get here.
    await new Promise((resolve) => setTimeout(resolve, 50));
    const hanging = deck.hang("coat");
    await new Promise((resolve) => setTimeout(resolve, 30));
    await deck.proxy.listenAgain();
    await hanging;
    expect(await deck.coats()).toEqual(["coat"]);
  });

  it("and cannot even be tried, since no way leads to its address, is a 503 and ends no process", async () => {
    // Nothing answers for a broadcast address: the system says so at once, before anybody could listen.
    const address = { ...database.address, host: "255.255.255.255" };
    const lanes = [new ConnectionSlot(address, { role: "cloakroom_app", statementTimeout: 5_000 })];
    const flights = new TransactionBatcher(lanes, FAST_LIMITS, systemClock, commitLookupIn(address));
    await expect(flights.run(newTenantId(), "unguarded", (tx) => tx.query(seeCoat, "any"))).rejects.toEqual(
      UNAVAILABLE,
    );
    await flights.close();
  });

  it("and ends each connection at its first question, as a pooler does, is a 503 and ends no process", async () => {
    await using deck = await openDeck(database, { lanes: 1 });
    deck.proxy.goAway();
    deck.proxy.comeBack();
    const failures: unknown[] = [];
    const note = (error: unknown) => void failures.push(error);
    process.on("unhandledRejection", note);
    for (let lost = 0; lost < 10; lost += 1) void deck.proxy.set({ at: "before", does: "cut" });
    const see = () => deck.flights.run(deck.tenantId, FIRST_REVISION, (tx) => tx.query(seeCoat, "any"));
    await expect(see()).rejects.toEqual(UNAVAILABLE);
    await deck[Symbol.asyncDispose]();
    process.off("unhandledRejection", note);
    expect(failures).toEqual([]);
  });

  it("for a moment only is not noticed by anybody", async () => {
    await using deck = await openDeck(database, { lanes: 2 });
    await deck.hang("warm");
    const names = Array.from({ length: 200 }, (_, index) => `coat ${index}`);
    const hanging = names.map((name) => deck.hang(name));
    deck.proxy.goAway();
    await new Promise((resolve) => setTimeout(resolve, 30));
    await deck.proxy.listenAgain();
    await Promise.all(hanging);
    expect(await deck.coats()).toEqual([...names, "warm"].toSorted());
    expect(await deck.logs()).toBe(201);
  });
});
