import { inspect } from "node:util";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { Denied } from "../../../src/access/refusal.js";
import { logEntry } from "../../../src/audit/log-entry.js";
import { processorTurns } from "../../../src/base/caller-turns.js";
import { Fault, notFound } from "../../../src/base/fault.js";
import { newUuid } from "../../../src/base/ids.js";
import { writeLog } from "../../../src/store/audit/audit-logs.js";
import { StaleAuthorization, UniqueViolation } from "../../../src/store/postgres/database-error.js";
import { boundQuery } from "../../../src/store/statements/bound-statement.js";
import { bigint } from "../../../src/store/statements/parameter.js";
import { defineWrite, type Statement } from "../../../src/store/statements/statement.js";
import { incrementAuthRevision, insertTenant, readTenant } from "../../../src/store/tenancy/tenants.js";
import type { Transaction } from "../../../src/store/transactions/transaction.js";
import type { Columns } from "../../../src/store/wire/columns.js";
import { Connection } from "../../../src/store/wire/connection.js";
import { startDatabase, type TestDatabase } from "../../support/databases.js";
import {
  burn,
  FIRST_REVISION,
  insertAndLog,
  openFixture,
  together,
  transactionsOf,
} from "../support/batcher-fixture.js";
import { insertIfFree, insertNamedRow, namedRowExists } from "../support/named-rows.js";

let database: TestDatabase;
beforeAll(async () => {
  database = await startDatabase();
});
afterAll(() => database?.[Symbol.asyncDispose]());

const names = (count: number, prefix = "row") =>
  Array.from({ length: count }, (_, index) => `${prefix} ${String(index).padStart(4, "0")}`);

describe("requests of one tenant", () => {
  it("share transactions, of at most 100 requests, two at a time", async () => {
    await using fixture = await openFixture(database, { connections: 4 });
    await Promise.all(names(450).map((name) => fixture.insert(name)));
    expect(await fixture.names()).toEqual(names(450));
    expect(transactionsOf(fixture)).toHaveLength(5);
    expect(fixture.proxy.links, "connections that were needed").toBe(2);
  });

  it("never share one with another tenant's", async () => {
    await using fixture = await openFixture(database);
    const other = await fixture.newTenant();
    fixture.proxy.sent.length = 0;
    await Promise.all(names(40).map((name, index) => fixture.insert(name, index % 2 ? other : fixture.tenantId)));
    for (const transaction of transactionsOf(fixture)) {
      expect(transaction.filter((text) => text.startsWith("set local"))).toHaveLength(1);
    }
    expect(await fixture.names()).toHaveLength(20);
    expect(await fixture.names(other)).toHaveLength(20);
  });

  it("get their own results, each in the transaction of its batch", async () => {
    await using fixture = await openFixture(database);
    await fixture.insert("taken");
    fixture.proxy.sent.length = 0;
    const outcomes = await together(
      fixture,
      ["taken", "free", "taken too", "taken too"].map((name) => (tx: Transaction) => tx.query(insertIfFree, name)),
    );
    expect(outcomes.map((outcome) => outcome.status === "fulfilled" && outcome.value)).toEqual([
      false,
      true,
      true,
      false,
    ]);
    expect(transactionsOf(fixture)).toHaveLength(1);
  });
});

