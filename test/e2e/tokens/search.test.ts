import fc from "fast-check";
import { beforeAll, describe, expect, it } from "vitest";
import type { RestClient, RestResponse } from "../../support/rest.js";
import { newTenant, type TestTenant } from "../../support/tenant.js";

interface Known {
  readonly id: string;
  readonly type: string;
  readonly containers: readonly string[];
  readonly metadata: Readonly<Record<string, string>>;
  readonly index: string | undefined;
  readonly fingerprint: string | undefined;
  readonly createdBy: string;
  readonly createdAt: string;
  modifiedBy: string | undefined;
  modifiedAt: string | undefined;
}

const idsOf = ({ body }: RestResponse): string[] => body.data.map(({ id }: { id: string }) => id);

let tenant: TestTenant;
let backEnd: RestClient & { readonly id: string };
let other: RestClient & { readonly id: string };
/** In the order in which they were created. */
const tokens: Known[] = [];

beforeAll(async () => {
  tenant = await newTenant();
  backEnd = await tenant.backEnd();
  other = await tenant.backEnd();
  const containers = [["/a/"], ["/a/b/"], ["/a/b/c/"], ["/pci/high/"], ["/a/b/", "/x/"], ["/"]];
  for (let n = 0; n < 24; n += 1) {
    const maker = n % 3 === 0 ? other : backEnd;
    const type = n % 4 === 0 ? "card" : "token";
    const body = {
      ...{
        type,
        containers: containers[n % containers.length],
        metadata: { n: String(n), Group: n % 2 ? "Odd" : "Even" },
      },
      data: type === "card" ? { number: "4242424242424242" } : `word ${n % 5}`,
      ...(type === "card" ? { fingerprint_expression: "{{ data.number }}" } : { search_indexes: ["{{ data }}"] }),
    };
    const { status, body: made } = await maker("POST", "/tokens", { body });
    expect(status).toBe(201);
    tokens.push({
      ...{ id: made.id, type, containers: made.containers, metadata: body.metadata, createdBy: maker.id },
      index: type === "token" ? `word ${n % 5}` : undefined,
      ...{ fingerprint: made.fingerprint, createdAt: made.created_at, modifiedBy: undefined, modifiedAt: undefined },
    });
  }
  for (const token of tokens.filter((_, n) => n % 5 === 0)) {
    const headers = { "Content-Type": "application/merge-patch+json" };
    const { body } = await other("PATCH", `/tokens/${token.id}`, { body: { metadata: { touched: "yes" } }, headers });
    token.modifiedBy = other.id;
    token.modifiedAt = body.modified_at;
  }
});

const search = (query: string | null, more: object = {}, client: RestClient = backEnd) =>
  client("POST", "/tokens/search", { body: { query, size: 100, ...more } });
const numbersOf = async (query: string, client?: RestClient) => {
  const response = await search(query, {}, client);
  expect(response.status, JSON.stringify(response.body)).toBe(200);
  expect(response.body.pagination.total_items).toBe(response.body.data.length);
  const ids = idsOf(response);
  expect(ids.toSorted((a, b) => tokens.findIndex((t) => t.id === b) - tokens.findIndex((t) => t.id === a))).toEqual(
    ids,
  );
  return ids.map((id) => tokens.findIndex((token) => token.id === id)).toReversed();
};
const numbers = (fits: (token: Known, n: number) => boolean) =>
  tokens.flatMap((token, n) => (fits(token, n) ? [n] : []));

