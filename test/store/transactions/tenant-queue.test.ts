import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { CallerTurns, runFor } from "../../../src/base/caller-turns.js";
import { newTenantId, type TenantId } from "../../../src/base/ids.js";
import { LargeReads } from "../../../src/store/transactions/large-reads.js";
import { queuedRequest, TenantQueue } from "../../../src/store/transactions/tenant-queue.js";
import { awaitedLater } from "../../support/awaited-later.js";
import { startDatabase, type TestDatabase } from "../../support/databases.js";
import { UNLIMITED_MEMORY } from "../../support/unlimited-memory.js";
import { type BatcherFixture, FIRST_REVISION, insertAndLog, openFixture } from "../support/batcher-fixture.js";
import { openSession } from "../support/session.js";

let database: TestDatabase;
beforeAll(async () => {
  database = await startDatabase();
});
afterAll(() => database?.[Symbol.asyncDispose]());

const UNAVAILABLE = expect.objectContaining({ name: "Fault", code: "unavailable", retryAfter: 1 });

/** The tenants in the order in which their transactions went over the wire. */
function tenantsInOrder({ proxy }: BatcherFixture): string[] {
  return proxy.texts.flatMap((text) => /^set local app.tenant_id = '([^']*)'/.exec(text)?.[1] ?? []);
}

function flood({ insert }: BatcherFixture, tenantId: TenantId, count: number, prefix = "row"): Promise<unknown> {
  return awaitedLater(Promise.all(Array.from({ length: count }, (_, index) => insert(`${prefix} ${index}`, tenantId))));
}

/** Blocks all inserts of named rows until it is released. */
async function blockInserts(): Promise<AsyncDisposable> {
  const session = await database.owner.reserve();
  await session`begin`;
  await session`lock table due in share mode`;
  return {
    async [Symbol.asyncDispose]() {
      await session`rollback`;
      session.release();
    },
  };
}