describe("a failing request in a batch", () => {
  /** Ten good requests and a bad one among them. */
  async function withBadOne(bad: (tx: Transaction) => Promise<unknown>) {
    const fixture = await openFixture(database);
    await fixture.insert("taken");
    const good = names(10).map((name) => async (tx: Transaction) => insertAndLog(tx, name));
    const outcomes = await together<unknown>(fixture, [...good.slice(0, 5), bad, ...good.slice(5)]);
    return {
      fixture,
      error: outcomes.flatMap((outcome) => (outcome.status === "rejected" ? [outcome.reason] : [])),
      async leavesOnly(...rows: string[]) {
        expect(await fixture.names()).toEqual([...rows, "taken"].toSorted());
        expect(await fixture.logs(), "log rows").toBe(1 + 10);
        // The connections are still usable.
        await fixture.insert("afterwards");
        expect(await fixture.names()).toContain("afterwards");
        await fixture[Symbol.asyncDispose]();
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
    ["meets a taken key", async (tx) => insertAndLog(tx, "taken"), expect.any(UniqueViolation)],
    [
      "throws first",
      async () => {
        throw thrown;
      },
      thrown,
    ],
    [
      "throws after it has asked for something to be written, in the same breath",
      async (tx) => {
        insertAndLog(tx, "never");
        throw thrown;
      },
      thrown,
    ],
    [
      "throws after it has read",
      async (tx) => {
        await tx.query(namedRowExists, "taken");
        insertAndLog(tx, "never");
        throw thrown;
      },
      thrown,
    ],
    [
      "throws after it has written",
      async (tx) => {
        await tx.query(insertIfFree, "never");
        throw thrown;
      },
      thrown,
    ],
    [
      "awaits something other than its transaction",
      async (tx) => {
        await tx.query(insertIfFree, "never");
        await new Promise((resolve) => setTimeout(resolve, 1));
      },
      expect.objectContaining({ message: "work awaited something outside its transaction" }),
    ],
    [
      "wants a statement that cannot be made",
      async (tx) => {
        insertAndLog(tx, "never");
        tx.enqueue(unmakeable, "x");
      },
      unmade,
    ],
    [
      "stores an invalid time",
      async (tx) => {
        insertAndLog(tx, "never");
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

  it("costs each of them one more transaction, and no more", async () => {
    await using fixture = await openFixture(database);
    await fixture.insert("taken");
    fixture.proxy.sent.length = 0;
    await together(
      fixture,
      [...names(6), "taken"].map((name) => async (tx: Transaction) => insertAndLog(tx, name)),
    );
    // The one that meets a taken key runs again until it gives up.
    expect(transactionsOf(fixture)).toHaveLength(1 + 7 + 4);
  });

  it("sees no statements and values of a driver's error", async () => {
    await using fixture = await openFixture(database);
    await fixture.insert("4242424242424242");
    const [outcome] = await together(fixture, [async (tx) => insertAndLog(tx, "4242424242424242")]);
    const [internal] = await together(fixture, [async (tx) => tx.enqueue(noTime, "4242424242424242")]);
    for (const { reason } of [outcome, internal].filter((one) => one?.status === "rejected")) {
      const said = inspect(reason, { depth: 10, showHidden: true });
      expect(said).not.toMatch(/4242|insert into|due_at|parameters/);
    }
    expect([outcome?.status, internal?.status]).toEqual(["rejected", "rejected"]);
  });
});

describe("an output that cannot be read once the transaction is committed", () => {
  const statement = (row: (columns: Columns) => number, outputs: (rows: readonly (readonly number[])[]) => number[]) =>
    boundQuery<number, number, number>({
      ...{ table: "due", kind: "read", sql: "select null::int where :n > 0", sortKey: () => "" },
      ...{ parameters: { n: bigint((n) => n) }, row, outputs },
    });
  const unreadable: [string, Statement<number, number>][] = [
    [
      "a row of another form",
      statement(
        (columns) => columns.integer(),
        (rows) => rows.flat(),
      ),
    ],
    [
      "too few rows",
      statement(
        () => 0,
        () => [],
      ),
    ],
  ];

  it.each(unreadable)("(%s) fails its own request, and the others take effect once", async (_, wanted) => {
    await using fixture = await openFixture(database, { connections: 1 });
    const good = names(5);
    const outcomes = await together<unknown>(fixture, [
      ...good.map((name) => async (tx: Transaction) => insertAndLog(tx, name)),
      (tx) => tx.queryLast(wanted, 1),
    ]);
    expect(outcomes.map(({ status }) => status)).toEqual([...good.map(() => "fulfilled"), "rejected"]);
    expect(outcomes.at(-1)).not.toMatchObject({ reason: { code: "unavailable" } });
    expect(await fixture.names()).toEqual(good);
    expect(await fixture.logs()).toBe(good.length);
  });
});

describe("work that throws before it has written", () => {
  it("does not affect its batch, also if it enqueued a conflicting write", async () => {
    await using fixture = await openFixture(database);
    await fixture.insert("taken");
    fixture.proxy.sent.length = 0;
    const denied = new Denied(fixture.tenantId, notFound("token"), logEntry("token", "some-token", "refuse"));
    const outcomes = await together<unknown>(fixture, [
      async (tx) => {
        await tx.query(namedRowExists, "taken");
        throw denied;
      },
      async (tx) => {
        if (await tx.query(insertIfFree, "taken")) throw new Error("two rows of one name");
        throw notFound("hook");
      },
      async (tx) => insertAndLog(tx, "row"),
    ]);
    expect(outcomes).toMatchObject([
      { status: "rejected", reason: denied },
      { status: "rejected", reason: notFound("hook") },
      { status: "fulfilled" },
    ]);
    expect(await fixture.names()).toEqual(["row", "taken"]);
    expect(await fixture.logs()).toBe(2);
    expect(transactionsOf(fixture)).toHaveLength(1);
  });
});

describe("work in several steps", () => {
  it("sees its own writes, and gets every result, while others in the batch take fewer steps", async () => {
    await using fixture = await openFixture(database);
    const steps: unknown[] = [];
    const outcomes = await together<unknown>(fixture, [
      async (tx) => {
        steps.push(await tx.query(namedRowExists, "a"));
        tx.enqueue(insertNamedRow, "a");
        steps.push(await tx.query(namedRowExists, "a"), await tx.query(namedRowExists, "b"));
        writeLog(tx, logEntry("tenant", tx.tenantId, "read"));
        return Promise.all([
          tx.query(namedRowExists, "a"),
          tx.query(namedRowExists, "missing"),
          tx.query(insertIfFree, "c"),
        ]);
      },
      (tx) => tx.query(insertIfFree, "b"),
      async () => "nothing to do",
    ]);
    expect(steps).toEqual([false, true, true]);
    expect(outcomes).toEqual([
      { status: "fulfilled", value: [true, false, true] },
      { status: "fulfilled", value: true },
      { status: "fulfilled", value: "nothing to do" },
    ]);
    expect(await fixture.names()).toEqual(["a", "b", "c"]);
    expect(transactionsOf(fixture)).toHaveLength(1);
  });

  it("lets others have a turn of the main thread before its statements are written, if it has used its own", async () => {
    await using fixture = await openFixture(database);
    await fixture.insert("warm");
    let turns = 0;
    const another = { kind: "tenant", name: "another" } as const;
    const waits = () =>
      processorTurns.begin(another, () => {
        turns += 1;
        if (!hasEnded) waits();
      });
    let hasEnded = false;
    const written: number[] = [];
    const run = fixture.batcher.run(fixture.tenantId, FIRST_REVISION, async (tx) => {
      await tx.query(namedRowExists, "none");
      waits();
      burn(2);
      written.push(turns);
      insertAndLog(tx, "row");
    });
    const flush = Connection.prototype.flush;
    const flushing = vi.spyOn(Connection.prototype, "flush").mockImplementation(function (this: Connection, late) {
      written.push(turns);
      flush.call(this, late);
    });
    await run.finally(() => {
      hasEnded = true;
      flushing.mockRestore();
    });
    const [first, before, after] = written;
    expect({ first, before }).toEqual({ first: 0, before: 0 });
    expect(after).toBeGreaterThan(0);
    expect(await fixture.names()).toEqual(["row", "warm"]);
  });

  it("runs one query for all that want the same at the same step", async () => {
    await using fixture = await openFixture(database);
    await Promise.all(names(3).map((name) => fixture.insert(name)));
    fixture.proxy.sent.length = 0;
    const outcomes = await together(
      fixture,
      names(64).map((name) => (tx: Transaction) => tx.query(namedRowExists, name)),
    );
    const seen = outcomes.map((outcome) => outcome.status === "fulfilled" && outcome.value);
    expect(seen).toEqual(names(64).map((_, index) => index < 3));
    expect(fixture.proxy.texts.filter((text) => text.includes("select kind"))).toHaveLength(1);
  });

  it("needs no round trip if it runs no query, except for its guard if it has one", async () => {
    await using fixture = await openFixture(database);
    await expect(fixture.batcher.run(fixture.tenantId, undefined, async () => 7)).resolves.toBe(7);
    expect(fixture.proxy.sent).toEqual([]);
    await expect(fixture.batcher.run(fixture.tenantId, FIRST_REVISION, async () => 7)).resolves.toBe(7);
    const [begin, tenant, guard, commit] = fixture.proxy.sent.map(({ text }) => text.trim());
    expect(fixture.proxy.sent).toHaveLength(4);
    expect([begin, commit]).toEqual(["begin", "commit"]);
    expect(tenant).toContain(fixture.tenantId);
    expect(guard).toContain("auth_revision");
  });
});

describe("the guard", () => {
  it("separates requests with different guards, however they are mixed, and not those with equal ones", async () => {
    await using fixture = await openFixture(database);
    const guards = Array.from({ length: 60 }, (_, index) => (index % 2 === 0 ? FIRST_REVISION : undefined));
    const seeing = guards.map((guard) =>
      fixture.batcher.run(fixture.tenantId, guard, (tx) => tx.query(namedRowExists, "any")),
    );
    expect(await Promise.all(seeing)).toEqual(guards.map(() => false));
    expect(transactionsOf(fixture)).toHaveLength(2);
  });

  it("fails all requests that were authorized under an older revision, and no others", async () => {
    await using fixture = await openFixture(database);
    await fixture.batcher.run(fixture.tenantId, FIRST_REVISION, async (tx) =>
      tx.enqueue(incrementAuthRevision, tx.tenantId),
    );
    const tenant = await fixture.batcher.run(fixture.tenantId, undefined, (tx) => tx.query(readTenant, tx.tenantId));
    const raised = tenant?.auth_revision ?? 0;
    const insert = (guard: number, name: string) =>
      fixture.batcher.run(fixture.tenantId, guard, async (tx) => insertAndLog(tx, name));
    const outcomes = await Promise.allSettled([
      insert(FIRST_REVISION, "old 1"),
      insert(raised, "new 1"),
      insert(FIRST_REVISION, "old 2"),
      insert(raised, "new 2"),
      insert(raised + 1, "too new"),
      fixture.batcher.run(fixture.tenantId, undefined, (tx) => tx.query(namedRowExists, "old 1")),
    ]);
    const stale = { status: "rejected", reason: expect.any(StaleAuthorization) };
    const fine = { status: "fulfilled", value: undefined };
    expect(outcomes).toEqual([stale, fine, stale, fine, stale, { status: "fulfilled", value: false }]);
    expect(await fixture.names()).toEqual(["new 1", "new 2"]);
    expect(await fixture.logs()).toBe(2);
  });

  it("confirmedAt returns the last confirmation of that revision, -Infinity for any other", async () => {
    await using fixture = await openFixture(database);
    const confirmedAt = (revision: number) => fixture.batcher.confirmedAt(fixture.tenantId, revision);
    expect(confirmedAt(FIRST_REVISION)).toBe(-Infinity);
    await fixture.insert("row");
    const first = confirmedAt(FIRST_REVISION);
    expect(first).toBeGreaterThan(-Infinity);
    await fixture.insert("another row");
    const last = confirmedAt(FIRST_REVISION);
    expect(last).toBeGreaterThan(first);
    expect(confirmedAt(2)).toBe(-Infinity);
    await fixture.batcher.run(fixture.tenantId, undefined, async (tx) =>
      tx.enqueue(incrementAuthRevision, tx.tenantId),
    );
    await expect(fixture.insert("late")).rejects.toThrow(StaleAuthorization);
    expect(confirmedAt(FIRST_REVISION)).toBe(last);
    expect(confirmedAt(2)).toBe(-Infinity);
  });

  it("fails a request that raises the revision twice", async () => {
    await using fixture = await openFixture(database);
    const raise = () =>
      fixture.batcher.run(fixture.tenantId, FIRST_REVISION, async (tx) => {
        const row = await tx.query(readTenant, tx.tenantId);
        tx.enqueue(incrementAuthRevision, tx.tenantId);
        return row?.auth_revision;
      });
    await expect(raise()).resolves.toBe(1);
    await expect(raise()).rejects.toThrow(StaleAuthorization);
  });

  it.each([
    ["is marked as deleted", "update tenants set state = 'deleted'"],
    ["is gone", "delete from tenants"],
  ])("fails all requests of a tenant that %s", async (_, statement) => {
    await using fixture = await openFixture(database);
    await fixture.insert("before");
    await database.asTenant(fixture.tenantId, `${statement} where tenant_id = '${fixture.tenantId}'`);
    await expect(fixture.insert("after")).rejects.toThrow(StaleAuthorization);
    expect(await fixture.names()).toEqual(["before"]);
  });

  it("is not required, but a tenant is created only once all the same", async () => {
    await using fixture = await openFixture(database);
    const draft = { name: "Twice", owner_id: newUuid(), settings: {} };
    const again = fixture.batcher.run(fixture.tenantId, undefined, async (tx) => tx.enqueue(insertTenant, draft));
    await expect(again).rejects.toThrow(UniqueViolation);
  });
});
