import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { logEntry } from "../../src/audit/log-entry.js";
import { newUuid } from "../../src/base/ids.js";
import { writeLog } from "../../src/store/audit-logs.js";
import { insertMember } from "../../src/store/members.js";
import { inPreparedSizes } from "../../src/store/statement-batch.js";
import { insertTenantKey } from "../../src/store/tenant-keys.js";
import { raiseAuthRevision, readTenant } from "../../src/store/tenants.js";
import { countActiveToken, countToken } from "../../src/store/token-counts.js";
import type { Transaction } from "../../src/store/transaction.js";
import { startDatabase, type TestDatabase } from "../support/databases.js";
import { hangCoat, hangIfFree, seeCoat } from "./support/coats.js";
import { hangAndLog, openDeck, together, transactionsOf } from "./support/deck.js";

let database: TestDatabase;
beforeAll(async () => {
  database = await startDatabase();
});
afterAll(() => database?.[Symbol.asyncDispose]());

/** What tests can have written in any order, by the table that it locks. */
const WRITES: Record<string, (tx: Transaction, index: number) => void> = {
  tenants: (tx) => tx.enqueue(raiseAuthRevision, tx.tenantId),
  tenant_keys: (tx, version) =>
    tx.enqueue(insertTenantKey, {
      purpose: "data",
      version,
      wrapped: Buffer.of(1),
      root_key_id: "r",
      state: "retired",
    }),
  members: (tx) =>
    tx.enqueue(insertMember, {
      id: newUuid(),
      user_id: newUuid(),
      role: "READ",
      profile: Buffer.of(1),
      email_term: Buffer.from(newUuid()),
      created_by: null,
    }),
  audit_logs: (tx) => writeLog(tx, logEntry(undefined, "tenant", tx.tenantId, "read")),
  token_activity: (tx) => countActiveToken(tx, "2001-01-01"),
  due: (tx, index) => tx.enqueue(hangCoat, `coat ${index}`),
  token_counts: (tx) => countToken(tx, { type: "card", change: 1, createdAt: tx.now }),
};

/** The table that a statement works on, or the word that it begins with. */
function subject(text: string): string {
  if (text.endsWith("for key share")) return "is the minute open";
  return /^(?:insert into|update|select .* from) (\w+)/s.exec(text)?.[1] ?? text.replace(/ .*/s, "");
}

/** Not the note that a minute is to be sealed, which the first log row of each minute leaves. */
function isOfRequest(text: string): boolean {
  return !/^insert into due .* on conflict/s.test(text);
}

