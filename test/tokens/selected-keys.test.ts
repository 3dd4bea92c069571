import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Fault } from "../../src/base/fault.js";
import type {
  Expired,
  KeyFilter,
  KeySource,
  Requirement,
  ScopeAlternative,
  TokenKey,
  TokenSelection,
} from "../../src/store/tokens/token-selection.js";
import { insertTerm } from "../../src/store/tokens/token-terms.js";
import { insertToken, type TokenRow } from "../../src/store/tokens/tokens.js";
import { countKeys, findNewestKeys, type KeyReading, listKeys } from "../../src/tokens/selected-keys.js";
import { type BatcherFixture, openFixture } from "../store/support/batcher-fixture.js";
import { tokenRow } from "../store/support/token-row.js";
import { startDatabase, type TestDatabase } from "../support/databases.js";

interface Known {
  readonly row: TokenRow;
  readonly terms: readonly number[];
}

const TOKENS = 40;
const TERMS = [0, 1, 2, 3].map((n) => Buffer.from(`term ${n}`));
const TYPES = ["bank", "card", "token"];
const CONTAINERS = ["/a/", "/a/b/", "/c/"];
const NOW = Date.now();

/** Two tokens share each moment, so pages and steps end between them. The draws are fixed. */
const known: readonly Known[] = Array.from({ length: TOKENS }, (_, n) => ({
  row: tokenRow({
    id: `token-${String((n * 7) % TOKENS).padStart(2, "0")}`,
    type: TYPES[n % TYPES.length] ?? "token",
    containers: [CONTAINERS[(n * 5) % 3] ?? "/a/"],
    fingerprint: n % 4 === 0 ? Buffer.from("fingerprint") : null,
    created_at: new Date(NOW - Math.floor(n / 2) * 1_000),
    expires_at: n % 6 === 1 ? new Date(NOW - 1) : null,
  }),
  terms: TERMS.flatMap((_, term) => ((n >> term) % 2 === 0 ? [term] : [])),
}));

const term = fc.constantFrom(0, 1, 2, 3);
const filter: fc.Arbitrary<KeyFilter> = fc.oneof(
  fc.constantFrom(...TYPES).map((type): KeyFilter => ({ kind: "type", type })),
  fc.constant<KeyFilter>({ kind: "types", types: ["bank", "card"] }),
  fc.constant<KeyFilter>({ kind: "fingerprint", fingerprint: Buffer.from("fingerprint") }),
  term.map((n): KeyFilter => ({ kind: "term", term: bytes(n) })),
);
const ids = fc.uniqueArray(fc.constantFrom(...known.map(({ row }) => row.id), "no token"), {
  minLength: 1,
  maxLength: 9,
});
const source: fc.Arbitrary<KeySource> = fc.oneof(
  fc.constant<KeySource>({ kind: "all" }),
  filter,
  ids.map((chosen): KeySource => ({ kind: "ids", ids: chosen })),
  fc
    .uniqueArray(term, { minLength: 2, maxLength: 4 })
    .map((chosen): KeySource => ({ kind: "terms", terms: chosen.map(bytes) })),
);
const requirement: fc.Arbitrary<Requirement> = fc.oneof(
  term.map((n): Requirement => ({ kind: "below", term: bytes(n) })),
  fc.constantFrom<Requirement>(
    { kind: "container", text: "/a/" },
    { kind: "container_prefix", text: "/a" },
    { kind: "id", text: "token-07" },
    { kind: "id_prefix", text: "token-1" },
  ),
);
const alternative = fc.array(requirement, { minLength: 1, maxLength: 2 });
const expired: fc.Arbitrary<Expired> = fc.constantFrom<Expired>(
  { kind: "few", ids: [] },
  { kind: "few", ids: known.flatMap(({ row }) => (row.expires_at ? [row.id] : [])) },
  { kind: "many", at: new Date(NOW) },
);
const moment = fc.option(
  fc.integer({ min: 0, max: TOKENS / 2 }).map((n) => new Date(NOW - n * 1_000)),
  { nil: undefined },
);
const selection: fc.Arbitrary<TokenSelection> = fc.record({
  source,
  also: fc.array(filter, { maxLength: 2 }),
  isNarrow: fc.boolean(),
  scopes: fc.array(fc.array(alternative, { minLength: 1, maxLength: 3 }), { maxLength: 2 }),
  hasLargeScopes: fc.boolean(),
  without: expired,
  span: fc.option(fc.record({ from: moment, before: moment }), { nil: undefined }),
});

function bytes(n: number): Buffer {
  return TERMS[n] ?? Buffer.alloc(0);
}

