import { inspect } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Denied } from "../../src/access/refusal.js";
import { logEntry } from "../../src/audit/log-entry.js";
import { Fault, notFound } from "../../src/base/fault.js";
import { newUuid } from "../../src/base/ids.js";
import { writeLog } from "../../src/store/audit-logs.js";
import { StaleAuthorization, UniqueViolation } from "../../src/store/database-error.js";
import { defineWrite } from "../../src/store/statement.js";
import { insertTenant, raiseAuthRevision, readTenant } from "../../src/store/tenants.js";
import type { Transaction } from "../../src/store/transaction.js";
import { startDatabase, type TestDatabase } from "../support/databases.js";
import { hangCoat, hangIfFree, seeCoat } from "./support/coats.js";
import { FIRST_REVISION, hangAndLog, openDeck, together, transactionsOf } from "./support/deck.js";

let database: TestDatabase;
beforeAll(async () => {
  database = await startDatabase();
});
afterAll(() => database?.[Symbol.asyncDispose]());

const names = (count: number, prefix = "coat") =>
  Array.from({ length: count }, (_, index) => `${prefix} ${String(index).padStart(4, "0")}`);

describe("requests of one tenant", () => {
  it("share transactions, of at most 100 requests, two at a time", async () => {
    await using deck = await openDeck(database, { lanes: 4 });
    await Promise.all(names(450).map((name) => deck.hang(name)));
    expect(await deck.coats()).toEqual(names(450));
    expect(transactionsOf(deck)).toHaveLength(5);
    expect(deck.proxy.links, "connections that were needed").toBe(2);
  });

  it("never share one with another tenant's", async () => {
    await using deck = await openDeck(database);
    const other = await deck.newTenant();
    deck.proxy.sent.length = 0;
    await Promise.all(names(40).map((name, index) => deck.hang(name, index % 2 ? other : deck.tenantId)));
    for (const transaction of transactionsOf(deck)) {
      expect(transaction.filter((text) => text.startsWith("set local"))).toHaveLength(1);
    }
    expect(await deck.coats()).toHaveLength(20);
    expect(await deck.coats(other)).toHaveLength(20);
  });

  it("get their own answers, each in the transaction of its company", async () => {
    await using deck = await openDeck(database);
    await deck.hang("taken");
    deck.proxy.sent.length = 0;
    const outcomes = await together(
      deck,
      ["taken", "free", "taken too", "taken too"].map((name) => (tx: Transaction) => tx.query(hangIfFree, name)),
    );
    expect(outcomes.map((outcome) => outcome.status === "fulfilled" && outcome.value)).toEqual([
      false,
      true,
      true,
      false,
    ]);
    expect(transactionsOf(deck)).toHaveLength(1);
  });
});

describe("a request in bad company", () => {
  /** Ten requests that are fine with a bad one among them. */
  async function withBadOne(bad: (tx: Transaction) => Promise<unknown>) {
    const deck = await openDeck(database);
    await deck.hang("taken");
    const good = names(10).map((name) => async (tx: Transaction) => hangAndLog(tx, name));
    const outcomes = await together<unknown>(deck, [...good.slice(0, 5), bad, ...good.slice(5)]);
    return {
      deck,
      error: outcomes.flatMap((outcome) => (outcome.status === "rejected" ? [outcome.reason] : [])),
      async leavesOnly(...coats: string[]) {
        expect(await deck.coats()).toEqual([...coats, "taken"].toSorted());
        expect(await deck.logs(), "log rows").toBe(1 + 10);
        // The connections are as good as new.
        await deck.hang("afterwards");
        expect(await deck.coats()).toContain("afterwards");
        await deck[Symbol.asyncDispose]();
      },
    };
  }
  const thrown = new Fault("conflict", "Thrown by the request.");
  const unmade = new Error("cannot be made");
  const unmakeable = defineWrite<string>({
    table: "token_counts",
    sortKey: (text) => text,
    queries() {
      throw unmade;
    },
  });
  const noTime = defineWrite<string>({
    table: "due",
    sortKey: (text) => text,
    queries: (sql, tenant_id, kinds) => [
      sql`insert into due ${sql(kinds.map((kind) => ({ tenant_id, kind, due_at: new Date(Number.NaN) })))}`,
    ],
  });

  const outcomes: [string, (tx: Transaction) => Promise<unknown>, unknown][] = [
    ["meets a taken key", async (tx) => hangAndLog(tx, "taken"), expect.any(UniqueViolation)],
    [
      "throws before anything else",
      async () => {
        throw thrown;
      },
      thrown,
    ],
    [
      "throws after it has asked for something to be written, in the same breath",
      async (tx) => {
        hangAndLog(tx, "never");
        throw thrown;
      },
      thrown,
    ],
    [
      "throws after it has read",
      async (tx) => {
        await tx.query(seeCoat, "taken");
        hangAndLog(tx, "never");
        throw thrown;
      },
      thrown,
    ],
    [
      "throws after it has written",
      async (tx) => {
        await tx.query(hangIfFree, "never");
        throw thrown;
      },
      thrown,
    ],
    [
      "awaits something else than its transaction",
      async (tx) => {
        await tx.query(hangIfFree, "never");
        await new Promise((resolve) => setTimeout(resolve, 1));
      },
      expect.objectContaining({ message: "work awaited something outside its transaction" }),
    ],
    [
      "wants a statement that cannot be made",
      async (tx) => {
        hangAndLog(tx, "never");
        tx.enqueue(unmakeable, "x");
      },
      unmade,
    ],
    [
      "wants a time stored that is none",
      async (tx) => {
        hangAndLog(tx, "never");
        tx.enqueue(noTime, "never");
      },
      expect.objectContaining({ code: "internal" }),
    ],
  ];
  it.each(outcomes)("that %s fails alone", async (_, bad, error) => {
    const scene = await withBadOne(bad);
    expect(scene.error).toEqual([error]);
    await scene.leavesOnly(...names(10));
  });

  it("costs each of them one more flight, and not more", async () => {
    await using deck = await openDeck(database);
    await deck.hang("taken");
    deck.proxy.sent.length = 0;
    await together(
      deck,
      [...names(6), "taken"].map((name) => async (tx: Transaction) => hangAndLog(tx, name)),
    );
    // The one that meets a taken key runs again until it gives up.
    expect(transactionsOf(deck)).toHaveLength(1 + 7 + 4);
  });

  it("learns nothing of statements and values from a driver's error", async () => {
    await using deck = await openDeck(database);
    await deck.hang("4242424242424242");
    const [outcome] = await together(deck, [async (tx) => hangAndLog(tx, "4242424242424242")]);
    const [internal] = await together(deck, [async (tx) => tx.enqueue(noTime, "4242424242424242")]);
    for (const { reason } of [outcome, internal].filter((one) => one?.status === "rejected")) {
      const said = inspect(reason, { depth: 10, showHidden: true });
      expect(said).not.toMatch(/4242|insert into|due_at|parameters/);
    }
    expect([outcome?.status, internal?.status]).toEqual(["rejected", "rejected"]);
  });
});

