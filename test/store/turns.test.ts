import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { TenantId } from "../../src/base/ids.js";
import { awaitedLater } from "../support/awaited-later.js";
import { startDatabase, type TestDatabase } from "../support/databases.js";
import { type Deck, openDeck } from "./support/deck.js";
import { openSession } from "./support/session.js";

let database: TestDatabase;
beforeAll(async () => {
  database = await startDatabase();
});
afterAll(() => database?.[Symbol.asyncDispose]());

const UNAVAILABLE = expect.objectContaining({ name: "Fault", code: "unavailable", retryAfter: 1 });

/** The tenants in the order in which their transactions went over the wire. */
function flightsInOrder({ proxy }: Deck): string[] {
  return proxy.texts.flatMap((text) => /^set local app.tenant_id = '(.*)'$/.exec(text)?.[1] ?? []);
}

function flood({ hang }: Deck, tenantId: TenantId, count: number, prefix = "coat"): Promise<unknown> {
  return awaitedLater(Promise.all(Array.from({ length: count }, (_, index) => hang(`${prefix} ${index}`, tenantId))));
}

/** Blocks all inserts of named rows until it is released. */
async function blockCoats(): Promise<AsyncDisposable> {
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
    await using deck = await openDeck(database, { lanes: 3, batch: 5 });
    const tenants = [deck.tenantId];
    while (tenants.length < 12) tenants.push(await deck.newTenant());
    deck.proxy.sent.length = 0;
    await Promise.all(tenants.map((tenantId) => flood(deck, tenantId, 50)));
    const flown = new Map<string, number>();
    for (const tenantId of flightsInOrder(deck)) {
      flown.set(tenantId, (flown.get(tenantId) ?? 0) + 1);
      const counts = tenants.map((one) => flown.get(one) ?? 0);
      expect(Math.max(...counts) - Math.min(...counts), "flights that one is ahead of another").toBeLessThanOrEqual(2);
    }
    expect([...flown.values()]).toEqual(tenants.map(() => 10));
  });

  it("are not starved by one that floods: each new request runs within a round", async () => {
    await using deck = await openDeck(database, { lanes: 2, batch: 5 });
    // Two concurrently, so both connections are open: a request on a connection that is still connecting waits for that
    // too.
    const [small] = await Promise.all([deck.newTenant(), deck.newTenant()]);
    expect(deck.proxy.links).toBe(2);
    deck.proxy.sent.length = 0;
    const flooding = flood(deck, deck.tenantId, 900);
    for (let index = 0; index < 20; index += 1) {
      const before = flightsInOrder(deck).length;
      await deck.hang(`small ${index}`, small);
      const others = flightsInOrder(deck).slice(before).indexOf(small);
      // Two that hold the connections, two that waited longer, and one that takes the connection before this request
      // arrives.
      expect(others, "flights of the flood that went first").toBeLessThanOrEqual(5);
    }
    expect(flightsInOrder(deck).length, "the flood lasts as long as this test").toBeLessThan(180);
    await flooding;
    expect(await deck.coats()).toHaveLength(900);
  });

  it("with a lock that is never released leave connections to the others", async () => {
    await using deck = await openDeck(database, { lanes: 3 });
    const other = await deck.newTenant();
    await using session = await openSession(database, deck.tenantId);
    await session.hang("held");
    const held = Promise.allSettled([deck.hang("held"), deck.hang("held")]);
    await flood(deck, other, 50);
    expect(await deck.coats(other)).toHaveLength(50);
    await session.rollback();
    // They ran together and then each alone, and one of them was first.
    expect((await held).map(({ status }) => status).toSorted()).toEqual(["fulfilled", "rejected"]);
  });
});

describe("requests next to a much larger transaction of their tenant", () => {
  it("gather, and share a transaction", async () => {
    await using deck = await openDeck(database, { lanes: 2, batchingWindowMs: 500 });
    const { large, small } = await (async () => {
      await using _blocked = await blockCoats();
      const large = flood(deck, deck.tenantId, 10);
      const small: Promise<void>[] = [];
      for (let index = 0; index < 4; index += 1) {
        await new Promise((resolve) => setTimeout(resolve, 10));
        small.push(deck.hang(`small ${index}`));
      }
      return { large, small };
    })();
    await Promise.all([large, ...small]);
    expect(flightsInOrder(deck)).toHaveLength(2);
    expect(await deck.coats()).toHaveLength(14);
  });

  it("do not wait until it commits", async () => {
    await using deck = await openDeck(database, { lanes: 2, batchingWindowMs: 50 });
    const hung = deck.proxy.set({ at: "before", statement: /insert into due/, does: "hang" });
    const large = Promise.allSettled([flood(deck, deck.tenantId, 10)]);
    await hung;
    await deck.hang("small");
    expect(await deck.coats()).toEqual(["small"]);
    deck.proxy.goAway();
    deck.proxy.comeBack();
    expect(await large).toMatchObject([{ status: "fulfilled" }]);
  });
});