describe("tenants", () => {
  it("take turns while all of them have requests waiting", async () => {
    await using fixture = await openFixture(database, { connections: 3, batch: 5 });
    const tenants = [fixture.tenantId];
    while (tenants.length < 12) tenants.push(await fixture.newTenant());
    fixture.proxy.sent.length = 0;
    await Promise.all(tenants.map((tenantId) => flood(fixture, tenantId, 50)));
    const flown = new Map<string, number>();
    for (const tenantId of tenantsInOrder(fixture)) {
      flown.set(tenantId, (flown.get(tenantId) ?? 0) + 1);
      const counts = tenants.map((one) => flown.get(one) ?? 0);
      expect(
        Math.max(...counts) - Math.min(...counts),
        "transactions by which one is ahead of another",
      ).toBeLessThanOrEqual(2);
    }
    expect([...flown.values()]).toEqual(tenants.map(() => 10));
  });

  it("have their own requests served beside those of their pages: refusals by public keys fill no queue of a back end", async () => {
    await using fixture = await openFixture(database, { connections: 2, batch: 5 });
    // Both connections are open: a request on a connection that is still connecting waits for that too.
    await Promise.all([fixture.newTenant(), flood(fixture, fixture.tenantId, 50, "warm")]);
    expect(fixture.proxy.links).toBe(2);
    const page = (n: number) => new CallerTurns(() => ({ kind: "network", name: `198.51.100.${n}` }));
    const backEnd = new CallerTurns(() => ({ kind: "tenant", name: fixture.tenantId }));
    // In the order in which their transactions begin: one connection may be much slower than the other.
    const begun = new Set<string>();
    const insertFor = (caller: CallerTurns, name: string) =>
      runFor(caller, () =>
        fixture.batcher.run(fixture.tenantId, FIRST_REVISION, async (tx) => {
          begun.add(name);
          insertAndLog(tx, name);
        }),
      );
    const pages = Array.from({ length: 200 }, (_, n) => insertFor(page(n % 100), `page ${n}`));
    const own = Array.from({ length: 10 }, (_, n) => insertFor(backEnd, `own ${n}`));
    await Promise.all([...pages, ...own]);
    // All but a few transactions of the pages come later: of five each, behind two of the back end.
    expect([...begun].findLastIndex((name) => name.startsWith("own"))).toBeLessThan(100);
  });

  it("have pages served by network: one with many requests is not before one with few", async () => {
    const queue = new TenantQueue(newTenantId(), "pages");
    const work = async () => {};
    const add = (from: string) =>
      runFor(new CallerTurns(() => ({ kind: "network", name: from })), () =>
        queue.add(
          queuedRequest(
            { work, guard: undefined, reads: new LargeReads(undefined) },
            () => {},
            () => {},
          ),
        ),
      );
    for (let n = 0; n < 5; n += 1) add("flood");
    for (const from of ["a", "b", "a"]) add(from);
    const order = queue.waiting.map(({ from }) => from);
    expect(order).toEqual(["flood", "a", "b", "flood", "a", "flood", "flood", "flood"]);
  });

  it("write at most 1 MB of bodies in a transaction that they share, and a larger body alone", () => {
    const queue = new TenantQueue(newTenantId(), "back end");
    const names = new Map<unknown, string>();
    const add = (name: string, bodyBytes: number) => {
      const reads = new LargeReads({ ...UNLIMITED_MEMORY, bodyBytes });
      const request = queuedRequest(
        { work: async () => {}, guard: undefined, reads },
        () => {},
        () => {},
      );
      names.set(request, name);
      queue.add(request);
    };
    add("a", 400_000);
    add("b", 5_000_000);
    for (const name of ["c", "d", "e"]) add(name, 400_000);
    const batches: (string | undefined)[][] = [];
    while (queue.waiting.length > 0) {
      const { requests = [] } = queue.nextBatch(100) ?? {};
      batches.push(requests.map((request) => names.get(request)));
    }
    expect(batches).toEqual([["a", "c"], ["b"], ["d", "e"]]);
  });

  it("have large bodies written in transactions of their own: no other tenant waits behind them in a pipeline", () => {
    const travelsWith = (bodyBytes: number) => {
      const queue = new TenantQueue(newTenantId(), "back end");
      const reads = new LargeReads({ ...UNLIMITED_MEMORY, bodyBytes });
      queue.add(
        queuedRequest(
          { work: async () => {}, guard: undefined, reads },
          () => {},
          () => {},
        ),
      );
      return queue.mayTravel(0);
    };
    expect([0, 16 * 1024, 16 * 1024 + 1].map(travelsWith)).toEqual([true, true, false]);
  });

  it("are not starved by one that floods: each new request runs within a round", async () => {
    await using fixture = await openFixture(database, { connections: 2, batch: 5, waitMs: 60_000 });
    // Both connections are open: a request on a connection that is still connecting waits for that too.
    const [small] = await Promise.all([fixture.newTenant(), flood(fixture, fixture.tenantId, 50, "warm")]);
    expect(fixture.proxy.links).toBe(2);
    fixture.proxy.sent.length = 0;
    const flooding = flood(fixture, fixture.tenantId, 900);
    for (let index = 0; index < 20; index += 1) {
      const before = tenantsInOrder(fixture).length;
      await fixture.insert(`small ${index}`, small);
      const others = tenantsInOrder(fixture).slice(before).indexOf(small);
      // Two that hold the connections, two that waited longer, and one that takes the connection before this request
      // arrives.
      expect(others, "transactions of the flood that went first").toBeLessThanOrEqual(5);
    }
    expect(tenantsInOrder(fixture).length, "the flood lasts as long as this test").toBeLessThan(180);
    await flooding;
    expect(await fixture.names()).toHaveLength(950);
  });

  it("with a lock that is never released leave connections to the others", async () => {
    await using fixture = await openFixture(database, { connections: 3 });
    const other = await fixture.newTenant();
    await using session = await openSession(database, fixture.tenantId);
    await session.insert("held");
    const held = Promise.allSettled([fixture.insert("held"), fixture.insert("held")]);
    await flood(fixture, other, 50);
    expect(await fixture.names(other)).toHaveLength(50);
    await session.rollback();
    // They ran together and then each alone, and one of them was first.
    expect((await held).map(({ status }) => status).toSorted()).toEqual(["fulfilled", "rejected"]);
  });

  it("stalled tenants together use at most half of the connections", async () => {
    await using fixture = await openFixture(database, { connections: 3, batch: 1, statementTimeout: 1_500 });
    const [second, other] = [await fixture.newTenant(), await fixture.newTenant()];
    await using first = await openSession(database, fixture.tenantId);
    await using another = await openSession(database, second);
    for (const session of [first, another]) await session.insert("held");
    const insertHeld = () =>
      Promise.allSettled([fixture.insert("held", fixture.tenantId), fixture.insert("held", second)]);
    expect(await insertHeld()).toEqual(Array(2).fill({ status: "rejected", reason: UNAVAILABLE }));

    fixture.proxy.sent.length = 0;
    const held = insertHeld();
    await flood(fixture, other, 10);
    expect(tenantsInOrder(fixture).filter((tenant) => tenant !== other)).toHaveLength(1);
    for (const session of [first, another]) await session.rollback();
    expect((await held).map(({ status }) => status)).toEqual(["fulfilled", "fulfilled"]);
    expect(await fixture.names(other)).toHaveLength(10);

    fixture.proxy.sent.length = 0;
    await Promise.all([flood(fixture, fixture.tenantId, 4), flood(fixture, second, 4)]);
    expect(new Set(fixture.proxy.sent.map(({ connection }) => connection)).size, "connections afterwards").toBe(3);
  });
});

