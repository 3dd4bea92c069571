// Waits: 10 s
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from "vitest";
import { processorTurns } from "../../../src/base/caller-turns.js";
import { HOUR_MS } from "../../../src/base/clock.js";
import type { TenantId } from "../../../src/base/ids.js";
import { StaleAuthorization, UniqueViolation } from "../../../src/store/postgres/database-error.js";
import { openPostgresConnection } from "../../../src/store/postgres/open-connection.js";
import { defineStatement } from "../../../src/store/statements/statement.js";
import { type CommitLookup, commitLookupIn } from "../../../src/store/transactions/commit-lookup.js";
import { LargeReads } from "../../../src/store/transactions/large-reads.js";
import type { Transaction } from "../../../src/store/transactions/transaction.js";
import { runPipeline } from "../../../src/store/transactions/transaction-pipeline.js";
import { Connection } from "../../../src/store/wire/connection.js";
import { asTenant, startDatabase, type TestDatabase } from "../../support/databases.js";
import {
  type BatcherFixture,
  burn,
  FIRST_REVISION,
  insertAndLog,
  openFixture,
  transactionsOf,
} from "../support/batcher-fixture.js";
import { insertIfFree, namedRowExists, ROW_TIME } from "../support/named-rows.js";

/** Rounds of faults. More of them search further. */
const ROUNDS = Number(process.env.PIPELINE_ROUNDS ?? 40);

let database: TestDatabase;
beforeAll(async () => {
  database = await startDatabase();
});
afterAll(() => database?.[Symbol.asyncDispose]());

/** Any SQL, as a defect or an injection would run it. */
const raw = defineStatement<string, readonly Record<string, unknown>[], Record<string, unknown>>({
  table: "tenants",
  kind: "write",
  sortKey: (text) => text,
  queries: (sql, _, texts) => texts.map((text) => sql.unsafe<Record<string, unknown>>(text)),
  outputs: (rows) => rows,
});

const named = (name: string) => async (tx: Transaction) => insertAndLog(tx, name);
const AT = ROW_TIME.toISOString();

/** A fixture whose connections know the statements: the next transactions of several tenants travel together. */
async function openWarm(tenants: number, connections = 1, wasCommitted?: CommitLookup) {
  const fixture = await openFixture(database, { connections, ...(wasCommitted && { wasCommitted }) });
  const others = await Promise.all(Array.from({ length: tenants - 1 }, () => fixture.newTenant()));
  const all = [fixture.tenantId, ...others];
  for (let round = 0; round < 2; round += 1) {
    await Promise.all(all.map((tenantId) => fixture.batcher.run(tenantId, FIRST_REVISION, named(`warm ${round}`))));
    await Promise.all(
      all.map((tenantId) => fixture.batcher.run(tenantId, FIRST_REVISION, (tx) => tx.query(namedRowExists, "none"))),
    );
  }
  fixture.proxy.sent.length = 0;
  fixture.proxy.steps = 0;
  return { fixture, tenants: all };
}

const namesOf = async (fixture: BatcherFixture, tenantId: TenantId) =>
  (await fixture.names(tenantId)).filter((name) => !name.startsWith("warm"));

