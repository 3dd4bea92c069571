import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { EMPTY_CONTEXT } from "../../src/audit/audit-context.js";
import { newUuid, type TenantId } from "../../src/base/ids.js";
import { findTokenLogged, loggedTokenQuery } from "../../src/store/audit/logged-reads.js";
import { insertToken, type TokenRow } from "../../src/store/tokens/tokens.js";
import type { Transaction } from "../../src/store/transactions/transaction.js";
import { startDatabase, type TestDatabase } from "../support/databases.js";
import { type BatcherFixture, insertAndLog, openFixture, together, transactionsOf } from "./support/batcher-fixture.js";

let database: TestDatabase;
beforeAll(async () => {
  database = await startDatabase();
});
afterAll(() => database?.[Symbol.asyncDispose]());

const QUERY = loggedTokenQuery(
  new Map([
    ["card", "Card retrieved"],
    ["token", "It's a token"],
  ]),
);
const ACTOR = { id: newUuid(), type: "application", keyId: newUuid() };

function rowOf(id: string, more: Partial<TokenRow> = {}): TokenRow {
  return {
    ...{ id, type: "token", data: Buffer.from(`data of ${id}`), attributes: null, containers: ["/a/", '/"b"/'] },
    ...{ fingerprint: null, dedupe_key: null, expires_at: null, expires_at_text: null, revision: 1 },
    ...{
      active_month: "2026-01-01",
      created_by: ACTOR.id,
      created_at: new Date(0),
      modified_by: null,
      modified_at: null,
    },
    ...more,
  };
}

const read =
  (id: string, logId = newUuid(), maxBytes = 100) =>
  (tx: Transaction) =>
    findTokenLogged(tx, QUERY, { id, maxBytes, logId, actor: ACTOR, context: EMPTY_CONTEXT, transform: "mask" });

async function withTokens(...rows: readonly TokenRow[]): Promise<BatcherFixture> {
  const fixture = await openFixture(database, { connections: 1 });
  await fixture.batcher.run(fixture.tenantId, undefined, async (tx) => {
    for (const row of rows) tx.enqueue(insertToken, row);
  });
  fixture.proxy.sent.length = 0;
  fixture.proxy.steps = 0;
  return fixture;
}

function logOf(tenantId: TenantId): Promise<Record<string, unknown>[]> {
  return database.asTenant(
    tenantId,
    "select id, actor_id, actor_type, entity_type, entity_id, operation, message from audit_logs order by entity_id",
  );
}