describe("a search", () => {
  it.each<[string, () => string, (token: Known, n: number) => boolean]>([
    ["type", () => "type:card", ({ type }) => type === "card"],
    ["fingerprint", () => `fingerprint:${tokens[0]?.fingerprint}`, ({ type }) => type === "card"],
    ["data", () => 'data:"word 3"', ({ index }) => index === "word 3"],
    ["data and type", () => 'data:"word 3" AND type:token', ({ index }) => index === "word 3"],
    ["metadata, whatever its case", () => "metadata.Group:ODD", (_, n) => n % 2 === 1],
    ["an exact container", () => "container:/a/b/", ({ containers }) => containers.includes("/a/b/")],
    ["an exact container of another case", () => 'container:"/A/b/"', ({ containers }) => containers.includes("/a/b/")],
    ["the root alone", () => "container:/", ({ containers }) => containers.includes("/")],
    [
      "a container and below",
      () => 'container:"/a/b/*"',
      ({ containers }) => containers.some((c) => c.startsWith("/a/b/")),
    ],
    ["all containers", () => "container:/*", () => true],
    ["no container", () => "NOT container:/*", () => false],
    ["who created", () => `created_by:${other.id}`, ({ createdBy }) => createdBy === other.id],
    [
      "the creator, in upper case",
      () => `created_by:${other.id.toUpperCase()}`,
      ({ createdBy }) => createdBy === other.id,
    ],
    ["who modified", () => `modified_by:${other.id}`, ({ modifiedBy }) => modifiedBy !== undefined],
    ["never modified", () => `-modified_by:${other.id}`, ({ modifiedBy }) => modifiedBy === undefined],
    ["modified tokens", () => "modified_at:[2000-01-01 TO *]", ({ modifiedAt }) => modifiedAt !== undefined],
    ["unmodified tokens", () => "!modified_at:[2000-01-01 TO *]", ({ modifiedAt }) => modifiedAt === undefined],
    ["OR", () => 'type:card OR data:"word 1"', ({ type, index }) => type === "card" || index === "word 1"],
    ["two types at once", () => "type:card AND type:token", () => false],
    ["either of two types", () => "type:card OR type:token", () => true],
    ["what contradicts itself", () => "type:card AND NOT type:card", () => false],
    ["the same twice", () => "metadata.n:3 AND metadata.n:3", (_, n) => n === 3],
    ["NOT alone", () => "NOT type:card", ({ type }) => type !== "card"],
    ["ids", () => `id:${tokens[2]?.id} OR id:"${tokens[5]?.id}" OR id:missing`, (_, n) => n === 2 || n === 5],
    ["an id and its type", () => `id:${tokens[4]?.id} AND type:card`, (_, n) => n === 4],
    ["an id of another type", () => `id:${tokens[4]?.id} AND type:token`, () => false],
    [
      "the documented example",
      () => '(type:token AND !metadata.Group:odd) OR data:"word 1"',
      ({ type, index }, n) => (type === "token" && n % 2 === 0) || index === "word 1",
    ],
    ["an asterisk in quotes, which is a character", () => 'data:"word *"', () => false],
  ])("finds by %s", async (_, query, fits) => {
    expect(await numbersOf(query())).toEqual(numbers(fits));
  });

  it.each<[string, (at: string) => string, (created: string, at: string) => boolean]>([
    ["from a moment on", (at) => `created_at:[${at} TO *]`, (created, at) => created >= at],
    ["after a time", (at) => `created_at:{${at} TO *}`, (created, at) => created > at],
    ["up to a moment", (at) => `created_at:[* TO ${at}]`, (created, at) => created <= at],
    ["before a moment", (at) => `created_at:{* TO ${at}}`, (created, at) => created < at],
    ["at a moment", (at) => `created_at:${at}`, (created, at) => created === at],
    ["but at a moment", (at) => `NOT created_at:"${at}"`, (created, at) => created !== at],
    ["on a day", (at) => `created_at:${at.slice(0, 10)}`, (created, at) => created.slice(0, 10) === at.slice(0, 10)],
    ["in a time and of a type", (at) => `type:token AND created_at:[* TO ${at}]`, () => false],
  ])("finds tokens created %s", async (_, query, fits) => {
    const at = tokens[11]?.createdAt ?? "";
    const isOfType = query(at).startsWith("type:token");
    const wanted = numbers(({ createdAt, type }) =>
      isOfType ? type === "token" && createdAt <= at : fits(createdAt, at),
    );
    expect(await numbersOf(query(at))).toEqual(wanted);
  });

  it("has pages by number, with the total of all", async () => {
    const query = "type:card OR metadata.Group:odd";
    const all = numbers(({ type }, n) => type === "card" || n % 2 === 1).toReversed();
    const pages = await Promise.all([1, 2, 3, 4].map((page) => search(query, { page, size: 7 })));
    const found = pages.flatMap(idsOf).map((id) => tokens.findIndex((token) => token.id === id));
    expect(found).toEqual(all);
    for (const [index, { body }] of pages.entries()) {
      expect(body.pagination).toEqual({ total_items: 18, page_number: index + 1, page_size: 7, total_pages: 3 });
    }
    const spans = await Promise.all([1, 2].map((page) => search("created_at:[2000-01-01 TO *]", { page, size: 20 })));
    expect(spans.flatMap(idsOf)).toEqual(tokens.map(({ id }) => id).toReversed());
    expect(spans[1]?.body.pagination.total_items).toBe(24);
  });

  it("shows each caller what its rules allow, also if NOT or OR would match more", async () => {
    const rules = [{ priority: 1, container: "/a/b/", transform: "mask", permissions: ["token:search"] }];
    const guest = await tenant.application({ type: "private", rules });
    const isSeen = ({ containers }: Known) => containers.some((container) => container.startsWith("/a/b/"));
    for (const query of ["NOT type:nothing", "type:card OR type:token", "metadata.n:3 OR NOT metadata.n:3"]) {
      const asked = query.replace("type:nothing", 'data:"nothing"');
      expect(await numbersOf(asked, guest), asked).toEqual(numbers(isSeen));
    }
    expect(await numbersOf("container:/a/", guest)).toEqual([]);
    expect(await numbersOf("container:/x/", guest)).toEqual(numbers(({ containers }) => containers.includes("/x/")));
  });

  it("skips tokens that are deleted", async () => {
    const body = { type: "token", data: 1, metadata: { gone: "soon" } };
    const { body: made } = await backEnd("POST", "/tokens", { body });
    const { body: late } = await backEnd("POST", "/tokens", { body });
    const query = "metadata.gone:soon AND NOT type:card";
    expect(idsOf(await search(query))).toEqual([late.id, made.id]);
    await backEnd("DELETE", `/tokens/${made.id}`);
    expect(idsOf(await search(query))).toEqual([late.id]);
    await backEnd("DELETE", `/tokens/${late.id}`);
    expect(idsOf(await search(query))).toEqual([]);
  });

  it("answers any query as a scan of every token would", async () => {
    const day = (offset: number) => new Date(Date.now() + offset * 86_400_000).toISOString().slice(0, 10);
    const leaves: [string, (token: Known, n: number) => boolean][] = [
      ["type:card", ({ type }) => type === "card"],
      ['data:"word 2"', ({ index }) => index === "word 2"],
      ["data:nothing", () => false],
      ["metadata.Group:even", (_, n) => n % 2 === 0],
      ["metadata.n:7", (_, n) => n === 7],
      ["container:/a/b/", ({ containers }) => containers.includes("/a/b/")],
      ["container:/a/*", ({ containers }) => containers.some((container) => container.startsWith("/a/"))],
      ["container:/*", () => true],
      [`modified_by:${other.id}`, ({ modifiedBy }) => modifiedBy !== undefined],
      [`created_at:[${day(-1)} TO *]`, () => true],
      [`created_at:{* TO ${day(-1)}}`, () => false],
    ];
    type Tree = { readonly text: string; readonly fits: (token: Known, n: number) => boolean };
    const { tree } = fc.letrec<{ tree: Tree }>((tie) => ({
      tree: fc.oneof(
        { depthSize: "small", withCrossShrink: true },
        fc.constantFrom(...leaves).map(([text, fits]): Tree => ({ text, fits })),
        fc
          .tuple(tie("tree"), tie("tree"))
          .map(
            ([a, b]): Tree => ({ text: `(${a.text} AND ${b.text})`, fits: (...of) => a.fits(...of) && b.fits(...of) }),
          ),
        fc
          .tuple(tie("tree"), tie("tree"))
          .map(
            ([a, b]): Tree => ({ text: `(${a.text} OR ${b.text})`, fits: (...of) => a.fits(...of) || b.fits(...of) }),
          ),
        fc
          .tuple(fc.constantFrom("NOT ", "!", "-"), tie("tree"))
          .map(([not, a]): Tree => ({ text: `${not}(${a.text})`, fits: (...of) => !a.fits(...of) })),
      ),
    }));
    const short = tree.filter(({ text }) => text.length <= 200);
    await fc.assert(
      fc.asyncProperty(short, async ({ text, fits }) => {
        const response = await search(text);
        if (response.status === 400) expect(response.body.errors.query[0]).toMatch(/multiplied out/);
        else expect(idsOf(response).toReversed(), text).toEqual(tokens.filter(fits).map(({ id }) => id));
      }),
      { numRuns: 150 },
    );
  });

  it.each([
    ["type:nothing", "a type at character 1: token, card, "],
    ["created_at:yesterday", "an ISO 8601 date at character 1"],
    ["created_at:[2021 TO 2022]", "an ISO 8601 date at character 1"],
    ["type:[a TO b]", "one value for type at character 1: only created_at and modified_at have ranges"],
    ["container:[a TO b]", "a path for container at character 1"],
    ["data:x AND container:pci", "a container at character 12: a path such as /pci/high/"],
    ["container:/a*", "a container at character 1"],
    ["container:/a/*/b/", "a container at character 1"],
    ["data:ab*", "no wildcard for data at character 1"],
    ["metadata.a:*", "no wildcard for metadata at character 1"],
    ["fingerprint:abc", "a fingerprint at character 1"],
    ["created_by:me", "the UUID of an application at character 1"],
    ["type:card OR constructor:x", "a field at character 14 that can be searched: id, type, data,"],
    ["CREATED_AT:2021-01-01", "a field at character 1"],
  ])("for %j is rejected, with the position of the fault", async (query, text) => {
    const { status, body } = await search(query);
    expect([status, Object.keys(body.errors ?? {})]).toEqual([400, ["query"]]);
    expect(body.errors.query[0]).toContain(`must have ${text}`);
  });

  it("with too many alternatives is rejected", async () => {
    const clause = (n: number) => `(id:${n} OR id:${n}x OR id:${n}y)`;
    const { status, body } = await search([1, 2, 3, 4, 5].map(clause).join(" AND "));
    expect([status, body.errors?.query?.[0]]).toEqual([400, expect.stringContaining("more than 64 alternatives")]);
  });

  it("supports AND only if it is by cursor", async () => {
    for (const query of [
      "type:card OR type:token",
      "NOT type:card",
      "created_at:[2021-01-01 TO *]",
      "(type:card OR type:token)",
    ]) {
      const { status, body } = await backEnd("POST", "/v2/tokens/search", { body: { query } });
      expect([status, Object.keys(body.errors ?? {})], query).toEqual([400, ["query"]]);
    }
    const { body } = await backEnd("POST", "/v2/tokens/search", {
      body: { query: '(container:"/pci/*") AND (type:card)' },
    });
    expect(body.data.length).toBe(
      tokens.filter(({ type, containers }) => type === "card" && containers.includes("/pci/high/")).length,
    );
  });
});