describe("small batches of several tenants", () => {
  it("travel together, each in a transaction of its own, and one commit makes them durable", async () => {
    const { fixture, tenants } = await openWarm(8);
    await using _ = fixture;
    await Promise.all(tenants.map((tenantId) => fixture.batcher.run(tenantId, FIRST_REVISION, named("row"))));
    expect(transactionsOf(fixture).map(([opening]) => opening)).toEqual(
      tenants.map((tenantId) => `set local app.tenant_id = '${tenantId}', synchronous_commit = 'off'`),
    );
    expect(fixture.proxy.steps).toBe(tenants.length + 1);
    expect(fixture.proxy.texts.filter((text) => text.includes("pg_logical_emit_message"))).toHaveLength(1);
    for (const tenantId of tenants) expect(await namesOf(fixture, tenantId)).toEqual(["row"]);
  });

  it("make two trips if they read before they write, with the guard in each", async () => {
    const { fixture, tenants } = await openWarm(4);
    await using _ = fixture;
    const seen = await Promise.all(
      tenants.map((tenantId) =>
        fixture.batcher.run(tenantId, FIRST_REVISION, async (tx) => {
          const before = await tx.query(namedRowExists, "row");
          insertAndLog(tx, "row");
          return before;
        }),
      ),
    );
    expect(seen).toEqual(tenants.map(() => false));
    expect(transactionsOf(fixture)).toHaveLength(2 * tenants.length);
    expect(fixture.proxy.texts.filter((text) => text.includes("auth_revision"))).toHaveLength(2 * tenants.length);
    for (const tenantId of tenants) expect(await namesOf(fixture, tenantId)).toEqual(["row"]);
  });

  it("get a transaction block each if they write before their last step", async () => {
    const { fixture, tenants } = await openWarm(3);
    await using _ = fixture;
    const free = (tx: Transaction) => tx.query(insertIfFree, "row");
    const outcomes = await Promise.all(tenants.map((tenantId) => fixture.batcher.run(tenantId, FIRST_REVISION, free)));
    expect(outcomes).toEqual([true, true, true]);
    expect(fixture.proxy.texts.filter((text) => text === "begin")).toHaveLength(3);
  });

  it("see and write nothing of each other, whatever their statements ask for", async () => {
    const { fixture, tenants } = await openWarm(6);
    await using _ = fixture;
    const [victim, spy, thief, vandal, impostor, last] = tenants;
    if (!victim || !spy || !thief || !vandal || !impostor || !last) throw new Error("too few tenants");
    await fixture.batcher.run(victim, FIRST_REVISION, named("kept"));
    const sql = (text: string) => (tx: Transaction) => tx.queryLast(raw, text);
    const outcomes = await Promise.allSettled<unknown>([
      fixture.batcher.run(victim, FIRST_REVISION, named("own")),
      fixture.batcher.run(spy, FIRST_REVISION, sql("select distinct tenant_id from due")),
      fixture.batcher.run(
        thief,
        FIRST_REVISION,
        sql(`insert into due (tenant_id, kind, due_at) values ('${victim}', 'stolen', '${AT}')`),
      ),
      fixture.batcher.run(vandal, FIRST_REVISION, sql(`delete from due where tenant_id = '${victim}' returning kind`)),
      fixture.batcher.run(impostor, FIRST_REVISION, sql(`select set_config('app.tenant_id', '${victim}', true)`)),
      fixture.batcher.run(last, FIRST_REVISION, sql("select distinct tenant_id from due")),
    ]);
    expect(outcomes).toMatchObject([
      { status: "fulfilled" },
      { status: "fulfilled", value: [{ tenant_id: spy }] },
      { status: "rejected", reason: { code: "internal" } },
      { status: "fulfilled", value: [] },
      { status: "fulfilled" },
      { status: "fulfilled", value: [{ tenant_id: last }] },
    ]);
    expect(await namesOf(fixture, victim)).toEqual(["kept", "own"]);
  });
});

/** The tenants whose transactions had a block of their own. */
const tenantsApart = (fixture: BatcherFixture) =>
  transactionsOf(fixture).flatMap(([opening, tenant = ""]) =>
    opening === "begin" ? [/app.tenant_id = '([^']*)'/.exec(tenant)?.[1]] : [],
  );

/** A clock that stops until it is set forward: no transaction is slow because the machine is. */
function stoppedClock(): { forward(milliseconds: number): void } {
  let now = HOUR_MS;
  const spy = vi.spyOn(performance, "now").mockImplementation(() => now);
  onTestFinished(() => void spy.mockRestore());
  return { forward: (milliseconds) => (now += milliseconds) };
}