describe("a read in one round trip", () => {
  it("finds the token, logs it and commits in one step", async () => {
    await using fixture = await withTokens(rowOf("a"), rowOf("b", { type: "card" }));
    const ids = { a: newUuid(), b: newUuid() };
    const outcomes = await together(fixture, [read("a", ids.a), read("b", ids.b)]);
    expect(outcomes).toMatchObject([
      { status: "fulfilled", value: { ...rowOf("a"), cvc: null } },
      { status: "fulfilled", value: { ...rowOf("b", { type: "card" }), cvc: null } },
    ]);
    const actor = { actor_id: ACTOR.id, actor_type: ACTOR.type, operation: "read" };
    expect(await logOf(fixture.tenantId)).toEqual([
      { ...actor, id: ids.a, entity_type: "token", entity_id: "a", message: "It's a token" },
      { ...actor, id: ids.b, entity_type: "card", entity_id: "b", message: "Card retrieved" },
    ]);
    expect(transactionsOf(fixture)).toHaveLength(1);
    expect(fixture.proxy.steps, "writes").toBe(1);
  });

  it("records once a minute that its log is to be sealed", async () => {
    await using fixture = await withTokens(rowOf("a"));
    // Whenever a minute begins meanwhile, it is recorded once more.
    const minutes = new Set<number>();
    for (let round = 0; round < 5; round += 1) {
      minutes.add(Math.floor(Date.now() / 60_000));
      await together(fixture, [read("a")]);
      minutes.add(Math.floor(Date.now() / 60_000));
    }
    const notes = fixture.proxy.texts.filter((text) => text.startsWith("insert into due"));
    expect(notes.length).toBeGreaterThan(0);
    expect(notes.length).toBeLessThanOrEqual(minutes.size);
  });

  it("logs nothing for a missing or expired token", async () => {
    await using fixture = await withTokens(rowOf("over", { expires_at: new Date(1), expires_at_text: "1970" }));
    const outcomes = await together(fixture, [read("over"), read("missing")]);
    expect(outcomes).toEqual(outcomes.map(() => ({ status: "fulfilled", value: undefined })));
    expect(await logOf(fixture.tenantId)).toEqual([]);
  });

  it("returns the size of a token that is larger than asked for, and logs nothing", async () => {
    const attributes = Buffer.alloc(50);
    await using fixture = await withTokens(rowOf("a", { data: Buffer.alloc(50, "x"), attributes }), rowOf("b"));
    const logId = newUuid();
    const outcomes = await together(fixture, [read("a", newUuid(), 99), read("b"), read("a", logId, 100)]);
    expect(outcomes).toMatchObject([
      { status: "fulfilled", value: { id: "a", sealedBytes: 100 } },
      { status: "fulfilled", value: { ...rowOf("b"), cvc: null } },
      { status: "fulfilled", value: { id: "a", data: Buffer.alloc(50, "x"), attributes, cvc: null } },
    ]);
    expect(transactionsOf(fixture)).toHaveLength(1);
    const rows = await logOf(fixture.tenantId);
    expect(rows.map(({ entity_id }) => entity_id)).toEqual(["a", "b"]);
    expect(rows[0]).toMatchObject({ id: logId });
  });

  it("logs each of several callers of one token", async () => {
    await using fixture = await withTokens(rowOf("a"));
    const outcomes = await together(fixture, [read("a"), read("a"), read("a")]);
    expect(outcomes.every((outcome) => outcome.status === "fulfilled" && outcome.value?.id === "a")).toBe(true);
    expect(await logOf(fixture.tenantId)).toHaveLength(3);
  });

  it("shares a transaction with others that take more steps", async () => {
    await using fixture = await withTokens(rowOf("a"));
    const outcomes = await together<unknown>(fixture, [
      read("a"),
      async (tx) => insertAndLog(tx, "row"),
      async (tx) => {
        insertAndLog(tx, "another");
        return tx
          .query(QUERY, {
            id: "a",
            maxBytes: 100,
            logId: newUuid(),
            actor: undefined,
            context: EMPTY_CONTEXT,
            transform: "mask",
          })
          .then(() => insertAndLog(tx, "third"));
      },
    ]);
    expect(outcomes.map(({ status }) => status)).toEqual(["fulfilled", "fulfilled", "fulfilled"]);
    expect(transactionsOf(fixture)).toHaveLength(1);
    expect(await fixture.names()).toEqual(["another", "row", "third"]);
  });

  it("in a minute that is closed returns nothing", async () => {
    await using fixture = await withTokens(rowOf("a"));
    const later = new Date(Date.now() + 3_600_000).toISOString();
    await database.asTenant(fixture.tenantId, `update tenants set audit_closed_until = '${later}'`);
    const [outcome] = await together(fixture, [read("a")]);
    expect(outcome).toMatchObject({ status: "rejected", reason: { code: "unavailable" } });
    expect(await logOf(fixture.tenantId)).toEqual([]);
  });

  it("runs again when its commit is not acknowledged, and is logged each time", async () => {
    await using fixture = await withTokens(rowOf("a"));
    const sprung = fixture.proxy.set({ at: "result", statement: /^commit/, does: "cut" });
    const [outcome] = await together(fixture, [read("a")]);
    await sprung;
    expect(outcome).toMatchObject({ status: "fulfilled", value: { id: "a" } });
    expect(await logOf(fixture.tenantId)).toHaveLength(2);
  });

  it("leaves the writes of its batch stored once when its commit is not acknowledged", async () => {
    await using fixture = await withTokens(rowOf("a"));
    const sprung = fixture.proxy.set({ at: "result", statement: /^commit/, does: "cut" });
    let runs = 0;
    const outcomes = await together<unknown>(fixture, [
      read("a"),
      async (tx) => {
        runs += 1;
        insertAndLog(tx, `run ${runs}`);
      },
    ]);
    await sprung;
    expect(outcomes).toMatchObject([
      { status: "fulfilled", value: { id: "a" } },
      { status: "fulfilled", value: undefined },
    ]);
    expect(await fixture.names()).toEqual(["run 1"]);
  });

  it("is logged once if it was never committed", async () => {
    await using fixture = await withTokens(rowOf("a"));
    const sprung = fixture.proxy.set({ at: "before", statement: /^commit/, does: "cut" });
    const [outcome] = await together(fixture, [read("a")]);
    await sprung;
    expect(outcome).toMatchObject({ status: "fulfilled", value: { id: "a" } });
    expect(await logOf(fixture.tenantId)).toHaveLength(1);
  });
});
