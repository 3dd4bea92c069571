import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { logEntry } from "../../src/audit/log-entry.js";
import { systemClock } from "../../src/base/clock.js";
import { newTenantId } from "../../src/base/ids.js";
import { writeLog } from "../../src/store/audit/audit-logs.js";
import { ConnectionSlot } from "../../src/store/postgres/connection-slot.js";
import { type BatchLimits, SHARED_LIMITS } from "../../src/store/transactions/batch-limits.js";
import { type CommitLookup, commitLookupIn } from "../../src/store/transactions/commit-lookup.js";
import { standbyWaitIn } from "../../src/store/transactions/standby-wait.js";
import type { Transaction } from "../../src/store/transactions/transaction.js";
import { TransactionBatcher } from "../../src/store/transactions/transaction-batcher.js";
import { awaitedLater } from "../support/awaited-later.js";
import { startDatabase, type TestDatabase } from "../support/databases.js";
import type { Trap } from "../support/postgres-proxy.js";
import {
  type BatcherFixture,
  FIRST_REVISION,
  insertAndLog,
  openFixture,
  together,
  transactionsOf,
} from "./support/batcher-fixture.js";
import { insertIfFree, namedRowExists } from "./support/named-rows.js";

let database: TestDatabase;
beforeAll(async () => {
  database = await startDatabase();
});
afterAll(() => database?.[Symbol.asyncDispose]());

const UNAVAILABLE = expect.objectContaining({ name: "Fault", code: "unavailable", retryAfter: 1 });

/** Work in one step, in two, and in three; each counts how often it ran, in the name of its row. */
const WORKS: Record<string, (runs: () => number) => (tx: Transaction) => Promise<unknown>> = {
  "one step": (runs) => async (tx) => insertAndLog(tx, `run ${runs()}`),
  "two steps": (runs) => async (tx) => {
    await tx.query(namedRowExists, "warm");
    insertAndLog(tx, `run ${runs()}`);
  },
  "three steps": (runs) => async (tx) => {
    const run = runs();
    if (!(await tx.query(insertIfFree, `run ${run}`))) throw new Error("the name is taken");
    if (!(await tx.query(namedRowExists, `run ${run}`))) throw new Error("the row is missing");
    writeLog(tx, logEntry("tenant", tx.tenantId, "update"));
  },
};

const ALL = Object.keys(WORKS);

/**
 * The points where a connection can be lost, and the works that are committed all the same: a step runs completely
 * before any of it is answered, and the last one contains the commit. Undefined where the database decides: the look-up
 * ends its process, which may have carried out the commit by then or not.
 */
const LOSSES: [string, Trap, readonly string[] | undefined][] = [
  ["before begin arrives", { at: "before", statement: /^begin/, does: "cut" }, []],
  ["before begin is answered", { at: "result", statement: /^begin/, does: "cut" }, ["one step"]],
  ["before the guard arrives", { at: "before", statement: /from tenants/, does: "cut" }, []],
  ["before the guard is answered", { at: "result", statement: /from tenants/, does: "cut" }, ["one step"]],
  ["before an insert arrives", { at: "before", statement: /^insert into due/, does: "cut" }, []],
  [
    "before an insert is answered",
    { at: "result", statement: /^insert into due/, does: "cut" },
    ["one step", "two steps"],
  ],
  ["before the commit arrives", { at: "before", statement: /^commit/, does: "cut" }, []],
  ["when the commit has happened", { at: "result", statement: /^commit/, does: "cut" }, ALL],
  ["on our side alone, at the commit", { at: "before", statement: /^commit/, does: "orphan" }, undefined],
];