describe("a pipeline", () => {
  it("is sent without a turn of its busy tenants, for which others would wait", async () => {
    const { fixture, tenants } = await openWarm(6);
    await using _ = fixture;
    const quiet = tenants.at(-1) ?? fixture.tenantId;
    const busy = tenants.slice(0, -1);
    // The busy tenants have used so much more of the thread that all these turns come before theirs.
    for (const name of busy) processorTurns.begin({ kind: "tenant", name }, () => burn(60));
    let turns = 0;
    const step = () => {
      burn(1);
      turns += 1;
    };
    for (let n = 0; n < 300; n += 1) processorTurns.begin({ kind: "tenant", name: "another" }, step);
    while (turns === 0) await new Promise(setImmediate);

    const turnsBefore = turns;
    const sentAt: number[] = [];
    const flush = Connection.prototype.flush;
    const flushing = vi.spyOn(Connection.prototype, "flush").mockImplementation(function (this: Connection, late) {
      sentAt.push(turns - turnsBefore);
      flush.call(this, late);
    });
    onTestFinished(() => void flushing.mockRestore());
    const long = async (tx: Transaction) => {
      burn(1);
      insertAndLog(tx, "row");
    };
    await Promise.all([
      ...busy.map((tenantId) => fixture.batcher.run(tenantId, FIRST_REVISION, long)),
      fixture.batcher.run(quiet, FIRST_REVISION, (tx) => tx.query(namedRowExists, "none")),
    ]);
    expect(transactionsOf(fixture), "travel together").toHaveLength(tenants.length);
    expect(tenantsApart(fixture)).toEqual([]);
    // One turn of the others for each work that is long.
    expect(sentAt[0], "turns of others before it was sent").toBeLessThanOrEqual(12);
  });

  it("returns its connection without a step in flight, also if all its tenants need blocks of their own", async () => {
    await using fixture = await openFixture(database);
    const options = { role: "cloakroom_app" as const, statementTimeout: 5_000 };
    const opened = await openPostgresConnection(fixture.proxy.address, options).opened;
    const start = { tenantId: fixture.tenantId, now: new Date(), isFirstInMinute: false, isShared: true };
    const work = async (tx: Transaction) => void (await tx.query(insertIfFree, "row"));
    const works = [{ work, reads: new LargeReads(undefined) }];
    const results: string[] = [];
    await runPipeline(
      opened,
      { plansAgain: true, onEnded: (ended) => results.push(...ended.map(({ result }) => result.kind)) },
      [
        { start, guard: FIRST_REVISION, works },
        { start, guard: FIRST_REVISION, works },
      ],
    );
    expect(results).toEqual(["apart", "apart"]);
    expect(fixture.proxy.texts).toContain("discard plans");
    expect(await opened.connection.send()).toMatchObject({ kind: "done" });
    opened.connection.end();
  });

  it("stalls the tenant whose step it waited a second for in vain, and no other, if its connection is lost", async () => {
    const clock = stoppedClock();
    const released = Promise.withResolvers<void>();
    const lookUp = commitLookupIn(database.address);
    const { fixture, tenants } = await openWarm(4, 1, (commits) => released.promise.then(() => lookUp(commits)));
    await using _ = fixture;
    const hanging = fixture.proxy.set({ at: "result", statement: /insert into due/, skip: 1, does: "hang" });
    const rows = Promise.all(tenants.map((tenantId) => fixture.batcher.run(tenantId, FIRST_REVISION, named("row"))));
    await hanging;
    // What the proxy forwarded before arrives with the next look at the sockets.
    for (let look = 0; look < 3; look += 1) await new Promise(setImmediate);
    clock.forward(1_000);
    fixture.proxy.goAway();
    fixture.proxy.comeBack();
    fixture.proxy.sent.length = 0;
    await Promise.all(tenants.map((tenantId) => fixture.batcher.run(tenantId, FIRST_REVISION, named("another"))));
    expect(tenantsApart(fixture)).toEqual([tenants[1]]);
    released.resolve();
    await rows;
    for (const tenantId of tenants) expect(await namesOf(fixture, tenantId)).toEqual(["another", "row"]);
  });
});