describe("requests next to a much larger transaction of their tenant", () => {
  it("gather, and share a transaction", async () => {
    await using fixture = await openFixture(database, { connections: 2, batchingWindowMs: 500 });
    const { large, small } = await (async () => {
      await using _blocked = await blockInserts();
      const large = flood(fixture, fixture.tenantId, 10);
      const small: Promise<void>[] = [];
      for (let index = 0; index < 4; index += 1) {
        await new Promise((resolve) => setTimeout(resolve, 10));
        small.push(fixture.insert(`small ${index}`));
      }
      return { large, small };
    })();
    await Promise.all([large, ...small]);
    expect(tenantsInOrder(fixture)).toHaveLength(2);
    expect(await fixture.names()).toHaveLength(14);
  });

  it("do not wait until it commits", async () => {
    await using fixture = await openFixture(database, { connections: 2, batchingWindowMs: 50 });
    const hanging = fixture.proxy.set({ at: "before", statement: /insert into due/, does: "hang" });
    const large = Promise.allSettled([flood(fixture, fixture.tenantId, 10)]);
    await hanging;
    await fixture.insert("small");
    expect(await fixture.names()).toEqual(["small"]);
    fixture.proxy.goAway();
    fixture.proxy.comeBack();
    expect(await large).toMatchObject([{ status: "fulfilled" }]);
  });
});

