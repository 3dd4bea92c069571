import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { systemClock } from "../../../src/base/clock.js";
import { isTenantId, type TenantId } from "../../../src/base/ids.js";
import { readConfig } from "../../../src/settings/config.js";
import { connect, type Sql } from "../../../src/store/postgres/connect.js";
import { openVault, type Vault } from "../../../src/vault/vault.js";
import { asTenant } from "../../support/databases.js";
import { type RestClient, restClient } from "../../support/rest.js";
import { newTenant, type TestTenant } from "../../support/tenant.js";

interface Made {
  readonly id: string;
  readonly type: string;
  readonly containers: readonly string[];
  readonly metadata: Readonly<Record<string, string>>;
  readonly created_at: string;
}

interface Filter {
  readonly query: string;
  fits(token: Made): boolean;
}

interface Caller {
  readonly name: string;
  readonly list: RestClient;
  sees(token: Made): boolean;
}

/** More than are excluded individually (100), and some that stay. */
const TOKENS = 260;

const within = (path: string) => (token: Made) => token.containers.some((container) => container.startsWith(path));
const has = (key: string, value: string) => (token: Made) => token.metadata[key] === value;

/** Ids of the same age, whose order differs between UTF-16 and UTF-8. */
const NAMES = ["\u{1F40B}", "\uFF5E", "a", "B", "~", "\u00e9"];

const FILTERS: readonly Filter[] = [
  { query: "", fits: () => true },
  { query: "metadata.half=0", fits: has("half", "0") },
  { query: "metadata.half=1&metadata.third=2", fits: (token) => has("half", "1")(token) && has("third", "2")(token) },
  { query: "metadata.half=none", fits: () => false },
  { query: "metadata.rare=yes&metadata.half=0", fits: (token) => has("rare", "yes")(token) && has("half", "0")(token) },
];
const BY_CURSOR: readonly Filter[] = [
  { query: "type=card", fits: ({ type }) => type === "card" },
  { query: "type=token&container=/a/", fits: (token) => token.type === "token" && within("/a/")(token) },
  { query: "container=/a/x/", fits: within("/a/x/") },
  { query: "", fits: () => true },
  { query: "metadata.half=0", fits: has("half", "0") },
];

