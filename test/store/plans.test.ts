import { createHash } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { findLogRows } from "../../src/audit/follow/find-log-rows.js";
import { systemClock } from "../../src/base/clock.js";
import { newTenantId, newUuid } from "../../src/base/ids.js";
import { findSession, findSessionByNonce } from "../../src/store/access/sessions.js";
import { listLogRows } from "../../src/store/audit/log-listing.js";
import { type Database, openDatabase } from "../../src/store/database.js";
import { findIdempotencyKey } from "../../src/store/jobs/idempotency-keys.js";
import { countTokenKeys, listTokenKeys } from "../../src/store/tokens/token-keys.js";
import { findToken } from "../../src/store/tokens/token-reads.js";
import {
  type KeySource,
  NONE_EXPIRED,
  type ScopeAlternative,
  type TokenKey,
  type TokenSelection,
} from "../../src/store/tokens/token-selection.js";
import { markTokenActive } from "../../src/store/tokens/tokens.js";
import type { Transaction } from "../../src/store/transactions/transaction.js";
import type { Conjunction, Literal } from "../../src/tokens/search/conjunctions.js";
import { findMatches } from "../../src/tokens/search/find-matches.js";
import { startDatabase, type TestDatabase } from "../support/databases.js";

/**
 * Tokens of the tenant; all have the first term and the same fingerprint, every third has the second term, ten the
 * last.
 */
const TOKENS = 60_000;
const [COMMON, OTHER, RARE] = [Buffer.from([1]), Buffer.from([2]), Buffer.from([3])];
const PAGE = 20;
/** Rows of the log, one per second, all in the past. Three older ones are refusals of an actor of their own. */
const ROWS = 60_000;
const RARE_ACTOR = newUuid();