describe("a queue", () => {
  it("rejects its requests at once if it is full for a tenant, and no other tenant's", async () => {
    await using fixture = await openFixture(database, { connections: 2, batch: 2, queuePerTenant: 6 });
    const other = await fixture.newTenant();
    const requests = Array.from({ length: 10 }, (_, index) => fixture.insert(`row ${index}`));
    const others = flood(fixture, other, 6);
    const outcomes = await Promise.allSettled(requests);
    expect(outcomes.map(({ status }) => status)).toEqual([...Array(6).fill("fulfilled"), ...Array(4).fill("rejected")]);
    for (const outcome of outcomes.slice(6)) expect(outcome).toMatchObject({ reason: UNAVAILABLE });
    await others;
    expect(await fixture.names()).toHaveLength(6);
    expect(await fixture.names(other)).toHaveLength(6);
  });

  it("rejects every request if it is full for all, and accepts them again afterwards", async () => {
    await using fixture = await openFixture(database, { connections: 2, queueInAll: 5 });
    const other = await fixture.newTenant();
    const first = flood(fixture, fixture.tenantId, 5);
    await expect(fixture.insert("too many", other)).rejects.toEqual(UNAVAILABLE);
    expect(fixture.batcher.queued).toBe(5);
    await first;
    expect(fixture.batcher.queued).toBe(0);
    await fixture.insert("welcome", other);
    expect(await fixture.names(other)).toEqual(["welcome"]);
  });

  it("rejects requests that wait too long, and stores nothing of them", async () => {
    await using fixture = await openFixture(database, {
      connections: 1,
      transactionsPerTenant: 1,
      batch: 1,
      waitMs: 100,
    });
    const outcomes = await (async () => {
      await using _blocked = await blockInserts();
      const running = fixture.insert("active");
      const waiting = Promise.allSettled([fixture.insert("late 1"), fixture.insert("late 2")]);
      return { running, late: await waiting };
    })();
    expect(outcomes.late).toEqual([
      { status: "rejected", reason: UNAVAILABLE },
      { status: "rejected", reason: UNAVAILABLE },
    ]);
    await outcomes.running;
    await fixture.insert("afterwards");
    expect(await fixture.names()).toEqual(["active", "afterwards"]);
  });

  it("rejects requests that wait too long also behind some whose transaction timed out", async () => {
    await using fixture = await openFixture(database, {
      connections: 1,
      transactionsPerTenant: 1,
      waitMs: 100,
      timeoutMs: 1_500,
    });
    const other = await fixture.newTenant();
    await fixture.insert("warm");
    const hangNext = () => fixture.proxy.set({ at: "before", statement: /insert into due/, does: "hang" });
    const isInFlight = hangNext();
    let hasFlown = false;
    const first = fixture.insert("first").finally(() => (hasFlown = true));
    await isInFlight;
    const holdsTheConnection = hangNext();
    // Just before the first transaction times out another request begins to wait, and then has the connection.
    await new Promise((resolve) => setTimeout(resolve, 1_450));
    const others = Promise.allSettled([fixture.insert("another's", other)]);
    await holdsTheConnection;
    // By then the first one is back in the queue.
    await new Promise((resolve) => setTimeout(resolve, 100));
    await expect(fixture.insert("late")).rejects.toEqual(UNAVAILABLE);
    expect(hasFlown).toBe(false);
    // The connection is lost before the first request is as old as two time limits, when it would be rejected.
    fixture.proxy.goAway();
    fixture.proxy.comeBack();
    await Promise.all([first, others]);
    expect(await fixture.names()).toEqual(["first", "warm"]);
  });

  it("is not forgotten with its last request after it rejected a tenant", async () => {
    await using fixture = await openFixture(database, { connections: 2 });
    await fixture.insert("warm");
    const isRefused = () => fixture.batcher.overloadFault(fixture.tenantId, "back end") !== undefined;
    const flooded = async (prefix: string, milliseconds: number) => {
      await using _blocked = await blockInserts();
      const requests = Promise.allSettled(Array.from({ length: 300 }, (_, n) => fixture.insert(`${prefix} ${n}`)));
      const before = isRefused();
      await new Promise((resolve) => setTimeout(resolve, milliseconds));
      return { requests, before, after: isRefused() };
    };
    const first = await flooded("first", 1_100);
    expect([first.before, first.after]).toEqual([false, true]);
    await first.requests;
    // Idle queues are forgotten four times a second.
    await new Promise((resolve) => setTimeout(resolve, 300));
    const second = await flooded("second", 10);
    expect(second.before, "in the next burst").toBe(true);
    await second.requests;
  });

  it("is watched also if it began while the tenant's last transaction was still being settled", async () => {
    const lookup = Promise.withResolvers<readonly boolean[]>();
    await using fixture = await openFixture(database, {
      connections: 1,
      waitMs: 100,
      wasCommitted: () => lookup.promise,
    });
    const other = await fixture.newTenant();
    await fixture.insert("warm");
    const cut = fixture.proxy.set({ at: "result", statement: /^commit/, does: "cut" });
    const unsettled = fixture.insert("unsettled");
    await cut;
    // Queues are checked four times a second: by then this tenant's first one is gone.
    await new Promise((resolve) => setTimeout(resolve, 400));
    const hanging = fixture.proxy.set({ at: "before", statement: /insert into due/, does: "hang" });
    const holdsTheConnection = Promise.allSettled([fixture.insert("holds the connection", other)]);
    await hanging;
    const waiting = Promise.allSettled([fixture.insert("waits")]);
    lookup.resolve([true]);
    await unsettled;
    expect(await waiting).toEqual([{ status: "rejected", reason: UNAVAILABLE }]);
    fixture.proxy.goAway();
    await holdsTheConnection;
    expect(await fixture.names()).toEqual(["unsettled", "warm"]);
  });
});