describe("work that throws before it has written", () => {
  it("costs its company nothing, also where it wanted something stored that was not free", async () => {
    await using deck = await openDeck(database);
    await deck.hang("taken");
    deck.proxy.sent.length = 0;
    const denied = new Denied(deck.tenantId, notFound("token"), logEntry(undefined, "token", "some-token", "refuse"));
    const outcomes = await together<unknown>(deck, [
      async (tx) => {
        await tx.query(seeCoat, "taken");
        throw denied;
      },
      async (tx) => {
        if (await tx.query(hangIfFree, "taken")) throw new Error("two coats of one name");
        throw notFound("hook");
      },
      async (tx) => hangAndLog(tx, "coat"),
    ]);
    expect(outcomes).toMatchObject([
      { status: "rejected", reason: denied },
      { status: "rejected", reason: notFound("hook") },
      { status: "fulfilled" },
    ]);
    expect(await deck.coats()).toEqual(["coat", "taken"]);
    expect(await deck.logs()).toBe(2);
    expect(transactionsOf(deck)).toHaveLength(1);
  });
});

describe("work in several steps", () => {
  it("sees what it wrote, and gets every answer, while others of the flight take fewer steps", async () => {
    await using deck = await openDeck(database);
    const steps: unknown[] = [];
    const outcomes = await together<unknown>(deck, [
      async (tx) => {
        steps.push(await tx.query(seeCoat, "a"));
        tx.enqueue(hangCoat, "a");
        steps.push(await tx.query(seeCoat, "a"), await tx.query(seeCoat, "b"));
        writeLog(tx, logEntry(undefined, "tenant", tx.tenantId, "read"));
        return Promise.all([tx.query(seeCoat, "a"), tx.query(seeCoat, "nobody's"), tx.query(hangIfFree, "c")]);
      },
      (tx) => tx.query(hangIfFree, "b"),
      async () => "nothing to do",
    ]);
    expect(steps).toEqual([false, true, true]);
    expect(outcomes).toEqual([
      { status: "fulfilled", value: [true, false, true] },
      { status: "fulfilled", value: true },
      { status: "fulfilled", value: "nothing to do" },
    ]);
    expect(await deck.coats()).toEqual(["a", "b", "c"]);
    expect(transactionsOf(deck)).toHaveLength(1);
  });

  it("asks one query for all who want the same at the same step", async () => {
    await using deck = await openDeck(database);
    await Promise.all(names(3).map((name) => deck.hang(name)));
    deck.proxy.sent.length = 0;
    const outcomes = await together(
      deck,
      names(64).map((name) => (tx: Transaction) => tx.query(seeCoat, name)),
    );
    const seen = outcomes.map((outcome) => outcome.status === "fulfilled" && outcome.value);
    expect(seen).toEqual(names(64).map((_, index) => index < 3));
    expect(deck.proxy.texts.filter((text) => text.includes("select kind"))).toHaveLength(1);
  });

  it("is no trip to the database where it wants nothing, but to its guard where it has one", async () => {
    await using deck = await openDeck(database);
    await expect(deck.flights.run(deck.tenantId, "unguarded", async () => 7)).resolves.toBe(7);
    expect(deck.proxy.sent).toEqual([]);
    await expect(deck.flights.run(deck.tenantId, FIRST_REVISION, async () => 7)).resolves.toBe(7);
    const [begin, tenant, guard, commit] = deck.proxy.sent.map(({ text }) => text.trim());
    expect(deck.proxy.sent).toHaveLength(4);
    expect([begin, commit]).toEqual(["begin", "commit"]);
    expect(tenant).toContain(deck.tenantId);
    expect(guard).toContain("auth_revision");
  });
});

