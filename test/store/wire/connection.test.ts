import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Columns } from "../../../src/store/wire/columns.js";
import { PreparedStatement } from "../../../src/store/wire/prepared-statement.js";
import { NotPreparedYet } from "../../../src/store/wire/step.js";
import { startDatabase, type TestDatabase } from "../../support/databases.js";
import { PostgresProxy } from "../../support/postgres-proxy.js";
import { openSession, Run, throwUnlessDone, type WireSession } from "./support/wire-session.js";

let database: TestDatabase;
beforeAll(async () => {
  database = await startDatabase();
});
afterAll(() => database?.[Symbol.asyncDispose]());

const integer = (column: Columns) => column.integer();
const nothing = () => undefined;
const select = (n: number) => new Run(`select ${n}`, integer);
/** Fails when it runs. */
const divide = () => new Run("select 1 / (random() * 0)::int", integer);
/** Fails when it is parsed. */
const misspell = () => new Run("selekt 1", integer);

async function rollBack({ connection }: WireSession): Promise<void> {
  connection.add(new Run("rollback", nothing));
  throwUnlessDone(await connection.send());
}

/** A session over a proxy. */
async function proxied() {
  const proxy = await PostgresProxy.before(database.address);
  const session = await openSession(proxy.address);
  proxy.sent.length = 0;
  return {
    ...{ proxy, session },
    async [Symbol.asyncDispose]() {
      session.connection.drop();
      await proxy[Symbol.asyncDispose]();
    },
  };
}

describe("a step", () => {
  it("runs its statements in order, and returns the rows and the tag of each", async () => {
    const session = await openSession(database.address);
    const runs = [
      new Run("begin", nothing),
      select(1),
      new Run("select n from generate_series(2, 4) n", integer),
      new Run("commit", nothing),
    ];
    for (const run of runs) session.connection.add(run);
    expect(await session.connection.send()).toEqual({ kind: "done", hasWarned: false });
    expect(runs.map(({ rows, tag }) => [rows, tag])).toEqual([
      [[], "BEGIN"],
      [[1], "SELECT 1"],
      [[2, 3, 4], "SELECT 3"],
      [[], "COMMIT"],
    ]);
    session.connection.end();
  });

  it("parses a statement once, however often it contains it", async () => {
    await using scene = await proxied();
    const { connection } = scene.session;
    for (let step = 0; step < 2; step += 1) {
      const runs = [select(7), select(7), select(7)];
      for (const run of runs) connection.add(run);
      throwUnlessDone(await connection.send());
      expect(runs.map(({ rows }) => rows)).toEqual([[7], [7], [7]]);
    }
    const [known] = await scene.session.run(
      "select count(*) from pg_prepared_statements where statement = 'select 7'",
      [],
      0,
      integer,
    );
    expect(known).toBe(1);
  });

  it("is the only one in progress", async () => {
    const { connection } = await openSession(database.address);
    connection.add(select(1));
    const first = connection.send();
    expect(() => connection.send()).toThrow("one pipeline at a time");
    expect(await first).toEqual({ kind: "done", hasWarned: false });
    connection.end();
  });

  it("is not sent if it is discarded", async () => {
    const session = await openSession(database.address);
    session.connection.add(divide());
    session.connection.discardStep();
    expect(await session.run("select 1", [], 0, integer)).toEqual([1]);
    session.connection.end();
  });

  it("leaves the session usable after a statement whose values cannot be written", async () => {
    const { connection } = await openSession(database.address);
    const good = select(1);
    connection.add(good);
    const bad = new Run("select $1::int", integer);
    Object.defineProperty(bad, "writeValues", {
      value: () => {
        throw new Error("cannot be written");
      },
    });
    expect(() => connection.add(bad)).toThrow("cannot be written");
    const last = select(2);
    connection.add(last);
    throwUnlessDone(await connection.send());
    expect([good.rows, last.rows]).toEqual([[1], [2]]);
    connection.end();
  });

  it("ignores notices and changed settings", async () => {
    const session = await openSession(database.address);
    const runs = [
      new Run("do $$ begin raise notice 'something'; end $$", nothing),
      new Run("set application_name = 'other'", nothing),
      new Run("set client_min_messages = 'debug1'", nothing),
      select(1),
    ];
    for (const run of runs) session.connection.add(run);
    throwUnlessDone(await session.connection.send());
    expect(runs.at(-1)?.rows).toEqual([1]);
    session.connection.end();
  });
});