async function settled(fixture: BatcherFixture, work: (tx: Transaction) => Promise<unknown>) {
  const [outcome] = await together<unknown>(fixture, [work]);
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
        await using fixture = await openFixture(database, { ...limits, connections: 2 });
        // A statement is parsed at its first use on a connection.
        if (age === "warm") {
          await settled(fixture, WORKS[kind]?.(() => 0) ?? fail);
          await fixture.insert("warm");
        }
        const before = new Set(await fixture.names());
        const logs = await fixture.logs();
        fixture.proxy.sent.length = 0;

        const sprung = fixture.proxy.set(trap);
        let runs = 0;
        const work = WORKS[kind]?.(() => {
          runs += 1;
          return runs;
        });
        expect(await settled(fixture, work ?? fail)).toEqual({ status: "fulfilled", value: undefined });
        await sprung;

        const stored = (await fixture.names()).filter((name) => !before.has(name));
        expect(stored).toEqual([`run ${runs}`]);
        if (committed?.includes(kind)) expect(runs).toBe(1);
        expect(await fixture.logs()).toBe(logs + 1);
        // Throws for a statement that went out on another connection than its begin.
        for (const transaction of transactionsOf(fixture)) expect(transaction[0]).toBe("begin");
      });
    });
  });
});

function fail(): never {
  throw new Error("no such work");
}

describe("a connection that is lost", () => {
  it("between two steps is noticed, and the work runs again", async () => {
    await using fixture = await openFixture(database, { connections: 1 });
    await fixture.insert("warm");
    await fixture.batcher.run(fixture.tenantId, FIRST_REVISION, (tx) => tx.query(namedRowExists, "warm"));
    for (const writes of [false, true]) {
      const sprung = fixture.proxy.set({ at: "pause", statement: /^select kind/, does: "cut" });
      const seen = await fixture.batcher.run(fixture.tenantId, FIRST_REVISION, async (tx) => {
        const first = await tx.query(namedRowExists, "warm");
        if (writes) insertAndLog(tx, "second step");
        // Outside of its transaction this would find nothing, because of row-level security, and not fail.
        return [first, await tx.query(namedRowExists, "warm")];
      });
      await sprung;
      expect(seen).toEqual([true, true]);
    }
    expect(await fixture.names()).toEqual(["second step", "warm"]);
  });

  it("with a hundred requests in flight loses none and duplicates none", async () => {
    await using fixture = await openFixture(database, { connections: 2 });
    await fixture.insert("warm");
    for (const [index, [, trap]] of LOSSES.entries()) {
      const names = Array.from({ length: 100 }, (_, row) => `${index}/${row}`);
      const sprung = fixture.proxy.set(trap);
      await Promise.all(names.map((name) => fixture.insert(name)));
      await sprung;
      const stored = (await fixture.names()).filter((name) => name.startsWith(`${index}/`));
      expect(stored).toEqual(names.toSorted());
    }
    expect(await fixture.logs()).toBe(1 + 100 * LOSSES.length);
  });

  it.each<["before" | "result"]>([["before"], ["result"]])(
    "when its statements are to be planned again (%s) loses none and duplicates none",
    async (at) => {
      await using fixture = await openFixture(database, { connections: 1 });
      const sprung = fixture.proxy.set({ at, statement: /^discard plans/, does: "cut" });
      const names = Array.from({ length: 25 }, (_, row) => `row ${row}`);
      for (const name of names) await fixture.insert(name);
      await sprung;
      expect(await fixture.names()).toEqual(names.toSorted());
      expect(await fixture.logs()).toBe(names.length);
      // The tenth transaction of the first connection, and therefore of the next.
      expect(fixture.proxy.sent.filter(({ text }) => text.startsWith("discard plans"))).toHaveLength(2);
    },
  );

  it("while it is idle is replaced silently", async () => {
    await using fixture = await openFixture(database, { connections: 2 });
    await Promise.all([fixture.insert("1"), fixture.insert("2")]);
    fixture.proxy.goAway();
    fixture.proxy.comeBack();
    // The news takes a turn or two of the event loop to arrive.
    await new Promise((resolve) => setTimeout(resolve, 50));
    fixture.proxy.sent.length = 0;
    await fixture.insert("3");
    expect(transactionsOf(fixture), "transactions").toHaveLength(1);
  });

  it("because an administrator ended its backend counts as lost", async () => {
    await using fixture = await openFixture(database, { connections: 1 });
    await fixture.insert("warm");
    const session = await database.owner.reserve();
    await session`begin`;
    await session`lock table due in share mode`;
    const hanging = fixture.insert("row");
    await expect
      .poll(
        () => database.owner`
        select pg_terminate_backend(pid) from pg_stat_activity where wait_event_type = 'Lock' and pid <> pg_backend_pid()`,
      )
      .toHaveLength(1);
    await session`rollback`;
    session.release();
    await hanging;
    expect(await fixture.names()).toEqual(["row", "warm"]);
  });
});

