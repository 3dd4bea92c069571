import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { countTokenKeys, listTokenKeys } from "../../../src/store/tokens/token-keys.js";
import { findToken } from "../../../src/store/tokens/token-reads.js";
import type { Expired, KeySource } from "../../../src/store/tokens/token-selection.js";
import { insertTerm } from "../../../src/store/tokens/token-terms.js";
import { insertToken, insertTokenIfFree } from "../../../src/store/tokens/tokens.js";
import { startDatabase, type TestDatabase } from "../../support/databases.js";
import { type BatcherFixture, openFixture } from "../support/batcher-fixture.js";
import { tokenRow } from "../support/token-row.js";

let database: TestDatabase;
beforeAll(async () => {
  database = await startDatabase();
});
afterAll(() => database?.[Symbol.asyncDispose]());

describe("tokens that claim the same id in one batch", () => {
  it("are inserted if their content is free, whichever of them comes first", async () => {
    await using fixture = await openFixture(database, { connections: 1 });
    const [taken, free] = [Buffer.from("1 taken"), Buffer.from("2 free")];
    const outcomes = await fixture.batcher.run(fixture.tenantId, undefined, async (tx) => {
      tx.enqueue(insertToken, tokenRow({ dedupe_key: taken }));
      const wanted = [
        tokenRow({ id: "wanted", dedupe_key: taken, data: Buffer.from("first") }),
        tokenRow({ id: "wanted", dedupe_key: free, data: Buffer.from("second") }),
        tokenRow({ id: "wanted", dedupe_key: free, data: Buffer.from("third") }),
        tokenRow({ id: "other", data: Buffer.from("fourth") }),
      ];
      await findToken(tx, "wanted");
      return Promise.all(wanted.map((row) => tx.query(insertTokenIfFree, row)));
    });
    const stored = await fixture.batcher.run(fixture.tenantId, undefined, (tx) => findToken(tx, "wanted"));
    expect(outcomes).toEqual([false, true, false, true]);
    expect(stored?.data.toString()).toBe("second");
  });
});

describe("tokens of several containers, the newest of which have expired", () => {
  const terms = [Buffer.from("term one"), Buffer.from("term two")];
  const source: KeySource = { kind: "terms", terms };
  const EXPIRED = 6;
  const LIVE = 9;
  let fixture: BatcherFixture;
  /** Newest first. */
  let live: string[];
  const expired = (kind: Expired["kind"]): Expired =>
    kind === "many"
      ? { kind, at: new Date() }
      : { kind, ids: Array.from({ length: EXPIRED }, (_, n) => `expired-${n}`) };
  const selection = (kind: Expired["kind"]) => ({
    ...{ source, also: [], isNarrow: false, scopes: [], hasLargeScopes: true, without: expired(kind) },
  });
  beforeAll(async () => {
    fixture = await openFixture(database, { connections: 1 });
    const now = Date.now();
    live = Array.from({ length: LIVE }, (_, n) => `live-${n}`);
    await fixture.batcher.run(fixture.tenantId, undefined, async (tx) => {
      const add = (id: string, age: number, expires_at: Date | null) => {
        const created_at = new Date(now - age);
        tx.enqueue(insertToken, tokenRow({ id, created_at, expires_at }));
        for (const term of terms) tx.enqueue(insertTerm, { term, created_at, token_id: id });
      };
      for (let n = 0; n < EXPIRED; n += 1) add(`expired-${n}`, n, new Date(now - 1));
      for (const [n, id] of live.entries()) add(id, EXPIRED + n, null);
    });
  });
  afterAll(() => fixture?.[Symbol.asyncDispose]());

  it.each(["few", "many"] as const)("are listed without those, %s of them, in full pages", async (kind) => {
    const page = (offset: number, limit: number) =>
      fixture.batcher.run(fixture.tenantId, undefined, async (tx) =>
        (
          await tx.query(listTokenKeys, {
            ...{ selection: selection(kind), order: "newest_first", after: undefined, offset, limit },
          })
        ).map(({ id }) => id),
      );
    expect(await page(0, 4)).toEqual(live.slice(0, 4));
    expect(await page(4, 3)).toEqual(live.slice(4, 7));
  });

  it.each(["few", "many"] as const)("are counted without those, %s of them, up to the limit", async (kind) => {
    const count = (most: number) =>
      fixture.batcher.run(fixture.tenantId, undefined, (tx) =>
        tx.query(countTokenKeys, { selection: selection(kind), most }),
      );
    expect([await count(7), await count(100)]).toEqual([7, LIVE]);
  });
});