describe("the guard", () => {
  it("parts those of equal guards from others, however they are mixed, and not from each other", async () => {
    await using deck = await openDeck(database);
    const guards = Array.from({ length: 60 }, (_, index) => (index % 2 === 0 ? FIRST_REVISION : "unguarded"));
    const seeing = guards.map((guard) => deck.flights.run(deck.tenantId, guard, (tx) => tx.query(seeCoat, "any")));
    expect(await Promise.all(seeing)).toEqual(guards.map(() => false));
    expect(transactionsOf(deck)).toHaveLength(2);
  });

  it("fails everyone who was authorized under an older revision, and nobody else", async () => {
    await using deck = await openDeck(database);
    await deck.flights.run(deck.tenantId, FIRST_REVISION, async (tx) => tx.enqueue(raiseAuthRevision, tx.tenantId));
    const hang = (guard: number, name: string) =>
      deck.flights.run(deck.tenantId, guard, async (tx) => hangAndLog(tx, name));
    const outcomes = await Promise.allSettled([
      hang(FIRST_REVISION, "old 1"),
      hang(2, "new 1"),
      hang(FIRST_REVISION, "old 2"),
      hang(2, "new 2"),
      hang(3, "unborn"),
      deck.flights.run(deck.tenantId, "unguarded", (tx) => tx.query(seeCoat, "old 1")),
    ]);
    const stale = { status: "rejected", reason: expect.any(StaleAuthorization) };
    const fine = { status: "fulfilled", value: undefined };
    expect(outcomes).toEqual([stale, fine, stale, fine, stale, { status: "fulfilled", value: false }]);
    expect(await deck.coats()).toEqual(["new 1", "new 2"]);
    expect(await deck.logs()).toBe(2);
  });

  it("tells when it last found a revision unchanged, and of no other", async () => {
    await using deck = await openDeck(database);
    const confirmedAt = (revision: number) => deck.flights.confirmedAt(deck.tenantId, revision);
    expect(confirmedAt(FIRST_REVISION)).toBe(-Infinity);
    const before = performance.now();
    await deck.hang("coat");
    const first = confirmedAt(FIRST_REVISION);
    expect(first).toBeGreaterThanOrEqual(before);
    expect(first).toBeLessThan(performance.now());
    expect(confirmedAt(2)).toBe(-Infinity);
    await deck.flights.run(deck.tenantId, "unguarded", async (tx) => tx.enqueue(raiseAuthRevision, tx.tenantId));
    await expect(deck.hang("late")).rejects.toThrow(StaleAuthorization);
    expect(confirmedAt(FIRST_REVISION)).toBe(first);
    expect(confirmedAt(2)).toBe(-Infinity);
  });

  it("fails a request that raises the revision twice at once", async () => {
    await using deck = await openDeck(database);
    const raise = () =>
      deck.flights.run(deck.tenantId, FIRST_REVISION, async (tx) => {
        const row = await tx.query(readTenant, tx.tenantId);
        tx.enqueue(raiseAuthRevision, tx.tenantId);
        return row?.auth_revision;
      });
    await expect(raise()).resolves.toBe(1);
    await expect(raise()).rejects.toThrow(StaleAuthorization);
  });

  it.each([
    ["is marked as deleted", "update tenants set state = 'deleted'"],
    ["is gone", "delete from tenants"],
  ])("fails everyone of a tenant that %s", async (_, statement) => {
    await using deck = await openDeck(database);
    await deck.hang("before");
    await database.asTenant(deck.tenantId, `${statement} where tenant_id = '${deck.tenantId}'`);
    await expect(deck.hang("after")).rejects.toThrow(StaleAuthorization);
    expect(await deck.coats()).toEqual(["before"]);
  });

  it("is not asked for, but the tenant is made only once all the same", async () => {
    await using deck = await openDeck(database);
    const draft = { name: "Twice", owner_id: newUuid(), settings: {} };
    const again = deck.flights.run(deck.tenantId, "unguarded", async (tx) => tx.enqueue(insertTenant, draft));
    await expect(again).rejects.toThrow(UniqueViolation);
  });
});
