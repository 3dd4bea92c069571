import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { logEntry } from "../../../src/audit/log-entry.js";
import { writeLog } from "../../../src/store/audit/audit-logs.js";
import { inPreparedSizes } from "../../../src/store/statements/prepared-sizes.js";
import { incrementAuthRevision, readTenant } from "../../../src/store/tenancy/tenants.js";
import { countActiveToken, countToken } from "../../../src/store/tokens/token-counts.js";
import { upsertCvc } from "../../../src/store/tokens/token-cvc.js";
import { insertTerm } from "../../../src/store/tokens/token-terms.js";
import type { Transaction } from "../../../src/store/transactions/transaction.js";
import { startDatabase, type TestDatabase } from "../../support/databases.js";
import { insertAndLog, openFixture, together, transactionsOf } from "../support/batcher-fixture.js";
import { insertIfFree, insertNamedRow, namedRowExists } from "../support/named-rows.js";

let database: TestDatabase;
beforeAll(async () => {
  database = await startDatabase();
});
afterAll(() => database?.[Symbol.asyncDispose]());

/** Everything that tests can have written in any order, by the table that it locks. */
const WRITES: Record<string, (tx: Transaction, index: number) => void> = {
  tenants: (tx) => tx.enqueue(incrementAuthRevision, tx.tenantId),
  token_cvc: (tx, index) => tx.enqueue(upsertCvc, { token_id: `token ${index}`, code: Buffer.of(1), due_at: tx.now }),
  token_terms: (tx, index) =>
    tx.enqueue(insertTerm, { term: Buffer.from(`term ${index}`), created_at: tx.now, token_id: `token ${index}` }),
  audit_logs: (tx) => writeLog(tx, logEntry("tenant", tx.tenantId, "read")),
  token_activity: (tx) => countActiveToken(tx, "2001-01-01"),
  due: (tx, index) => tx.enqueue(insertNamedRow, `row ${index}`),
  token_counts: (tx) => tx.enqueue(countToken, { type: "card", change: 1, createdAt: tx.now }),
};

/** The table of a statement, or its first word. */
function subject(text: string): string {
  if (text.endsWith("for key share")) return "is the minute open";
  return /^(?:insert into|update|select .* from) (\w+)/s.exec(text)?.[1] ?? text.replace(/ .*/s, "");
}

/** Without the record that a minute is to be sealed, which the first log row of each minute writes. */
function isOfRequest(text: string): boolean {
  return !/^insert into due .* on conflict/s.test(text);
}