/** As in the first minute of a database, or after a restore. */
describe("without statistics", () => {
  const tenantId = newTenantId();
  let database: TestDatabase;
  /** These have planned look-ups while the database was empty, and while it contained tokens only. */
  let [plannedEmpty, plannedEarly]: Database[] = [];
  beforeAll(async () => {
    database = await startDatabase();
    // Autovacuum would collect statistics, and the index pages that it reads would count.
    const tables = await database.owner<{ name: string }[]>`
      select oid::regclass::text as name from pg_class
      where relkind = 'r' and relnamespace = current_schema()::regnamespace`;
    for (const { name } of tables) await database.owner.unsafe(`alter table ${name} set (autovacuum_enabled = false)`);
    plannedEmpty = await planning();
    const term = (bytes: Buffer, step: number) => `
      insert into token_terms (tenant_id, term, created_at, token_id)
      select tenant_id, '\\x${bytes.toString("hex")}', created_at, id from tokens where revision % ${step} = 0`;
    await database.asTenant(
      tenantId,
      `insert into tokens (tenant_id, id, type, data, containers, fingerprint, revision, active_month, created_by, created_at)
         select '${tenantId}', 'token-' || n, 'token', '\\x01', '{/a/}', '\\x${COMMON.toString("hex")}', n, '2026-01-01', '${newUuid()}',
           now() - n * interval '1 ms' from generate_series(1, ${TOKENS}) n;
       ${term(COMMON, 1)}; ${term(OTHER, 3)}; ${term(RARE, TOKENS / 10)};
       insert into audit_logs (tenant_id, created_at, id, entity_type, entity_id, operation, message, outcome)
         select '${tenantId}', now() - n * interval '1 s', gen_random_uuid(), 'token', 'token-' || n, 'read', '', 'allowed'
         from generate_series(1, ${ROWS}) n;
       insert into audit_logs (
         tenant_id, created_at, id, entity_type, entity_id, operation, message, actor_id, outcome, destination_host
       )
         select '${tenantId}', now() - (${ROWS} + n) * interval '1 s', gen_random_uuid(), 'proxy', 'rare-' || n, 'invoke', '',
           '${RARE_ACTOR}', 'denied', 'rare.example'
         from generate_series(1, 3) n`,
    );
    // The index of entities holds a hash. Only statistics, which a server has within a minute, tell that it is selective.
    await database.owner.unsafe("analyze audit_logs");
    plannedEarly = await planning();
    const later = "now() + n * interval '1 ms'";
    const hash = "sha256(n::text::bytea)";
    await database.asTenant(
      tenantId,
      `insert into token_cvc (tenant_id, token_id, code, due_at)
         select '${tenantId}', 'token-' || n, '\\x01', ${later} + interval '1 hour' from generate_series(1, ${TOKENS}) n;
       insert into idempotency_keys (tenant_id, key_hash, request_hash, maker, accepted, response, expires_at)
         select '${tenantId}', ${hash}, '\\x01', '\\x01', false, '\\x01', ${later} + interval '1 day' from generate_series(1, ${TOKENS}) n;
       insert into sessions (tenant_id, id, key_hash, nonce_hash, application_id, rights, expires_at, created_at)
         select '${tenantId}', gen_random_uuid(), ${hash}, ${hash}, gen_random_uuid(), '\\x01', ${later} + interval '1 hour', now()
         from generate_series(1, ${TOKENS}) n;
       select pg_stat_force_next_flush()`,
    );
  });
  afterAll(() => database?.[Symbol.asyncDispose]());

  const lookUps = (tx: Transaction, n: number) => {
    const hash = createHash("sha256").update(String(n)).digest();
    return [tx.query(findIdempotencyKey, hash), tx.query(findSession, hash), tx.query(findSessionByNonce, hash)];
  };
  const planning = async () => {
    const opened = open();
    await opened.of(tenantId).shared((tx) => Promise.all([...lookUps(tx, 0), findToken(tx, "token-1")]));
    return opened;
  };
  const open = () =>
    openDatabase({ address: database.address, sharedConnections: 1, bulkConnections: 1, clock: systemClock });

  /** The number of index pages read during work, as the database counts them. */
  async function pagesRead(work: (opened: Database) => Promise<unknown>, planned?: Database): Promise<number> {
    const read = async () => {
      const [row] = await database.owner<{ n: number }[]>`
        select sum(idx_blks_hit + idx_blks_read)::int as n from pg_statio_user_indexes`;
      return row?.n ?? Number.NaN;
    };
    const backends = () =>
      database.owner<{ pid: number }[]>`select pid from pg_stat_activity where backend_type = 'client backend'`;
    const known = (await backends()).length;
    const before = await read();
    const opened = planned ?? open();
    await work(opened);
    await opened[Symbol.asyncDispose]();
    // A connection reports its counters when it ends, at the latest.
    await expect.poll(async () => (await backends()).length).toBeLessThanOrEqual(planned ? known - 1 : known);
    return (await read()) - before;
  }

  const selection = (source: KeySource, more: Partial<TokenSelection>): TokenSelection => ({
    ...{ source, also: [], isNarrow: false, scopes: [], hasLargeScopes: true, without: NONE_EXPIRED, ...more },
  });
  const firstPage = (wanted: TokenSelection) => (opened: Database) =>
    opened
      .of(tenantId)
      .bulk((tx) =>
        tx.query(listTokenKeys, { selection: wanted, order: "newest_first", after: undefined, offset: 0, limit: PAGE }),
      );

  it("tokens are looked up one by one, to be read and to be marked as active", async () => {
    const ids = Array.from({ length: PAGE }, (_, n) => `token-${n + 1}`);
    const read = await pagesRead((opened) =>
      opened.of(tenantId).shared(async (tx) => {
        const rows = await Promise.all(ids.map((id) => findToken(tx, id)));
        const marked = await Promise.all(ids.map((id) => markTokenActive(tx, id, "2026-02-01")));
        expect([rows.every((row) => row !== undefined), marked.every(Boolean)]).toEqual([true, true]);
      }),
    );
    // Changing a row writes to all indexes. Scanning the tenant for its ids takes 700 pages more.
    expect(read).toBeLessThan(25 * PAGE);
  });

  const numbers = Array.from({ length: PAGE }, (_, n) => (n + 1) * 1_000);
  const lookUpAll = (opened: Database) =>
    opened.of(tenantId).shared(async (tx) => {
      const [rows, found] = await Promise.all([
        Promise.all(numbers.map((n) => findToken(tx, `token-${n}`))),
        Promise.all(numbers.flatMap((n) => lookUps(tx, n))),
      ]);
      expect(rows.map((row) => row?.cvc?.length)).toEqual(numbers.map(() => 1));
      // The keys match no session: no application owns them.
      expect(found.filter((row) => row !== null)).toHaveLength(2 * PAGE);
    });

  it("rows with a time are looked up by key, however few there were at first", async () => {
    // Scanning any of these tables takes some 300 pages for each row that is looked up.
    expect(await pagesRead(lookUpAll, plannedEarly)).toBeLessThan(30 * PAGE);
  });

  it("statements planned on empty tables are planned again after a while", async () => {
    const read = await pagesRead(async (opened) => {
      for (let round = 0; round < 10; round += 1) await opened.of(tenantId).shared((tx) => Promise.all(lookUps(tx, 0)));
      await lookUpAll(opened);
    }, plannedEmpty);
    expect(read).toBeLessThan(30 * PAGE);
  });

  it("a list by two terms scans each term once, in parallel", async () => {
    const both = selection({ kind: "term", term: OTHER }, { also: [{ kind: "term", term: COMMON }] });
    expect(await pagesRead(firstPage(both))).toBeLessThan(PAGE);
    const counted = await pagesRead(async (opened) => {
      const count = opened
        .of(tenantId)
        .bulk((tx) => tx.query(countTokenKeys, { selection: both, most: Number.MAX_SAFE_INTEGER }));
      expect(await count).toBe(TOKENS / 3);
    });
    // 80,000 entries, some 80 per page.
    expect(counted).toBeLessThan(1_500);
  });

  it("a rare term is scanned first, and the others are looked up", async () => {
    const few = selection({ kind: "term", term: RARE }, { also: [{ kind: "type", type: "token" }], isNarrow: true });
    const read = await pagesRead(async (opened) => expect(await firstPage(few)(opened)).toHaveLength(10));
    expect(read).toBeLessThan(10 * PAGE);
    const union = selection(
      { kind: "terms", terms: [RARE, RARE] },
      { also: [{ kind: "term", term: OTHER }], isNarrow: true },
    );
    const both = await pagesRead(async (opened) => expect(await firstPage(union)(opened)).toHaveLength(10));
    expect(both).toBeLessThan(10 * PAGE);
  });

  it("a page limited by rules on several containers reads no container completely", async () => {
    const below = (term: Buffer): ScopeAlternative => [{ kind: "below", term }];
    const shown = selection({ kind: "term", term: COMMON }, { scopes: [[below(OTHER), below(RARE)]] });
    expect(await pagesRead(firstPage(shown))).toBeLessThan(20 * PAGE);
    const placed = selection(
      { kind: "all" },
      { scopes: [[[{ kind: "container_prefix", text: "/a" }], [{ kind: "id", text: "token-1" }]]] },
    );
    expect(await pagesRead(firstPage(placed))).toBeLessThan(10 * PAGE);
  });

  it("a part of a walk reads no more than that part of each container, type and term beside it", async () => {
    const bulk =
      <T>(work: (tx: Transaction) => Promise<T>) =>
      (opened: Database) =>
        opened.of(tenantId).bulk(work);
    const walk = { selection: selection({ kind: "term", term: COMMON }, {}), order: "newest_first" } as const;
    const ends: TokenKey[] = [];
    await pagesRead(
      bulk(async (tx) => {
        for (const offset of [29_999, 30_999])
          ends.push(...(await tx.query(listTokenKeys, { ...walk, after: undefined, offset, limit: 1 })));
      }),
    );
    const [after, through] = ends;
    const below = (term: Buffer): ScopeAlternative => [{ kind: "below", term }];
    const compared: Partial<TokenSelection>[] = [
      { scopes: [[below(OTHER), below(RARE)]] },
      { also: [{ kind: "term", term: OTHER }] },
      {
        also: [
          { kind: "term", term: OTHER },
          { kind: "type", type: "token" },
        ],
        scopes: [[below(OTHER), below(RARE)]],
      },
    ];
    for (const more of compared) {
      const wanted = selection({ kind: "term", term: COMMON }, more);
      const read = await pagesRead(
        bulk(async (tx) => {
          expect(await tx.query(countTokenKeys, { selection: wanted, after, through, most: TOKENS })).toBe(333);
        }),
      );
      // Of 60,000 keys, some 80 in a page.
      expect(read).toBeLessThan(150);
    }
  });

  it("a page of one fingerprint is read in order, however many tokens have it", async () => {
    const source: KeySource = { kind: "fingerprint", fingerprint: COMMON };
    expect(await pagesRead(firstPage(selection(source, {})))).toBeLessThan(PAGE);
    const also: TokenSelection["also"] = [{ kind: "term", term: COMMON }];
    expect(await pagesRead(firstPage(selection(source, { also })))).toBeLessThan(PAGE);
  });

  it("a page of several types is merged from their indexes, and reads none of them completely", async () => {
    const source: KeySource = { kind: "types", types: ["bank", "token"] };
    const read = await pagesRead(async (opened) => {
      const keys = await firstPage(selection(source, {}))(opened);
      expect(keys.map(({ id }) => id)).toEqual(Array.from({ length: PAGE }, (_, n) => `token-${n + 1}`));
    });
    expect(read).toBeLessThan(PAGE);
    const limited: Partial<TokenSelection>[] = [
      { also: [{ kind: "term", term: COMMON }] },
      { scopes: [[[{ kind: "below", term: COMMON }], [{ kind: "below", term: OTHER }]]] },
    ];
    for (const more of limited) {
      expect(await pagesRead(firstPage(selection(source, more)))).toBeLessThan(20 * PAGE);
    }
    const few = selection({ kind: "term", term: RARE }, { also: [source], isNarrow: true });
    const looked = await pagesRead(async (opened) => expect(await firstPage(few)(opened)).toHaveLength(10));
    expect(looked).toBeLessThan(10 * PAGE);
  });

  it("a page from a point in time starts there, without a scan to that point", async () => {
    const place = { selection: selection({ kind: "all" }, {}), order: "newest_first", after: undefined } as const;
    let before: Date | undefined;
    // Its reads are counted before those of the pages.
    await pagesRead(async (opened) => {
      const [middle] = await opened
        .of(tenantId)
        .bulk((tx) => tx.query(listTokenKeys, { ...place, offset: 49_999, limit: 1 }));
      before = middle?.created_at;
    });
    expect(before).toBeDefined();
    const span = { from: undefined, before };
    for (const source of [{ kind: "all" }, { kind: "type", type: "token" }, { kind: "term", term: COMMON }] as const) {
      const read = await pagesRead(async (opened) => {
        const [first] = await firstPage(selection(source, { span }))(opened);
        expect(first?.id).toBe("token-50001");
      });
      expect(read, source.kind).toBeLessThan(PAGE);
    }
  });

  const term = (value: Buffer, isNegated = false): [number, Literal] => [
    value[0] ?? 0,
    { test: { kind: "term", term: value }, isNegated },
  ];
  const search = (opened: Database, conjunctions: readonly Conjunction[]) =>
    opened.of(tenantId).bulk((tx) => findMatches(tx, conjunctions, [], { page: 1, size: PAGE }));

  it("a search reads what the narrowest of its terms leads to, and nothing else", async () => {
    const conjunctions = [new Map([term(COMMON), term(RARE), term(OTHER)]), new Map([term(COMMON, true), term(RARE)])];
    const read = await pagesRead(async (opened) => {
      const { total, keys } = await search(opened, conjunctions);
      expect([total, keys.length]).toEqual([10, 10]);
    });
    // Each source is counted, the common ones up to 25,000 entries at 80 per page.
    expect(read).toBeLessThan(1_200);
    const alone = await pagesRead((opened) => search(opened, [new Map([term(RARE), term(OTHER, true)])]));
    expect(alone).toBeLessThan(20 * PAGE);
  });

  it("a search that would read too many tokens is rejected after counting only", async () => {
    const read = await pagesRead(async (opened) => {
      const refused = search(opened, [new Map([term(COMMON), term(RARE, true)])]);
      await expect(refused).rejects.toMatchObject({
        fields: { query: [expect.stringContaining("more than 33333 tokens")] },
      });
    });
    expect(read).toBeLessThan(1_500);
  });

  it("tokens that a rule names are looked up by id, without a scan", async () => {
    const ids = ["token-9", "token-3", "missing"];
    const named = selection(
      { kind: "ids", ids },
      {
        also: [{ kind: "term", term: OTHER }],
        isNarrow: true,
        scopes: [ids.map((text): ScopeAlternative => [{ kind: "id", text }])],
      },
    );
    const read = await pagesRead(async (opened) => {
      expect((await firstPage(named)(opened)).map(({ id }) => id)).toEqual(["token-3", "token-9"]);
    });
    expect(read).toBeLessThan(2 * PAGE);
  });

  it("a page of the log about several entity types reads no type completely", async () => {
    const listing = { entityTypes: ["card", "token", "bank"], entityId: undefined, from: undefined, until: undefined };
    const read = await pagesRead(async (opened) => {
      const rows = opened
        .of(tenantId)
        .bulk((tx) => findLogRows(tx, { ...listing, after: undefined, offset: PAGE, limit: PAGE }));
      expect((await rows).rows.map(({ entity_id }) => entity_id)).toEqual(
        Array.from({ length: PAGE }, (_, n) => `token-${PAGE + n + 1}`),
      );
    });
    // The index has 600 pages. It compares the newest thousand rows first, and looks into each month.
    expect(read).toBeLessThan(8 * PAGE);
  });

  it.each([
    ["an actor", { actorId: RARE_ACTOR }],
    ["a destination", { destinationHost: "rare.example" }],
    ["refusals", { outcome: "denied" }],
    ["an entity", { entityId: "rare-1" }],
  ])("a page of the log about %s reads only the index of that filter", async (_name, filter) => {
    const read = await pagesRead(async (opened) => {
      const rows = await opened
        .of(tenantId)
        .bulk((tx) =>
          tx.query(listLogRows, { ...filter, entityTypes: undefined, after: undefined, offset: 0, limit: PAGE }),
        );
      expect(rows.map(({ entity_id }) => entity_id)).toContain("rare-1");
      expect(rows.length).toBeLessThanOrEqual(3);
    });
    // The primary key alone has 400 pages. It looks into each month.
    expect(read).toBeLessThan(4 * PAGE);
  });
});