describe("a statement that fails", () => {
  const kinds = [
    ["as it runs", divide, "22012"],
    ["as it is parsed", misspell, "42601"],
  ] as const;
  describe.each(kinds)("%s", (_, failing, code) => {
    it.each([0, 1, 2, 3])(
      "at position %i takes the rest of its step along, and is distinguished from it",
      async (position) => {
        const session = await openSession(database.address);
        const { connection } = session;
        connection.add(new Run("begin", nothing));
        throwUnlessDone(await connection.send());
        const runs = [select(100), select(101), select(102), new Run("commit", nothing)];
        const failed = failing();
        runs.splice(position, 1, failed);
        for (const run of runs) connection.add(run);
        const end = await connection.send();
        expect(end).toMatchObject({ kind: "failed", failed, isOpen: true, error: { name: "DatabaseError", code } });
        expect(runs.map(({ tag }) => tag !== undefined)).toEqual(runs.map((_, index) => index < position));
        await rollBack(session);
        // Dropped statements are parsed again, and those parsed before are known.
        const again = [select(100), select(101), select(102), select(103)];
        for (const run of again) connection.add(run);
        throwUnlessDone(await connection.send());
        expect(again.map(({ rows }) => rows)).toEqual([[100], [101], [102], [103]]);
        connection.end();
      },
    );
  });

  it("while its rows are read drops nothing, and the transaction continues", async () => {
    const session = await openSession(database.address);
    const { connection } = session;
    const unreadable = new Run("select null::int", integer);
    const after = select(1);
    for (const run of [new Run("begin", nothing), unreadable, after]) connection.add(run);
    expect(await connection.send()).toMatchObject({ kind: "failed", failed: unreadable, isOpen: true });
    expect(after.tag).toBe("SELECT 1");
    await rollBack(session);
    connection.end();
  });

  it("among any others leaves every later step correct", async () => {
    const session = await openSession(database.address);
    const { connection } = session;
    const piece = fc.oneof(
      { weight: 6, arbitrary: fc.integer({ min: 1_000, max: 1_020 }) },
      { weight: 1, arbitrary: fc.constantFrom("divide", "misspell") },
    );
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.array(piece, { minLength: 1, maxLength: 6 }), { minLength: 1, maxLength: 8 }),
        async (steps) => {
          for (const step of steps) {
            const runs = step.map((of) =>
              typeof of === "number" ? select(of) : of === "divide" ? divide() : misspell(),
            );
            for (const run of runs) connection.add(run);
            const end = await connection.send();
            const failing = step.findIndex((of) => typeof of === "string");
            expect(end).toMatchObject(
              failing < 0
                ? { kind: "done", hasWarned: false }
                : { kind: "failed", failed: runs[failing], isOpen: false },
            );
            const expected = step.map((of, index) => (failing >= 0 && index >= failing ? [] : [of]));
            expect(runs.map(({ rows }) => rows)).toEqual(expected);
          }
        },
      ),
      { numRuns: 60 },
    );
    connection.end();
  });

  it("because its session forgot it is reported as such", async () => {
    const session = await openSession(database.address);
    expect(await session.run("select 1", [], 0, integer)).toEqual([1]);
    await session.run("deallocate all", [], 0, nothing);
    await expect(session.run("select 1", [], 0, integer)).rejects.toMatchObject({ code: "26000" });
    session.connection.end();
  });

  it("is reported without any text from PostgreSQL", async () => {
    const session = await openSession(database.address);
    const failing = session.run("select '4242424242424242'::int", [], 0, integer);
    const error = await failing.catch((reason: unknown) => reason);
    expect(error).toMatchObject({ message: "database error 22003" });
    expect(JSON.stringify(Object.getOwnPropertyNames(error))).not.toMatch(/detail|where|query/);
    session.connection.end();
  });
});