describe("a queue", () => {
  it("that is full for a tenant rejects its requests at once, and no other tenant's", async () => {
    await using deck = await openDeck(database, { lanes: 2, batch: 2, queuePerTenant: 6 });
    const other = await deck.newTenant();
    const requests = Array.from({ length: 10 }, (_, index) => deck.hang(`coat ${index}`));
    const others = flood(deck, other, 6);
    const outcomes = await Promise.allSettled(requests);
    expect(outcomes.map(({ status }) => status)).toEqual([...Array(6).fill("fulfilled"), ...Array(4).fill("rejected")]);
    for (const outcome of outcomes.slice(6)) expect(outcome).toMatchObject({ reason: UNAVAILABLE });
    await others;
    expect(await deck.coats()).toHaveLength(6);
    expect(await deck.coats(other)).toHaveLength(6);
  });

  it("that is full for all rejects every request, and accepts them again afterwards", async () => {
    await using deck = await openDeck(database, { lanes: 2, queueInAll: 5 });
    const other = await deck.newTenant();
    const first = flood(deck, deck.tenantId, 5);
    await expect(deck.hang("too many", other)).rejects.toEqual(UNAVAILABLE);
    expect(deck.flights.queued).toBe(5);
    await first;
    expect(deck.flights.queued).toBe(0);
    await deck.hang("welcome", other);
    expect(await deck.coats(other)).toEqual(["welcome"]);
  });

  it("rejects requests that wait too long, and stores nothing of them", async () => {
    await using deck = await openDeck(database, { lanes: 1, perTenant: 1, batch: 1, waitMs: 100 });
    const outcomes = await (async () => {
      await using _blocked = await blockCoats();
      const flying = deck.hang("aboard");
      const waiting = Promise.allSettled([deck.hang("late 1"), deck.hang("late 2")]);
      return { flying, late: await waiting };
    })();
    expect(outcomes.late).toEqual([
      { status: "rejected", reason: UNAVAILABLE },
      { status: "rejected", reason: UNAVAILABLE },
    ]);
    await outcomes.flying;
    await deck.hang("afterwards");
    expect(await deck.coats()).toEqual(["aboard", "afterwards"]);
  });

  it("rejects requests that wait too long also behind some whose transaction timed out", async () => {
    await using deck = await openDeck(database, { lanes: 1, perTenant: 1, waitMs: 100, timeoutMs: 1_500 });
    const other = await deck.newTenant();
    await deck.hang("warm");
    const hang = () => deck.proxy.set({ at: "before", statement: /insert into due/, does: "hang" });
    const isAboard = hang();
    let hasFlown = false;
    const first = deck.hang("first").finally(() => (hasFlown = true));
    await isAboard;
    const holdsTheLane = hang();
    // Just before the first transaction times out another request begins to wait, and then has the connection.
    await new Promise((resolve) => setTimeout(resolve, 1_450));
    const others = Promise.allSettled([deck.hang("another's", other)]);
    await holdsTheLane;
    // By then the first one is back in the queue.
    await new Promise((resolve) => setTimeout(resolve, 100));
    await expect(deck.hang("late")).rejects.toEqual(UNAVAILABLE);
    expect(hasFlown).toBe(false);
    await Promise.all([first, others]);
    expect(await deck.coats()).toEqual(["first", "warm"]);
  });

  it("of a tenant that was rejected is not forgotten with its last request", async () => {
    await using deck = await openDeck(database, { lanes: 2 });
    await deck.hang("warm");
    const isRefused = () => deck.flights.refusalOf(deck.tenantId) !== undefined;
    const flooded = async (prefix: string, milliseconds: number) => {
      await using _blocked = await blockCoats();
      const requests = Promise.allSettled(Array.from({ length: 300 }, (_, n) => deck.hang(`${prefix} ${n}`)));
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
    const lookup = Promise.withResolvers<boolean>();
    await using deck = await openDeck(database, { lanes: 1, waitMs: 100, wasCommitted: () => lookup.promise });
    const other = await deck.newTenant();
    await deck.hang("warm");
    const cut = deck.proxy.set({ at: "answer", statement: /^commit/, does: "cut" });
    const unsettled = deck.hang("unsettled");
    await cut;
    // Queues are checked four times a second: by then this tenant's first one is gone.
    await new Promise((resolve) => setTimeout(resolve, 400));
    const hung = deck.proxy.set({ at: "before", statement: /insert into due/, does: "hang" });
    const holdsTheLane = Promise.allSettled([deck.hang("holds the lane", other)]);
    await hung;
    const waiting = Promise.allSettled([deck.hang("waits")]);
    lookup.resolve(true);
    await unsettled;
    expect(await waiting).toEqual([{ status: "rejected", reason: UNAVAILABLE }]);
    deck.proxy.goAway();
    await holdsTheLane;
    expect(await deck.coats()).toEqual(["unsettled", "warm"]);
  });
});

describe("a database that hangs", () => {
  it("costs a request one connection, and it is served on another", async () => {
    await using deck = await openDeck(database, { lanes: 1, timeoutMs: 500 });
    await deck.hang("warm");
    const hung = deck.proxy.set({ at: "before", statement: /insert into due/, does: "hang" });
    await deck.hang("coat");
    await hung;
    expect(await deck.coats()).toEqual(["coat", "warm"]);
    expect(await deck.logs()).toBe(2);
  });

  it("at the commit leaves no doubt about the outcome", async () => {
    await using deck = await openDeck(database, { lanes: 1, timeoutMs: 500 });
    await deck.hang("warm");
    void deck.proxy.set({ at: "answer", statement: /^commit/, does: "hang" });
    await deck.hang("committed");
    void deck.proxy.set({ at: "before", statement: /^commit/, does: "hang" });
    await deck.hang("not committed at first");
    expect(await deck.coats()).toEqual(["committed", "not committed at first", "warm"]);
    expect(await deck.logs()).toBe(3);
  });

  it("permanently fails all requests with a 503 in the end, and serves again when it answers", async () => {
    await using deck = await openDeck(database, { lanes: 2, timeoutMs: 400, waitMs: 600, retryDelays: [0] });
    await deck.hang("warm");
    deck.proxy.hangAll();
    const outcomes = await Promise.allSettled(Array.from({ length: 250 }, (_, index) => deck.hang(`coat ${index}`)));
    expect(outcomes).toEqual(outcomes.map(() => ({ status: "rejected", reason: UNAVAILABLE })));
    deck.proxy.comeBack();
    await deck.hang("afterwards");
    expect(await deck.coats()).toEqual(["afterwards", "warm"]);
    expect(deck.proxy.links, "connections, of which there are lanes").toBeLessThanOrEqual(2);
  });
});

describe("a closed batcher", () => {
  it.each([
    ["begins its transaction", /^begin/],
    ["has its guard described", /from tenants/],
    ["has its first insert described", /^insert into due/],
  ])("lets a transaction finish that %s on a new connection", async (_, statement) => {
    const deck = await openDeck(database, { lanes: 1 });
    deck.proxy.goAway();
    deck.proxy.comeBack();
    // The news takes a turn or two of the event loop to arrive.
    await new Promise((resolve) => setTimeout(resolve, 50));
    const aboard = deck.hang("aboard");
    await expect.poll(() => deck.proxy.texts.some((text) => statement.test(text)), { interval: 0 }).toBe(true);
    await deck.flights.close();
    await aboard;
    expect(await deck.coats()).toEqual(["aboard"]);
    await expect.poll(() => deck.proxy.links).toBe(0);
    await deck.proxy[Symbol.asyncDispose]();
  });

  it("rejects waiting and new requests, lets the rest finish, and leaves no connection", async () => {
    const deck = await openDeck(database, { lanes: 1, batch: 1 });
    await deck.hang("warm");
    const blocked = await blockCoats();
    const aboard = deck.hang("aboard");
    await new Promise((resolve) => setTimeout(resolve, 50));
    const waiting = Promise.allSettled([deck.hang("waits")]);
    const closing = deck.flights.close();
    expect(await waiting).toEqual([{ status: "rejected", reason: UNAVAILABLE }]);
    await expect(deck.hang("comes")).rejects.toEqual(UNAVAILABLE);
    await blocked[Symbol.asyncDispose]();
    await aboard;
    await closing;
    expect(await deck.coats()).toEqual(["aboard", "warm"]);
    await expect.poll(() => deck.proxy.links).toBe(0);
    await deck.proxy[Symbol.asyncDispose]();
  });
});