describe("a tenant's transaction in a pipeline", () => {
  const failing: [string, (tx: Transaction) => Promise<unknown>, unknown][] = [
    ["meets a taken key", named("warm 0"), expect.any(UniqueViolation)],
    [
      "cannot run",
      (tx) => tx.queryLast(raw, "select 1 / (random() * 0)::int from due"),
      expect.any(StaleAuthorization),
    ],
    ["cannot be parsed", (tx) => tx.queryLast(raw, "selekt 1"), expect.objectContaining({ code: "internal" })],
    ["ends its session", (tx) => tx.queryLast(raw, "select pg_terminate_backend(pg_backend_pid())"), expect.anything()],
  ];
  it.each(failing)("fails alone if it %s", async (_, work, error) => {
    const { fixture, tenants } = await openWarm(5);
    await using _closing = fixture;
    const outcomes = await Promise.allSettled(
      tenants.map((tenantId, index) =>
        fixture.batcher.run<unknown>(tenantId, FIRST_REVISION, index === 2 ? work : named("row")),
      ),
    );
    expect(outcomes[2]).toEqual({ status: "rejected", reason: error });
    for (const [index, tenantId] of tenants.entries()) {
      if (index === 2) continue;
      expect(outcomes[index]?.status).toBe("fulfilled");
      expect(await namesOf(fixture, tenantId)).toEqual(["row"]);
      // One for each warm row, and one for this.
      expect(await fixture.logs(tenantId)).toBe(3);
    }
  });

  it("is refused at once if its rights have changed, and the others are served in the same trip", async () => {
    const { fixture, tenants } = await openWarm(3);
    await using _ = fixture;
    const outcomes = await Promise.allSettled(
      tenants.map((tenantId, index) =>
        fixture.batcher.run(tenantId, FIRST_REVISION + (index === 1 ? 1 : 0), named("row")),
      ),
    );
    expect(outcomes.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
    expect(outcomes[1]).toMatchObject({ reason: expect.any(StaleAuthorization) });
    expect(fixture.proxy.texts.filter((text) => text.includes("pg_logical_emit_message"))).toHaveLength(1);
  });

  it("lets the others go while it waits for a lock, and is served alone once it has it", async () => {
    const { fixture, tenants } = await openWarm(4, 2);
    await using _ = fixture;
    const [blocked, ...others] = tenants;
    if (!blocked) throw new Error("no tenant");
    const holder = await database.owner.reserve();
    await holder.unsafe("begin");
    await holder.unsafe(`set local app.tenant_id = '${blocked}'`);
    await holder.unsafe(`delete from due where tenant_id = '${blocked}' and kind = 'warm 0'`);
    const waiting = fixture.batcher.run(blocked, FIRST_REVISION, (tx) =>
      tx.queryLast(raw, "select 1 from due where kind = 'warm 0' for key share"),
    );
    const served = Promise.all(others.map((tenantId) => fixture.batcher.run(tenantId, FIRST_REVISION, named("row"))));
    await served;
    // From now on its requests delay no other tenant.
    fixture.proxy.sent.length = 0;
    await Promise.all(others.map((tenantId) => fixture.batcher.run(tenantId, FIRST_REVISION, named("another"))));
    await holder.unsafe("rollback");
    holder.release();
    await waiting;
    for (const tenantId of others) expect(await namesOf(fixture, tenantId)).toEqual(["another", "row"]);
  });
});

describe("a tenant whose minute is being closed", () => {
  it("is served apart from the others, and travels with them again a second later", async () => {
    const clock = stoppedClock();
    const { fixture, tenants } = await openWarm(4, 2);
    await using _ = fixture;
    const [closed, ...others] = tenants;
    const closing = await database.owner.reserve();
    await closing.unsafe(`begin; set local app.tenant_id = '${closed}'`);
    await closing.unsafe(`select 1 from tenants where tenant_id = '${closed}' for update`);
    const insertAll = (name: string) =>
      tenants.map((tenantId) => fixture.batcher.run(tenantId, FIRST_REVISION, named(name)));
    const [waiting, ...served] = insertAll("row");
    await Promise.all(served);
    fixture.proxy.sent.length = 0;
    await Promise.all(others.map((tenantId) => fixture.batcher.run(tenantId, FIRST_REVISION, named("meanwhile"))));
    await closing.unsafe("rollback");
    closing.release();
    await waiting;
    expect(tenantsApart(fixture).filter((tenantId) => tenantId !== closed)).toEqual([]);
    clock.forward(1_000);
    fixture.proxy.sent.length = 0;
    await Promise.all(insertAll("afterwards"));
    expect(tenantsApart(fixture)).toEqual([]);
  });
});

describe("under any mixture of tenants, works and faults", () => {
  type Kind = "write" | "read, then write" | "write, then write" | "read" | "taken" | "throws" | "stale" | "crosses";
  const anyKind = fc.constantFrom<Kind>(
    ...(["write", "read, then write", "write, then write", "read", "taken", "throws", "stale", "crosses"] as const),
  );
  const anyFault = fc.record({
    at: fc.constantFrom("before" as const, "result" as const),
    statement: fc.constantFrom(
      /^set local/,
      /auth_revision/,
      /insert into due/,
      /audit_logs/,
      /emit_message/,
      /^commit/,
    ),
    skip: fc.nat(3),
    does: fc.constantFrom("cut" as const, "orphan" as const),
  });

  let counted = 0;
  const thrown = new Error("thrown by the work");
  const workOf = (kind: Kind, name: string, other: TenantId) => async (tx: Transaction) => {
    switch (kind) {
      case "read":
        return void (await tx.query(namedRowExists, name));
      case "read, then write":
        await tx.query(namedRowExists, name);
        break;
      case "write, then write":
        await tx.query(insertIfFree, `${name}, first`);
        break;
      case "taken":
        return insertAndLog(tx, "warm 0");
      case "throws":
        throw thrown;
      case "crosses":
        tx.enqueue(raw, `insert into due (tenant_id, kind, due_at) values ('${other}', 'crossed', '${AT}')`);
        break;
      default:
    }
    insertAndLog(tx, name);
  };

  it("every request gets a result, what is acknowledged is stored once for its tenant, and nothing crosses", async () => {
    const { fixture, tenants } = await openWarm(6, 2);
    await using _ = fixture;
    const stored = new Map<TenantId, Set<string>>(tenants.map((tenantId) => [tenantId, new Set()]));
    const perhaps = new Map<TenantId, Set<string>>(tenants.map((tenantId) => [tenantId, new Set()]));
    const request = fc.record({ tenant: fc.nat(tenants.length - 1), kind: anyKind });
    await fc.assert(
      fc.asyncProperty(
        fc.array(request, { minLength: 1, maxLength: 24 }),
        fc.array(anyFault, { maxLength: 2 }),
        async (requests, faults) => {
          fixture.proxy.disarm();
          for (const fault of faults) void fixture.proxy.set(fault);
          const outcomes = await Promise.allSettled(
            requests.map(async ({ tenant, kind }) => {
              counted += 1;
              const name = `row ${counted}`;
              const tenantId = tenants[tenant] ?? fixture.tenantId;
              const other = tenants[(tenant + 1) % tenants.length] ?? fixture.tenantId;
              const guard = kind === "stale" ? FIRST_REVISION + 1 : FIRST_REVISION;
              const rows = kind === "write, then write" ? [name, `${name}, first`] : kind === "read" ? [] : [name];
              for (const row of rows) perhaps.get(tenantId)?.add(row);
              await fixture.batcher.run(tenantId, guard, workOf(kind, name, other));
              for (const row of rows) stored.get(tenantId)?.add(row);
            }),
          );
          for (const [index, outcome] of outcomes.entries()) {
            const kind = requests[index]?.kind;
            const mustFail = kind === "taken" || kind === "throws" || kind === "stale" || kind === "crosses";
            if (mustFail || faults.length === 0) {
              expect({ kind, status: outcome.status }).toEqual({ kind, status: mustFail ? "rejected" : "fulfilled" });
            }
            if (outcome.status === "rejected" && !mustFail)
              expect(outcome.reason).toMatchObject({ code: "unavailable" });
          }
        },
      ),
      { numRuns: ROUNDS, endOnFailure: true },
    );
    for (const tenantId of tenants) {
      const rows = await namesOf(fixture, tenantId);
      expect(rows).toEqual(expect.arrayContaining([...(stored.get(tenantId) ?? [])]));
      expect(rows.filter((row) => !perhaps.get(tenantId)?.has(row))).toEqual([]);
      const written = rows.filter((row) => !row.endsWith(", first")).length;
      expect(await fixture.logs(tenantId), "one log row for each write, and two of before").toBe(written + 2);
      const [foreign] = await asTenant<{ n: number }>(
        database.owner,
        tenantId,
        `select count(*)::int as n from due where tenant_id <> '${tenantId}' or kind = 'crossed'`,
      );
      expect(foreign?.n).toBe(0);
    }
  });
});