describe("the statements of a transaction", () => {
  it("go over the wire in the order of locks, whoever asked for them first, and commit comes last", async () => {
    await using deck = await openDeck(database, { lanes: 1 });
    const tables = Object.keys(WRITES);
    // The deck's own tenant was the first.
    let flights = 1;
    let plannedAnew = 0;
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.shuffledSubarray(tables, { minLength: 1 }), { maxLength: 5, minLength: 1 }),
        async (wishes) => {
          deck.proxy.sent.length = 0;
          const works = wishes.map((wish, passenger) => async (tx: Transaction) => {
            for (const table of wish) WRITES[table]?.(tx, passenger);
          });
          const outcomes = await together(deck, works, "unguarded");
          expect(outcomes).toEqual(works.map(() => ({ status: "fulfilled", value: undefined })));
          await database.asTenant(deck.tenantId, "delete from tenant_keys");
          await database.asTenant(deck.tenantId, "delete from due");
          const transactions = transactionsOf(deck).map((transaction) => transaction.filter(isOfRequest).map(subject));
          flights += transactions.length;
          plannedAnew += transactions.flat().filter((subject) => subject === "discard").length;
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
    expect(plannedAnew, `of ${flights} flights`).toBe([10, 100].filter((flight) => flight <= flights).length);
  });

  it("stay in order on a new connection, where each must be described before it can be sent", async () => {
    // A statement that waits for its description was once overtaken by the commit: the row was lost, the caller thanked.
    await using deck = await openDeck(database, { lanes: 1 });
    for (let round = 0; round < 5; round += 1) {
      deck.proxy.goAway();
      deck.proxy.comeBack();
      deck.proxy.sent.length = 0;
      const works = Array.from({ length: 11 }, (_, index) => async (tx: Transaction) => {
        hangAndLog(tx, `round ${round} coat ${index}`);
        countToken(tx, { type: `type ${index}`, change: 1, createdAt: tx.now });
        if (index === 3) await tx.query(seeCoat, "nobody's");
      });
      expect(await together(deck, works)).toEqual(works.map(() => ({ status: "fulfilled", value: undefined })));
      const subjects = transactionsOf(deck).at(-1)?.map(subject);
      expect(subjects?.slice(0, 3)).toEqual(["begin", "set", "tenants"]);
      expect(subjects?.slice(-1)).toEqual(["commit"]);
      expect(await deck.coats()).toHaveLength(11 * (round + 1));
    }
  });

  it("take more than a hundred of them at once, which the client sends in two runs", async () => {
    await using deck = await openDeck(database, { lanes: 1 });
    const asks = Array.from({ length: 40 }, (_, index) => index);
    const works = asks.map((index) => async (tx: Transaction) => {
      for (const table of ["members", "due", "audit_logs", "token_counts"]) WRITES[table]?.(tx, index);
      // Each answer of this statement is a query of its own.
      return (await Promise.all(asks.map(() => tx.query(readTenant, tx.tenantId)))).length;
    });
    const outcomes = await together(deck, works);
    expect(outcomes).toEqual(works.map(() => ({ status: "fulfilled", value: 40 })));
    expect(await deck.coats()).toHaveLength(40);
  });

  it("lock the rows of one table in one order, so that two flights with the same rows never wait crosswise", async () => {
    await using deck = await openDeck(database, { lanes: 2, batch: 20 });
    const names = Array.from({ length: 20 }, (_, index) => `coat ${index + 10}`);
    const works = [...names, ...names.toReversed(), ...names, ...names.toReversed()].map(
      (name) => (tx: Transaction) => tx.query(hangIfFree, name),
    );
    const outcomes = await together(deck, works);
    expect(outcomes.filter((outcome) => outcome.status === "fulfilled" && outcome.value)).toHaveLength(20);
    expect(transactionsOf(deck), "none was run again").toHaveLength(4);
    const rows = await database.asTenant<{ kind: string }>(deck.tenantId, "select kind from due order by ctid");
    expect(rows.map(({ kind }) => kind)).toEqual(names);
  });
});

describe("batches", () => {
  it("of every size up to 130 give each input its own answer", async () => {
    await using deck = await openDeck(database, { lanes: 1, batch: 130 });
    for (let size = 1; size <= 130; size += 1) {
      const names = Array.from({ length: size }, (_, index) => `${size}/${index}`);
      const taken = names.filter((_, index) => index % 3 === 0);
      await together(
        deck,
        taken.map((name) => async (tx: Transaction) => tx.enqueue(hangCoat, name)),
      );
      const outcomes = await together(
        deck,
        names.map((name) => async (tx: Transaction) => [
          await tx.query(hangIfFree, name),
          await tx.query(seeCoat, name),
        ]),
      );
      expect(outcomes).toEqual(names.map((_, index) => ({ status: "fulfilled", value: [index % 3 !== 0, true] })));
    }
    expect(await deck.coats()).toHaveLength((130 * 131) / 2);
    const shapes = new Set(deck.proxy.texts.filter((text) => text.includes("on conflict")));
    expect(shapes.size, "prepared statements of one kind on one connection").toBeLessThanOrEqual(11);
  });

  it("are cut without losing or turning round anything", () => {
    fc.assert(
      fc.property(fc.array(fc.nat(), { maxLength: 300 }), (inputs) => {
        const pieces = inPreparedSizes(inputs);
        expect(pieces.flat()).toEqual(inputs);
        expect(pieces.every(({ length }) => [1, 2, 3, 4, 5, 6, 7, 8, 16, 32, 64].includes(length))).toBe(true);
      }),
    );
  });
});