describe("a pipeline", () => {
  const inOneTrip = (connection: WireSession["connection"], steps: readonly (readonly Run<unknown>[])[]) => {
    const ends = steps.map((step) => {
      for (const run of step) connection.add(run);
      return connection.endStep();
    });
    connection.flush();
    return Promise.all(ends);
  };

  it("has a result for each step, and a failure ends its own step only", async () => {
    const session = await openSession(database.address);
    const { connection } = session;
    // What a step parses is known to later pipelines only.
    for (const n of [1, 2, 3]) await session.run(`select ${n}`, [], 0, integer);
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.array(fc.constantFrom(1, 2, 3, "fails" as const), { maxLength: 4 }), { minLength: 1 }),
        async (steps) => {
          const runs = steps.map((step, index) =>
            step.map((of) => (of === "fails" ? new Run(`select ${index} / (random() * 0)::int`, integer) : select(of))),
          );
          const ends = await inOneTrip(connection, runs);
          for (const [index, step] of steps.entries()) {
            const failing = step.indexOf("fails");
            expect(ends[index]).toMatchObject(
              failing < 0 ? { kind: "done" } : { kind: "failed", failed: runs[index]?.[failing], isOpen: false },
            );
            const expected = step.map((of, at) => (failing >= 0 && at >= failing ? [] : [of]));
            expect(runs[index]?.map(({ rows }) => rows)).toEqual(expected);
          }
        },
      ),
      { numRuns: 60 },
    );
    connection.end();
  });

  it("makes a transaction of each step, whose settings end with it", async () => {
    const session = await openSession(database.address);
    await session.run("create temporary table seen (n int, tenant text)", [], 0, nothing);
    const setting = (value: string) => new Run(`select set_config('app.tenant_id', '${value}', true)`, nothing);
    const seeing = (n: number) =>
      new Run(`insert into seen values (${n}, current_setting('app.tenant_id', true)) returning tenant`, (column) =>
        column.text(),
      );
    const [first, failed, last] = [seeing(1), seeing(2), seeing(3)];
    const ends = await inOneTrip(session.connection, [
      [setting("one"), first],
      [setting("two"), failed, divide()],
      [last],
    ]);
    expect(ends.map(({ kind }) => kind)).toEqual(["done", "failed", "done"]);
    expect([first, failed, last].map(({ rows }) => rows)).toEqual([["one"], ["two"], [""]]);
    const kept = await session.run("select n from seen order by n", [], 0, integer);
    expect(kept).toEqual([1, 3]);
    session.connection.end();
  });

  it("lets no step run a statement that an earlier one parses, and may fail to", async () => {
    const session = await openSession(database.address);
    const { connection } = session;
    connection.add(select(700));
    const end = connection.endStep();
    connection.add(select(701));
    expect(() => connection.add(select(700))).toThrow(NotPreparedYet);
    connection.discardStep();
    connection.flush();
    throwUnlessDone(await end);
    const ends = await inOneTrip(connection, [[select(700)], [select(700), select(701)]]);
    expect(ends.map(({ kind }) => kind)).toEqual(["done", "done"]);
    connection.end();
  });

  it("leaves the steps with a response as they are when it is lost", async () => {
    await using scene = await proxied();
    const { connection } = scene.session;
    void scene.proxy.set({ at: "result", statement: /^select 802/, does: "cut" });
    const ends = await inOneTrip(connection, [[select(800)], [select(801)], [select(802)], [select(803)]]);
    expect(ends.map(({ kind }) => kind)).toEqual(["done", "done", "lost", "lost"]);
    expect(ends[3]).toMatchObject({ wasSent: true });
  });
});

describe("a connection that is lost", () => {
  const step = () => [new Run("begin", nothing), select(1), new Run("commit", nothing)];

  it("before a step is sent reports that none of it was sent", async () => {
    await using scene = await proxied();
    scene.proxy.goAway();
    await expect.poll(() => scene.session.connection.isLost).toBe(true);
    scene.session.connection.add(select(1));
    expect(await scene.session.connection.send()).toMatchObject({ kind: "lost", wasSent: false });
  });

  it.each([
    ["before its first statement arrives", { at: "before", statement: /^begin/, does: "cut" }],
    ["before its commit arrives", { at: "before", statement: /^commit/, does: "cut" }],
    ["before its first result", { at: "result", statement: /^begin/, does: "cut" }],
    ["before the result to its commit", { at: "result", statement: /^commit/, does: "cut" }],
    ["on our side alone", { at: "before", statement: /^commit/, does: "orphan" }],
  ] as const)("%s reports that all of it may have run", async (_, trap) => {
    await using scene = await proxied();
    const { connection } = scene.session;
    void scene.proxy.set(trap);
    for (const run of step()) connection.add(run);
    expect(await connection.send()).toMatchObject({ kind: "lost", wasSent: true, error: { name: "ConnectionLost" } });
    expect(connection.isLost).toBe(true);
  });

  it("because an administrator ended it reports the database's code", async () => {
    const session = await openSession(database.address);
    const sleeping = session.run("select pg_sleep(20)", [], 0, nothing);
    // Awaited below, and expected now: the sleeper may end before the database has told the administrator so.
    const ended = expect(sleeping).rejects.toMatchObject({ name: "DatabaseError", code: "57P01" });
    await expect
      .poll(
        () =>
          database.owner`select pg_terminate_backend(${session.connection.processId}) where exists (select from pg_stat_activity where pid = ${session.connection.processId} and query like 'select pg_sleep%')`,
      )
      .toHaveLength(1);
    await ended;
  });

  it("ends a step in progress if we end it", async () => {
    const session = await openSession(database.address);
    const sleeping = session.run("select pg_sleep(20)", [], 0, nothing);
    session.connection.drop();
    await expect(sleeping).rejects.toMatchObject({ name: "ConnectionLost" });
  });

  it("because of a protocol violation is closed", async () => {
    const session = await openSession(database.address);
    session.connection.add({
      statement: new PreparedStatement("copy (select 1) to stdout", [], []),
      writeValues() {},
      takeRow() {},
    });
    expect(await session.connection.send()).toMatchObject({ kind: "lost" });
  });
});

describe("a connection that is being opened", () => {
  it("learns the engine and the process of the server", async () => {
    const session = await openSession(database.address);
    expect(session.engine).toBe("postgresql");
    const [pid] = await session.run("select pg_backend_pid()", [], 0, integer);
    expect(session.connection.processId).toBe(pid);
    session.connection.end();
  });

  it("ends its process as soon as it is closed", async () => {
    const session = await openSession(database.address);
    const { processId } = session.connection;
    session.connection.end();
    await expect.poll(() => database.owner`select 1 from pg_stat_activity where pid = ${processId}`).toEqual([]);
  });
});