describe("the statements of a transaction", () => {
  it("are sent in the order of locks, regardless of who enqueued them first, and commit comes last", async () => {
    await using fixture = await openFixture(database, { connections: 1 });
    const tables = Object.keys(WRITES);
    // The fixture's own tenant was the first.
    let transactionCount = 1;
    let plannedAgain = 0;
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.shuffledSubarray(tables, { minLength: 1 }), { maxLength: 5, minLength: 1 }),
        async (wishes) => {
          fixture.proxy.sent.length = 0;
          const works = wishes.map((wish, request) => async (tx: Transaction) => {
            for (const table of wish) WRITES[table]?.(tx, request);
          });
          const outcomes = await together(fixture, works, { guard: undefined });
          expect(outcomes).toEqual(works.map(() => ({ status: "fulfilled", value: undefined })));
          await database.asTenant(fixture.tenantId, "delete from token_terms");
          await database.asTenant(fixture.tenantId, "delete from due");
          const transactions = transactionsOf(fixture).map((transaction) =>
            transaction.filter(isOfRequest).map(subject),
          );
          transactionCount += transactions.length;
          plannedAgain += transactions.flat().filter((subject) => subject === "discard").length;
          const [transaction = []] = transactions;
          const opening = transaction[2] === "discard" ? ["begin", "set", "discard"] : ["begin", "set"];
          const wished = tables.filter((table) => wishes.flat().includes(table));
          const expected = wished.flatMap((table) =>
            table === "audit_logs" ? [table, "is the minute open"] : [table],
          );
          expect(transaction).toEqual([...opening, ...expected, "commit"]);
        },
      ),
      { numRuns: 40 },
    );
    expect(plannedAgain, `of ${transactionCount} transactions`).toBe(
      [10, 100].filter((number) => number <= transactionCount).length,
    );
  });

  it("stay in order on a new connection, where each must be described before it can be sent", async () => {
    // A statement that waited for its description was once overtaken by the commit: the row was lost, and the caller
    // got a success.
    await using fixture = await openFixture(database, { connections: 1 });
    for (let round = 0; round < 5; round += 1) {
      fixture.proxy.goAway();
      fixture.proxy.comeBack();
      fixture.proxy.sent.length = 0;
      const works = Array.from({ length: 11 }, (_, index) => async (tx: Transaction) => {
        insertAndLog(tx, `round ${round} row ${index}`);
        tx.enqueue(countToken, { type: `type ${index}`, change: 1, createdAt: tx.now });
        if (index === 3) await tx.query(namedRowExists, "missing");
      });
      expect(await together(fixture, works)).toEqual(works.map(() => ({ status: "fulfilled", value: undefined })));
      const subjects = transactionsOf(fixture).at(-1)?.map(subject);
      expect(subjects?.slice(0, 3)).toEqual(["begin", "set", "tenants"]);
      expect(subjects?.slice(-1)).toEqual(["commit"]);
      expect(await fixture.names()).toHaveLength(11 * (round + 1));
    }
  });

  it("may be more than a hundred in one batch, which the client sends in two runs", async () => {
    await using fixture = await openFixture(database, { connections: 1 });
    const asks = Array.from({ length: 40 }, (_, index) => index);
    const works = asks.map((index) => async (tx: Transaction) => {
      for (const table of ["members", "due", "audit_logs", "token_counts"]) WRITES[table]?.(tx, index);
      // Each result of this statement is a query of its own.
      return (await Promise.all(asks.map(() => tx.query(readTenant, tx.tenantId)))).length;
    });
    const outcomes = await together(fixture, works);
    expect(outcomes).toEqual(works.map(() => ({ status: "fulfilled", value: 40 })));
    expect(await fixture.names()).toHaveLength(40);
  });

  it("lock the rows of one table in one order, so two transactions with the same rows never deadlock", async () => {
    await using fixture = await openFixture(database, { connections: 2, batch: 20 });
    const names = Array.from({ length: 20 }, (_, index) => `row ${index + 10}`);
    const works = [...names, ...names.toReversed(), ...names, ...names.toReversed()].map(
      (name) => (tx: Transaction) => tx.query(insertIfFree, name),
    );
    const outcomes = await together(fixture, works);
    expect(outcomes.filter((outcome) => outcome.status === "fulfilled" && outcome.value)).toHaveLength(20);
    expect(transactionsOf(fixture), "none was run again").toHaveLength(4);
    const rows = await database.asTenant<{ kind: string }>(fixture.tenantId, "select kind from due order by ctid");
    expect(rows.map(({ kind }) => kind)).toEqual(names);
  });
});

describe("batches", () => {
  it("give each input its own result at sizes up to 130", async () => {
    await using fixture = await openFixture(database, { connections: 1, batch: 130 });
    // All that are sent as they are, and those around and between sums of prepared sizes.
    const sizes = [1, 2, 3, 4, 5, 6, 7, 8, 9, 15, 16, 17, 24, 31, 32, 33, 63, 64, 65, 96, 127, 128, 129, 130];
    for (const size of sizes) {
      const names = Array.from({ length: size }, (_, index) => `${size}/${index}`);
      const taken = names.filter((_, index) => index % 3 === 0);
      await together(
        fixture,
        taken.map((name) => async (tx: Transaction) => tx.enqueue(insertNamedRow, name)),
      );
      const outcomes = await together(
        fixture,
        names.map((name) => async (tx: Transaction) => [
          await tx.query(insertIfFree, name),
          await tx.query(namedRowExists, name),
        ]),
      );
      expect(outcomes).toEqual(names.map((_, index) => ({ status: "fulfilled", value: [index % 3 !== 0, true] })));
    }
    expect(await fixture.names()).toHaveLength(sizes.reduce((sum, size) => sum + size, 0));
    const shapes = new Set(fixture.proxy.texts.filter((text) => text.includes("on conflict")));
    expect(shapes.size, "prepared statements of one kind on one connection").toBeLessThanOrEqual(11);
  });

  it("are split without losing or reordering anything", () => {
    fc.assert(
      fc.property(fc.array(fc.nat(), { maxLength: 300 }), (inputs) => {
        const pieces = inPreparedSizes(inputs);
        expect(pieces.flat()).toEqual(inputs);
        expect(pieces.every(({ length }) => [1, 2, 3, 4, 5, 6, 7, 8, 16, 32, 64].includes(length))).toBe(true);
      }),
    );
  });
});