describe("a database that hangs", () => {
  it("costs a request one connection, and it is served on another", async () => {
    await using fixture = await openFixture(database, { connections: 1, timeoutMs: 500 });
    await fixture.insert("warm");
    const hanging = fixture.proxy.set({ at: "before", statement: /insert into due/, does: "hang" });
    await fixture.insert("row");
    await hanging;
    expect(await fixture.names()).toEqual(["row", "warm"]);
    expect(await fixture.logs()).toBe(2);
  });

  it("is noticed at a single step, although the transaction may last", async () => {
    await using fixture = await openFixture(database, { connections: 1, timeoutMs: 600_000, stepTimeoutMs: 500 });
    await fixture.insert("warm");
    const hanging = fixture.proxy.set({ at: "before", statement: /insert into due/, does: "hang" });
    await fixture.insert("row");
    await hanging;
    expect(await fixture.names()).toEqual(["row", "warm"]);
    expect(await fixture.logs()).toBe(2);
  });

  it("at the commit leaves no doubt about the outcome", async () => {
    await using fixture = await openFixture(database, { connections: 1, timeoutMs: 500 });
    await fixture.insert("warm");
    void fixture.proxy.set({ at: "result", statement: /^commit/, does: "hang" });
    await fixture.insert("committed");
    void fixture.proxy.set({ at: "before", statement: /^commit/, does: "hang" });
    await fixture.insert("not committed at first");
    expect(await fixture.names()).toEqual(["committed", "not committed at first", "warm"]);
    expect(await fixture.logs()).toBe(3);
  });

  it("permanently fails all requests with a 503 in the end, and serves again when it responds", async () => {
    await using fixture = await openFixture(database, {
      connections: 2,
      timeoutMs: 400,
      waitMs: 600,
      retryDelays: [0],
    });
    await fixture.insert("warm");
    fixture.proxy.hangAll();
    const outcomes = await Promise.allSettled(
      Array.from({ length: 250 }, (_, index) => fixture.insert(`row ${index}`)),
    );
    expect(outcomes).toEqual(outcomes.map(() => ({ status: "rejected", reason: UNAVAILABLE })));
    fixture.proxy.comeBack();
    // A new connection may take longer than a request waits here, and what is refused with a 503 may have been written.
    let tries = 0;
    await vi.waitFor(() => {
      tries += 1;
      return fixture.insert(`afterwards ${tries}`);
    });
    const names = await fixture.names();
    expect(names).toContain(`afterwards ${tries}`);
    expect(names.filter((name) => name.startsWith("row"))).toEqual([]);
    expect(fixture.proxy.links, "at most the configured connections").toBeLessThanOrEqual(2);
  });
});

describe("a closed batcher", () => {
  it.each([
    ["begins its transaction", /^begin/],
    ["has its guard described", /from tenants/],
    ["has its first insert described", /^insert into due/],
  ])("lets a transaction finish that %s on a new connection", async (_, statement) => {
    const fixture = await openFixture(database, { connections: 1 });
    fixture.proxy.goAway();
    fixture.proxy.comeBack();
    // The news takes a turn or two of the event loop to arrive.
    await new Promise((resolve) => setTimeout(resolve, 50));
    const active = fixture.insert("active");
    await expect.poll(() => fixture.proxy.texts.some((text) => statement.test(text)), { interval: 0 }).toBe(true);
    await fixture.batcher.close();
    await active;
    expect(await fixture.names()).toEqual(["active"]);
    await expect.poll(() => fixture.proxy.links).toBe(0);
    await fixture.proxy[Symbol.asyncDispose]();
  });

  it("rejects waiting and new requests, lets the rest finish, and leaves no connection", async () => {
    const fixture = await openFixture(database, { connections: 1, batch: 1 });
    await fixture.insert("warm");
    const blocked = await blockInserts();
    const active = fixture.insert("active");
    await new Promise((resolve) => setTimeout(resolve, 50));
    const waiting = Promise.allSettled([fixture.insert("waits")]);
    const closing = fixture.batcher.close();
    expect(await waiting).toEqual([{ status: "rejected", reason: UNAVAILABLE }]);
    await expect(fixture.insert("comes")).rejects.toEqual(UNAVAILABLE);
    await blocked[Symbol.asyncDispose]();
    await active;
    await closing;
    expect(await fixture.names()).toEqual(["active", "warm"]);
    await expect.poll(() => fixture.proxy.links).toBe(0);
    await fixture.proxy[Symbol.asyncDispose]();
  });
});
