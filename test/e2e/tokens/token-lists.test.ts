import { beforeAll, describe, expect, it } from "vitest";
import type { RestClient, RestResponse } from "../../support/rest.js";
import { newTenant, type TestTenant } from "../../support/tenant.js";

const idsOf = ({ body }: RestResponse): string[] => body.data.map(({ id }: { id: string }) => id);

describe("lists and searches of tokens", () => {
  let tenant: TestTenant;
  let backEnd: RestClient;
  /** Newest first: whales 4, 3, 2, 1, 0. */
  const whales: string[] = [];
  let card: string;
  let fingerprint: string;
  beforeAll(async () => {
    tenant = await newTenant();
    backEnd = await tenant.backEnd();
    for (let number = 0; number < 5; number += 1) {
      const metadata = { Group: "Blue Whales", "a.b:c": `n${number}`, even: String(number % 2 === 0) };
      const data = { name: `whale ${number}` };
      const containers = [number < 2 ? "/sea/north/" : "/sea/south/"];
      const body = { type: "token", data, metadata, containers, search_indexes: ["{{ data.name }}"] };
      whales.unshift((await backEnd("POST", "/tokens", { body })).body.id);
    }
    const made = await backEnd("POST", "/tokens", {
      body: {
        id: "the-card",
        type: "card",
        data: { number: "4242424242424242" },
        fingerprint_expression: "{{ data.number }}",
      },
    });
    card = made.body.id;
    fingerprint = made.body.fingerprint;
  });
  const list = (query: string, client = backEnd) => client("GET", `/tokens?${query}`);
  const search = (query: unknown, more: object = {}) => backEnd("POST", "/tokens/search", { body: { query, ...more } });
  const cursorList = (query: string, client = backEnd) => client("GET", `/v2/tokens?${query}`);
  const cursorSearch = (body: object) => backEnd("POST", "/v2/tokens/search", { body });

  it("are newest first, in pages", async () => {
    expect(idsOf(await list("size=100"))).toEqual([card, ...whales]);
    const pages = [1, 2, 3, 4].map((page) => list(`page=${page}&size=2`));
    const [first, second, third, past] = await Promise.all(pages);
    expect([first, second, third, past].map((response) => response?.body.pagination)).toEqual(
      [1, 2, 3, 4].map((page_number) => ({ total_items: 6, page_number, page_size: 2, total_pages: 3 })),
    );
    expect([first, second, third].flatMap((response) => (response ? idsOf(response) : []))).toEqual([card, ...whales]);
    expect(past?.body.data).toEqual([]);
    expect((await list("")).body.pagination).toMatchObject({ page_number: 1, page_size: 20 });
  });

  it.each([
    ["a dot", "metadata.Group=blue+whales"],
    ["brackets", "metadata[Group]=Blue%20Whales"],
    ["encoded brackets", "metadata%5BGroup%5D=BLUE%20WHALES"],
    ["one JSON object", `metadata=${encodeURIComponent('{"Group":"blue whales"}')}`],
  ])("filter by metadata written with %s, whatever the case of the value", async (_, query) => {
    expect(idsOf(await list(query))).toEqual(whales);
  });

  it.each([
    ["several filters, all of which hold", "metadata.Group=blue+whales&metadata.even=true", [0, 2, 4]],
    ["the first of a repeated key", "metadata.even=true&metadata.even=false", [0, 2, 4]],
    ["a key with dots and colons", "metadata.a.b%3Ac=N3", [3]],
    ["no match for a part of a value", "metadata.Group=blue", []],
    ["no match for another case of the key", "metadata.group=blue+whales", []],
    ["no match for a metadata key that no token has", "metadata.constructor=x", []],
  ])("support %s", async (_, query, numbers) => {
    const wanted = whales.filter((_id, index) => numbers.includes(4 - index));
    const response = await list(query);
    expect(idsOf(response)).toEqual(wanted);
    expect(response.body.pagination.total_items).toBe(wanted.length);
  });

  it("fetch by id, once each, and skip missing ones", async () => {
    const query = `id=${whales[4]}&id=not-there&id=the-card&id=${whales[4]}`;
    const response = await list(query);
    expect(idsOf(response)).toEqual([card, whales[4]]);
    expect(response.body.pagination.total_items).toBe(2);
    expect(idsOf(await list(`${query}&metadata.Group=blue+whales`))).toEqual([whales[4]]);
    for (const name of ["constructor", "__proto__"]) {
      expect((await list(`${query}&metadata.${name}=x`)).body.data).toEqual([]);
      expect((await list(`metadata.${name}=x&metadata.Group=blue+whales`)).body.data).toEqual([]);
    }
  });

  it("filter by type, one or several, also of tokens fetched by id", async () => {
    expect(idsOf(await list("type=card"))).toEqual([card]);
    expect(idsOf(await list("type=token&type=token"))).toEqual(whales);
    expect(idsOf(await list("type=bank"))).toEqual([]);
    const both = await list("type=token&type=card&size=2&page=2");
    expect(idsOf(both)).toEqual(whales.slice(1, 3));
    expect(both.body.pagination.total_items).toBe(6);
    expect(idsOf(await list("type=card&type=bank"))).toEqual([card]);
    expect(idsOf(await list("type=token&metadata.even=true"))).toEqual([whales[0], whales[2], whales[4]]);
    expect(idsOf(await list("type=card&type=token&metadata.even=true"))).toEqual([whales[0], whales[2], whales[4]]);
    expect(idsOf(await list(`id=the-card&id=${whales[0]}&type=card`))).toEqual([card]);
  });

  it("filter by type within the containers that the caller may read", async () => {
    const rules = [
      { description: "north", priority: 1, container: "/sea/north/", transform: "mask", permissions: ["token:read"] },
      { description: "south", priority: 2, container: "/sea/south/", transform: "mask", permissions: ["token:read"] },
    ];
    const north = await tenant.application({ type: "private", rules: rules.slice(0, 1) });
    const sea = await tenant.application({ type: "private", rules });
    expect(idsOf(await list("type=token&type=card", north))).toEqual(whales.slice(3));
    expect(idsOf(await list("type=card", north))).toEqual([]);
    const found = await list("type=token&type=card", sea);
    expect(idsOf(found)).toEqual(whales);
    expect(found.body.pagination.total_items).toBe(whales.length);
  });

  it("reject a type that does not exist, naming it", async () => {
    const { status, body } = await list("type=card&type=cart");
    expect({ status, errors: body.errors }).toEqual({
      status: 400,
      errors: { "type[1]": [expect.stringContaining("must be one of: token, card")] },
    });
  });

  it.each([
    ["page=0", "page"],
    ["page=-1", "page"],
    ["page=one", "page"],
    ["size=0", "size"],
    ["size=101", "size"],
    ["size=1.5", "size"],
  ])("reject %s, naming it", async (query, field) => {
    for (const path of ["/tokens", field === "size" ? "/v2/tokens" : "/tokens"]) {
      const { status, body } = await backEnd("GET", `${path}?${query}`);
      expect({ status, fields: Object.keys(body.errors ?? {}) }).toEqual({ status: 400, fields: [field] });
    }
  });

  it.each([
    ["data:", 'data:"whale 3"', [3]],
    ["metadata terms joined by AND", 'metadata.Group:"blue whales" AND metadata.even:FALSE', [1, 3]],
    ["a quoted name of metadata", 'metadata."a.b:c":n2', [2]],
  ])("search by %s", async (_, query, numbers) => {
    const wanted = whales.filter((_id, index) => numbers.includes(4 - index));
    const response = await search(query);
    expect(response.status).toBe(200);
    expect(idsOf(response)).toEqual(wanted);
    expect(response.body.pagination.total_items).toBe(wanted.length);
  });

  it("search by id, and everything without a query", async () => {
    expect(idsOf(await search("id:the-card"))).toEqual([card]);
    expect(idsOf(await search('id:"the-card"'))).toEqual([card]);
    for (const query of [undefined, null, "", "  "]) expect(idsOf(await search(query))).toEqual([card, ...whales]);
    expect(idsOf(await search(null, { page: 2, size: 4 }))).toEqual(whales.slice(3));
  });

  it("search index values case-sensitively", async () => {
    expect(idsOf(await search('data:"Whale 3"'))).toEqual([]);
  });

  it.each([
    ["data"],
    ["data:"],
    ["data: whale"],
    [":x"],
    ['data:"open'],
    ["data:a data:b"],
    ["metadata.a:b and metadata.c:d"],
    ["metadata.a:b AND"],
    ["AND metadata.a:b"],
    ["metadata:x"],
    ["data.x:y"],
    ["fingerprint:abc"],
    ["created_at:[2020 TO 2021]"],
    ["constructor:x"],
    ["(data:a"],
    ["x".repeat(201)],
  ])("search for %j is a 400 that names the query", async (query) => {
    const { status, body } = await search(query);
    expect({ status, fields: Object.keys(body.errors ?? {}) }).toEqual({ status: 400, fields: ["query"] });
    expect(body.errors.query[0]).toMatch(/^must /);
  });

  it.each([
    ["container=/sea/", [0, 1, 2, 3, 4]],
    ["container=/sea/north/", [0, 1]],
    ["container=/SEA/North/", [0, 1]],
    ["container=/sea/north/&metadata.even=true", [0]],
    ["container=/sea/&metadata[even]=true", [0, 2, 4]],
    ["type=token", [0, 1, 2, 3, 4]],
    ["metadata.Group=Blue+Whales", [0, 1, 2, 3, 4]],
    ["metadata.Group=blue+whales", []],
    ["container=/se/", []],
  ])("filter by %s with a cursor", async (query, numbers) => {
    const response = await cursorList(query);
    expect(response.status).toBe(200);
    expect(idsOf(response)).toEqual(whales.filter((_id, index) => numbers.includes(4 - index)));
    expect(response.body.pagination).toEqual({ page_size: 20 });
  });

  it("filter by fingerprint and by type with a cursor", async () => {
    expect(idsOf(await cursorList(`fingerprint=${fingerprint}`))).toEqual([card]);
    expect(idsOf(await cursorList("type=card&container=/pci/"))).toEqual([card]);
    expect(idsOf(await cursorSearch({ query: `fingerprint:${fingerprint}` }))).toEqual([card]);
    expect(idsOf(await cursorSearch({ query: 'container:"/pci/*" AND type:card' }))).toEqual([card]);
    expect(idsOf(await cursorSearch({ query: 'data:"whale 1"' }))).toEqual([whales[3]]);
    expect(idsOf(await cursorSearch({ query: "container:/sea/ AND metadata.even:false" }))).toEqual([
      whales[1],
      whales[3],
    ]);
  });

  it.each([
    ["GET", "type=token&fingerprint=x", undefined, "fingerprint"],
    ["GET", "type=token&metadata.a=1", undefined, "metadata.a"],
    ["GET", "type=nothing", undefined, "type"],
    ["GET", "fingerprint=0OIl", undefined, "fingerprint"],
    ["GET", "container=pci", undefined, "container"],
    ["POST", "", { query: "type:token AND data:x" }, "query"],
    ["POST", "", { query: "type:nothing" }, "query"],
    ["POST", "", { query: "type:token AND type:card" }, "query"],
    ["POST", "", { query: "metadata.a:1 AND metadata.a:2" }, "query"],
    ["POST", "", { query: "id:x" }, "query"],
    ["POST", "", { query: "container:pci" }, "query"],
    ["POST", "", { query: "fingerprint:x" }, "query"],
  ])("with a cursor reject %s %s %j", async (verb, query, body, field) => {
    const path = verb === "GET" ? `/v2/tokens?${query}` : "/v2/tokens/search";
    const response = await backEnd(verb, path, { body });
    expect({ status: response.status, fields: Object.keys(response.body.errors ?? {}) }).toEqual({
      status: 400,
      fields: [field],
    });
  });

  it("continue after tokens with the longest possible ids with a cursor", async () => {
    const ids = ["x", "\u{1F40B}"].map((character) => character.repeat(400));
    for (const id of ids) {
      const body = { id, type: "token", data: "x", containers: ["/long/"] };
      expect((await backEnd("POST", "/tokens", { body })).status).toBe(201);
    }
    const seen: string[] = [];
    let next = "";
    do {
      const page = await cursorList(`container=/long/&size=1&start=${next}`);
      expect(page.status).toBe(200);
      seen.push(...idsOf(page));
      next = page.body.pagination.next ?? "";
    } while (next !== "");
    expect(seen).toEqual(ids.toReversed());
    for (const id of ids) expect((await backEnd("DELETE", `/tokens/${encodeURIComponent(id)}`)).status).toBe(204);
  });

  it("continue where the last page ended with a cursor, also past tokens created meanwhile", async () => {
    const first = await cursorList("container=/sea/&size=2");
    expect(first.body.pagination).toEqual({
      page_size: 2,
      next: expect.any(String),
      after: first.body.pagination.next,
    });
    const newer = await backEnd("POST", "/tokens", { body: { type: "token", data: "x", containers: ["/sea/"] } });
    const second = await cursorList(`container=/sea/&size=2&start=${first.body.pagination.next}`);
    const third = await cursorList(`container=/sea/&size=2&start=${second.body.pagination.next}`);
    expect([first, second, third].flatMap(idsOf)).toEqual(whales);
    expect(third.body.pagination).toEqual({ page_size: 2 });
    await backEnd("DELETE", `/tokens/${newer.body.id}`);
  });

  it("accept a cursor only from the same list of the same tenant, and no forged one", async () => {
    const { next } = (await cursorList("container=/sea/&size=2")).body.pagination;
    const flipped = Buffer.from(next, "base64url");
    flipped[0] = (flipped[0] ?? 0) ^ 1;
    const outsider = await (await newTenant()).backEnd();
    const refused = [
      cursorList(`container=/sea/north/&size=2&start=${next}`),
      cursorList(`size=2&start=${next}`),
      cursorList(`container=/sea/&size=2&start=${next}`, outsider),
      cursorSearch({ query: "container:/sea/", start: next }),
      cursorList(`container=/sea/&size=2&start=${flipped.toString("base64url")}`),
      cursorList(`container=/sea/&size=2&start=${next.slice(0, -2)}`),
      cursorList("container=/sea/&size=2&start=nonsense"),
    ];
    for (const response of await Promise.all(refused)) {
      expect({ status: response.status, fields: Object.keys(response.body.errors ?? {}) }).toEqual({
        status: 400,
        fields: ["start"],
      });
    }
  });

  it("reject a container that no rule covers with a cursor", async () => {
    const rules = [{ priority: 1, container: "/sea/north/", transform: "mask", permissions: ["token:read"] }];
    const northerner = await tenant.application({ type: "private", rules });
    expect(idsOf(await cursorList("", northerner))).toEqual(whales.slice(3));
    expect(idsOf(await cursorList("container=/sea/", northerner))).toEqual(whales.slice(3));
    expect(await cursorList("container=/sea/south/", northerner)).toMatchObject({ status: 403 });
  });

  it("count exactly while tokens are created and deleted", async () => {
    const body = (number: number) => ({ type: "token", data: number, metadata: { tide: "high" } });
    const made = await Promise.all(
      Array.from({ length: 60 }, (_, number) => backEnd("POST", "/tokens", { body: body(number) })),
    );
    const gone = made.slice(0, 25);
    await Promise.all(gone.map((response) => backEnd("DELETE", `/tokens/${response.body.id}`)));
    expect((await list("metadata.tide=high&size=1")).body.pagination.total_items).toBe(35);
    expect((await list("size=1")).body.pagination.total_items).toBe(41);
    const { body: report } = await tenant.manage("GET", "/tenants/self/reports/usage");
    expect(report.token_report.metrics_by_type).toMatchObject({ token: { count: 40 }, card: { count: 1 } });
  });

  it("leave one row in the log, and one for each value that was returned", async () => {
    const own = await newTenant();
    const client = await own.backEnd();
    const { body } = await client("POST", "/tokens", { body: { type: "token", data: "x" } });
    const clerk = await own.application({ type: "private", permissions: ["token:read", "token:search"] });
    await clerk("GET", "/tokens");
    await clerk("POST", "/tokens/search", { body: {} });
    await client("GET", "/v2/tokens");
    const log = await own.manage("GET", "/logs?size=100");
    const rows = log.body.data
      .filter((row: { entity_type: string }) => row.entity_type === "token")
      .map((row: { operation: string; entity_id: string }) => [row.operation, row.entity_id === body.id]);
    expect(rows.toSorted()).toEqual([
      ["create", true],
      ["list", false],
      ["list", false],
      ["read", true],
      ["search", false],
    ]);
  });
});