describe("the keys of a selection, read in steps", () => {
  let database: TestDatabase;
  let fixture: BatcherFixture;
  beforeAll(async () => {
    database = await startDatabase();
    fixture = await openFixture(database, { connections: 1 });
    await fixture.batcher.run(fixture.tenantId, undefined, async (tx) => {
      for (const { row, terms } of known) {
        tx.enqueue(insertToken, row);
        for (const n of terms) tx.enqueue(insertTerm, { term: bytes(n), created_at: row.created_at, token_id: row.id });
      }
    });
  });
  afterAll(async () => {
    await fixture?.[Symbol.asyncDispose]();
    await database?.[Symbol.asyncDispose]();
  });

  it("are those that meet its conditions, in the order of age, whatever the size of a step and of a page", async () => {
    await fc.assert(
      fc.asyncProperty(
        selection,
        fc.integer({ min: 2, max: TOKENS + 1 }),
        fc.integer({ min: 0, max: TOKENS }),
        fc.integer({ min: 1, max: 9 }),
        async (wanted, size, offset, limit) => {
          const newestFirst = known
            .filter((token) => isSelected(token, wanted))
            .sort(byAge)
            .map(({ row }) => row.id);
          const page = { selection: wanted, after: undefined, offset, limit };
          const [count, newest, oldest] = await fixture.batcher.run(fixture.tenantId, undefined, async (tx) => [
            await countKeys(tx, wanted, { size }),
            await listKeys(tx, { ...page, order: "newest_first" }, { size }),
            await listKeys(tx, { ...page, order: "oldest_first" }, { size }),
          ]);
          expect(count).toBe(newestFirst.length);
          expect(newest.map(({ id }) => id)).toEqual(newestFirst.slice(offset, offset + limit));
          expect(oldest.map(({ id }) => id)).toEqual(newestFirst.toReversed().slice(offset, offset + limit));
        },
      ),
      { numRuns: 100 },
    );
  });

  it("are found page after page by lists that run out of time at any step, none twice and none left out", async () => {
    const expected = (wanted: TokenSelection) =>
      known
        .filter((token) => isSelected(token, wanted))
        .sort(byAge)
        .map(({ row }) => row.id);
    await fc.assert(
      fc.asyncProperty(
        selection,
        fc.integer({ min: 2, max: 9 }),
        fc.integer({ min: 1, max: 9 }),
        fc.integer({ min: 0, max: 4 }),
        async (wanted, size, limit, steps) => {
          const found: string[] = [];
          let after: TokenKey | undefined;
          do {
            let readings = 0;
            // The first is the beginning.
            const now = () => (readings++ > steps ? 15_001 : 0);
            const page = { selection: wanted, after, limit };
            const { keys, reached } = await fixture.batcher.run(fixture.tenantId, undefined, (tx) =>
              findNewestKeys(tx, page, { size, now }),
            );
            found.push(...keys.map(({ id }) => id));
            expect(reached?.id ?? "").toBe("");
            after = keys.length === limit ? keys.at(-1) : reached;
          } while (after);
          expect(found).toEqual(expected(wanted));
        },
      ),
      { numRuns: 100 },
    );
  });

  describe("if few of many are selected", () => {
    const wanted: TokenSelection = {
      ...{
        source: { kind: "all" },
        also: [],
        isNarrow: false,
        hasLargeScopes: true,
        without: { kind: "few", ids: [] },
      },
      scopes: [[[{ kind: "id_prefix", text: "none" }]]],
    };
    /** How a count ends, and after how many statements. `onStatement` is called with the number of each. */
    async function counted(reading: KeyReading, onStatement: (number: number) => void) {
      let statements = 0;
      const ended = await fixture.batcher.run(fixture.tenantId, undefined, (tx) => {
        const query: typeof tx.query = (statement, input) => {
          statements += 1;
          onStatement(statements);
          return tx.query(statement, input);
        };
        const counting = countKeys(Object.assign(Object.create(tx), { query }), wanted, { size: 2, ...reading });
        return counting.catch((error: unknown) => (error instanceof Fault ? error.code : error));
      });
      return { ended, statements };
    }

    it("are not read on when the request is over", async () => {
      const waiting = new AbortController();
      const outcome = await counted({ signal: waiting.signal }, (number) => number === 3 && waiting.abort());
      // The step that was begun ends.
      expect(outcome).toEqual({ ended: "unavailable", statements: 4 });
    });

    it("are read for 15 seconds at most", async () => {
      let clock = 0;
      const passing = (ms: number) => counted({ now: () => clock }, (number) => (clock += number === 5 ? ms : 0));
      expect(await passing(15_000)).toEqual({ ended: 0, statements: TOKENS + 2 });
      expect(await passing(15_001)).toEqual({ ended: "unavailable", statements: 6 });
    });
  });
});

function byAge(a: Known, b: Known): number {
  return Number(b.row.created_at) - Number(a.row.created_at) || (a.row.id < b.row.id ? 1 : -1);
}

function isSelected(token: Known, { source: from, also, scopes, without, span }: TokenSelection): boolean {
  const { row } = token;
  if (without.kind === "many" ? row.expires_at && row.expires_at <= without.at : without.ids.includes(row.id))
    return false;
  if (span?.from && row.created_at < span.from) return false;
  if (span?.before && row.created_at >= span.before) return false;
  const meets = (required: Requirement) => isMet(token, required);
  return (
    isInSource(token, from) &&
    also.every((one) => isInSource(token, one)) &&
    scopes.every((alternatives) => alternatives.some((one: ScopeAlternative) => one.every(meets)))
  );
}

function isInSource({ row, terms }: Known, from: KeySource): boolean {
  switch (from.kind) {
    case "all":
      return true;
    case "type":
      return row.type === from.type;
    case "types":
      return from.types.includes(row.type);
    case "fingerprint":
      return row.fingerprint?.equals(from.fingerprint) ?? false;
    case "term":
      return terms.some((n) => bytes(n).equals(from.term));
    case "terms":
      return from.terms.some((one) => terms.some((n) => bytes(n).equals(one)));
    case "ids":
      return from.ids.includes(row.id);
  }
}

function isMet({ row, terms }: Known, required: Requirement): boolean {
  switch (required.kind) {
    case "below":
      return terms.some((n) => bytes(n).equals(required.term));
    case "container":
      return row.containers.includes(required.text);
    case "container_prefix":
      return row.containers.some((container) => container.startsWith(required.text));
    case "id":
      return row.id === required.text;
    case "id_prefix":
      return row.id.startsWith(required.text);
  }
}