describe("a transaction that continues without us", () => {
  it("is ended before it runs again, so it never happens twice", async () => {
    await using fixture = await openFixture(database, { connections: 2 });
    await fixture.insert("warm");
    // The insert waits for a lock, with the commit after it, when the connection is lost on our side only.
    const session = await database.owner.reserve();
    await session`begin`;
    await session`lock table due in share mode`;
    const orphaned = fixture.proxy.set({ at: "before", statement: /^commit/, does: "orphan" });
    let runs = 0;
    const hanging = awaitedLater(
      fixture.batcher.run(fixture.tenantId, FIRST_REVISION, async (tx) => {
        runs += 1;
        insertAndLog(tx, `run ${runs}`);
      }),
    );
    await orphaned;
    await expect.poll(() => runs).toBe(2);
    await session`rollback`;
    session.release();
    await hanging;
    expect(await fixture.names()).toEqual(["run 2", "warm"]);
    expect(await fixture.logs()).toBe(2);
  });

  it.each<[string, "before" | "result", RegExp]>([
    ["as its process is to be ended", "result", /pg_terminate_backend/],
    ["as its log row is read", "result", /^\s*select 1 from audit_logs/],
    ["as its missing log row is tried", "before", /^\s*insert into audit_logs .* on conflict do nothing/s],
  ])("is looked up on another connection if one falls silent %s", async (_, at, statement) => {
    const lookups: CommitLookup[] = [];
    const wasCommitted: CommitLookup = async (commit) => lookups.at(0)?.(commit) ?? fail();
    // The first look-up hangs. On a busy machine those after it may take longer than 500 ms as well.
    const retryDelays = [0, ...Array.from({ length: 20 }, () => 5)];
    await using fixture = await openFixture(database, { connections: 1, retryDelays, wasCommitted });
    lookups.push(commitLookupIn(fixture.proxy.address, 500));
    await fixture.insert("warm");
    const cut = fixture.proxy.set({ at, statement: /^commit/, does: "cut" });
    const silent = fixture.proxy.set({ at: "before", statement, does: "hang" });
    await fixture.insert("once");
    await Promise.all([cut, silent]);
    expect(await fixture.names()).toEqual(["once", "warm"]);
    expect(await fixture.logs()).toBe(2);
  });

  it("returns unavailable without a retry when the commit outcome cannot be determined", async () => {
    let looks = 0;
    const wasCommitted = async () => {
      looks += 1;
      throw new Error("no result");
    };
    await using fixture = await openFixture(database, { connections: 1, retryDelays: [0, 5, 5], wasCommitted });
    await fixture.insert("warm");
    void fixture.proxy.set({ at: "result", statement: /^commit/, does: "cut" });
    await expect(fixture.insert("who knows")).rejects.toEqual(UNAVAILABLE);
    expect(looks).toBe(3);
    expect(await fixture.names()).toEqual(["warm", "who knows"]);
  });

  it("is found by a log row that was actually written", async () => {
    // The first of the two writes a log row and fails before it is sent: the look-up must not search for that row.
    await using fixture = await openFixture(database, { connections: 1 });
    await fixture.insert("warm");
    const sprung = fixture.proxy.set({ at: "result", statement: /^commit/, does: "cut" });
    const [failed, fine] = await together(fixture, [
      async (tx) => {
        insertAndLog(tx, "never");
        throw new Error("before it boards");
      },
      async (tx) => insertAndLog(tx, "once"),
    ]);
    await sprung;
    expect(failed).toMatchObject({ status: "rejected", reason: { message: "before it boards" } });
    expect(fine).toEqual({ status: "fulfilled", value: undefined });
    expect(await fixture.names()).toEqual(["once", "warm"]);
    expect(await fixture.logs()).toBe(2);
  });
});