/** Lists, and their expected contents: everything that was created, filtered and sorted here. */
describe("pages of tokens", () => {
  let tenant: TestTenant;
  let tenantId: TenantId;
  let backEnd: RestClient;
  let vault: Vault;
  let sql: Sql;
  let callers: readonly Caller[];
  let made: Made[] = [];

  beforeAll(async () => {
    tenant = await newTenant();
    if (!isTenantId(tenant.id)) throw new Error("this is no tenant");
    tenantId = tenant.id;
    backEnd = await tenant.backEnd();
    vault = await openVault({
      config: readConfig(inject("serverEnvironment")),
      ...{ as: "command", announce: () => {}, clock: systemClock },
    });
    sql = connect(vault.ownerAddress, { connections: 1, statementTimeout: 20_000 });
    // Concurrently, so many share a transaction and its time.
    made = await Promise.all(Array.from({ length: TOKENS }, (_, number) => make(number)));
    const named = made.filter((_, number) => number % 31 === 0).map(({ id }) => id);
    callers = await Promise.all([
      caller("everything", () => true, "/"),
      caller("one container", within("/a/"), "/a/"),
      caller("several containers", (token) => within("/a/x/")(token) || within("/b/")(token), "/a/x/", "/b/"),
      caller("containers within each other", within("/a/"), "/a/x/", "/a/"),
      caller("an empty container", () => false, "/nothing/"),
      session(
        "named tokens, one of which there is not",
        ({ id }) => named.includes(id),
        ...[...named, "not there"].map((value) => [{ attribute: "id", operator: "equals", value }]),
      ),
      session(
        "tokens by how their names and containers begin",
        (token) => token.id.startsWith("a-") || token.containers.some((path) => path.startsWith("/a/x")),
        [{ attribute: "id", operator: "starts_with", value: "a-" }],
        [{ attribute: "container", operator: "starts_with", value: "/a/x" }],
      ),
    ]);
  });
  afterAll(async () => {
    await asTenant(sql, tenantId, "update tokens set expires_at = null");
    await sql?.end({ timeout: 5 });
    await vault?.[Symbol.asyncDispose]();
  });

  async function make(number: number): Promise<Made> {
    const isCard = number % 5 === 0;
    const containers = [["/a/x/"], ["/a/y/"], ["/b/"], ["/a/x/", "/b/"], ["/c/"], ["/a/x/", "/a/y/"]][number % 6];
    const rare = number % 40 === 0 ? { rare: "yes" } : {};
    const metadata = { half: String(number % 2), third: String(number % 3), ...rare };
    const name = `${NAMES[(number >> 2) % NAMES.length]}-${number}`;
    const data = isCard ? { number: "4242424242424242", expiration_month: 1, expiration_year: 2040, cvc: "123" } : "x";
    const body = { type: isCard ? "card" : "token", data, containers, metadata, ...(number % 4 ? {} : { id: name }) };
    const response = await backEnd("POST", "/tokens", { body });
    expect(response.status).toBe(201);
    return response.body;
  }

  async function caller(name: string, sees: Caller["sees"], ...containers: readonly string[]): Promise<Caller> {
    const rules = containers.map((container, index) => ({
      ...{ priority: index + 1, container, transform: "mask", permissions: ["token:read"] },
    }));
    return { name, sees, list: await tenant.application({ type: "private", rules }) };
  }

  async function session(name: string, sees: Caller["sees"], ...conditions: readonly object[][]): Promise<Caller> {
    const page = await tenant.application({ type: "public", permissions: ["token:create"] });
    const { session_key, nonce } = (await page("POST", "/sessions")).body;
    const rules = conditions.map((each, index) => ({
      ...{ priority: index + 1, conditions: each, transform: "mask", permissions: ["token:read"] },
    }));
    expect((await backEnd("POST", "/sessions/authorize", { body: { nonce, rules } })).status).toBe(200);
    return { name, sees, list: restClient(tenant.url, session_key) };
  }

  /** Newest first, and by the bytes of their ids if they have the same time. */
  const expected = (seen: Caller, filter: Filter): string[] =>
    made
      .filter((token) => seen.sees(token) && filter.fits(token))
      .sort((a, b) => b.created_at.localeCompare(a.created_at) || Buffer.compare(Buffer.from(b.id), Buffer.from(a.id)))
      .map(({ id }) => id);

  async function isAsExpected(seen: Caller, filter: Filter, page: number, size: number): Promise<void> {
    const { status, body } = await seen.list("GET", `/tokens?page=${page}&size=${size}&${filter.query}`);
    const all = expected(seen, filter);
    const asked = `${seen.name}, ${filter.query}, page ${page} of ${size}`;
    expect({ asked, status, total: body.pagination.total_items, ids: body.data.map(({ id }: Made) => id) }).toEqual({
      ...{ asked, status: 200, total: all.length, ids: all.slice((page - 1) * size, page * size) },
    });
  }

  /**
   * One page after another, in jumps, from the end, and beyond it.
   * @param sizes of the jumps. A page begins where the one before of the same size ended when it was shown last.
   * @param half which half of the pairs of caller and filter: each caller and each filter is in both. Default: all.
   */
  async function areAsExpected(sizes: readonly number[], half?: number): Promise<void> {
    const isIn = (caller: number, filter: number) => half === undefined || (caller + filter) % 2 === half;
    for (const [index, seen] of callers.entries()) {
      for (const filter of FILTERS.filter((_, at) => isIn(index, at))) {
        const size = 1 + (expected(seen, filter).length >> 2);
        for (let page = 1; page <= 6; page += 1) await isAsExpected(seen, filter, page, size);
      }
    }
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...callers),
        fc.constantFrom(...FILTERS),
        fc.oneof(fc.nat(300), fc.constantFrom(10_000, 1_000_000)),
        fc.constantFrom(...sizes),
        (seen, filter, page, size) => isAsExpected(seen, filter, page + 1, size),
      ),
      { numRuns: half === undefined ? 100 : 50 },
    );
    for (const [index, seen] of callers.entries()) {
      for (const filter of BY_CURSOR.filter((_, at) => isIn(index, at)))
        expect(await walked(seen, filter)).toEqual(expected(seen, filter));
    }
  }

  async function walked(seen: Caller, filter: Filter): Promise<string[]> {
    const ids: string[] = [];
    for (let next: string | undefined = ""; next !== undefined; ) {
      const { status, body } = await seen.list("GET", `/v2/tokens?size=40&start=${next}&${filter.query}`);
      // A caller who sees nothing there may not name the container either.
      if (status === 403 && filter.query.includes("container")) return ids;
      expect(status).toBe(200);
      ids.push(...body.data.map(({ id }: Made) => id));
      next = body.pagination.next;
    }
    return ids;
  }

  it("have the right contents for every caller and every way of paging", async () => {
    expect(new Set(made.map(({ created_at }) => created_at)).size).toBeLessThan(TOKENS);
    await areAsExpected([1, 7, 20, 100]);
  });

  it("have the same order if the tokens are requested by id", async () => {
    const [seen] = callers;
    if (!seen) throw new Error("no page was requested");
    const short = made.filter(({ id }) => id.length < 10);
    const wanted = new Set(short.map(({ id }) => id));
    const query = short.map(({ id }) => `id=${encodeURIComponent(id)}`).join("&");
    await isAsExpected(seen, { query, fits: ({ id }) => wanted.has(id) }, 1, 100);
    await isAsExpected(seen, { query, fits: ({ id }) => wanted.has(id) }, 3, 7);
  });

  it.each([
    [3, [2, 8, 21, 99], 0],
    [130, [3, 9, 22, 98], 1],
  ])("omit %s tokens that have expired and that no sweep has removed", async (count, sizes, half) => {
    const gone = made.splice(40, count);
    const ids = gone.map(({ id }) => `'${id}'`).join(", ");
    await asTenant(sql, tenantId, `update tokens set expires_at = now() - interval '1 s' where id in (${ids})`);
    await areAsExpected(sizes, half);
  });

  it("have the right contents when tokens are removed and added between them", async () => {
    for (let number = 0; number < 10; number += 1) {
      const [gone] = made.splice((number * 7) % made.length, 1);
      expect((await backEnd("DELETE", `/tokens/${encodeURIComponent(gone?.id ?? "")}`)).status).toBe(204);
      made.push(await make(TOKENS + number));
      for (const seen of callers) await isAsExpected(seen, { query: "", fits: () => true }, 1, 9);
    }
  });
});