describe("an unavailable database", () => {
  const away: [string, (fixture: BatcherFixture) => Promise<void>][] = [
    ["refuses connections", async ({ proxy }) => proxy.stopListening()],
    ["closes every connection", async ({ proxy }) => proxy.goAway()],
  ];
  it.each(away)("%s is a 503, for reads and writes, in one step or more", async (_, leave) => {
    await using fixture = await openFixture(database, { connections: 2 });
    await fixture.insert("warm");
    await leave(fixture);
    const outcomes = await together<unknown>(fixture, [
      async (tx) => insertAndLog(tx, "never"),
      (tx) => tx.query(namedRowExists, "warm"),
      async (tx) => {
        await tx.query(namedRowExists, "warm");
        insertAndLog(tx, "never either");
      },
    ]);
    expect(outcomes).toEqual(outcomes.map(() => ({ status: "rejected", reason: UNAVAILABLE })));
    await fixture.proxy.listenAgain();
    await fixture.insert("afterwards");
    expect(await fixture.names()).toEqual(["afterwards", "warm"]);
    expect(fixture.proxy.links, "at most the configured connections").toBeLessThanOrEqual(2);
  });

  it("before a transaction has begun is retried, without looking up a commit", async () => {
    const wasCommitted = () => Promise.reject(new Error("there is nothing to look for"));
    await using fixture = await openFixture(database, { connections: 1, retryDelays: [0], wasCommitted });
    await fixture.proxy.stopListening();
    // The news takes a turn or two of the event loop to arrive.
    await new Promise((resolve) => setTimeout(resolve, 50));
    const hanging = fixture.insert("row");
    await new Promise((resolve) => setTimeout(resolve, 30));
    await fixture.proxy.listenAgain();
    await hanging;
    expect(await fixture.names()).toEqual(["row"]);
  });

  it("without a route to its address is a 503 and ends no process", async () => {
    // A broadcast address accepts no connections: the system reports that at once, before any listener is attached.
    const address = { ...database.address, host: "255.255.255.255" };
    const slots = [new ConnectionSlot(address, { role: "cloakroom_app", statementTimeout: 5_000 })];
    const batcher = new TransactionBatcher(slots, SHARED_LIMITS, systemClock, {
      wasCommitted: commitLookupIn(address),
      waitsForStandby: standbyWaitIn(address),
    });
    await expect(batcher.run(newTenantId(), undefined, (tx) => tx.query(namedRowExists, "any"))).rejects.toEqual(
      UNAVAILABLE,
    );
    await batcher.close();
  });

  it("is a 503 and ends no process if it closes each connection at its first query, as a pooler does", async () => {
    await using fixture = await openFixture(database, { connections: 1 });
    fixture.proxy.goAway();
    fixture.proxy.comeBack();
    const failures: unknown[] = [];
    const note = (error: unknown) => void failures.push(error);
    process.on("unhandledRejection", note);
    for (let lost = 0; lost < 10; lost += 1) void fixture.proxy.set({ at: "before", does: "cut" });
    const see = () => fixture.batcher.run(fixture.tenantId, FIRST_REVISION, (tx) => tx.query(namedRowExists, "any"));
    await expect(see()).rejects.toEqual(UNAVAILABLE);
    await fixture[Symbol.asyncDispose]();
    process.off("unhandledRejection", note);
    expect(failures).toEqual([]);
  });

  it("for a moment only goes unnoticed", async () => {
    await using fixture = await openFixture(database, { connections: 2 });
    await fixture.insert("warm");
    const names = Array.from({ length: 200 }, (_, index) => `row ${index}`);
    const hanging = names.map((name) => fixture.insert(name));
    fixture.proxy.goAway();
    await new Promise((resolve) => setTimeout(resolve, 30));
    await fixture.proxy.listenAgain();
    await Promise.all(hanging);
    expect(await fixture.names()).toEqual([...names, "warm"].toSorted());
    expect(await fixture.logs()).toBe(201);
  });
});
