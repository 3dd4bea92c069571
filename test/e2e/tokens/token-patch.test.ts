import { beforeAll, describe, expect, it } from "vitest";
import type { RestClient } from "../../support/rest.js";
import { newTenant, type TestTenant } from "../../support/tenant.js";

const MERGE_PATCH = { "Content-Type": "application/merge-patch+json" };
const CARD = { number: "4242424242424242", expiration_month: 12, expiration_year: 2030 };

const named = (name: string, count: number) =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`${name}${index}`, 1]));
const ones = (count: number) => Array.from({ length: count }, () => 1);

describe("a patch", () => {
  let tenant: TestTenant;
  let backEnd: RestClient;
  beforeAll(async () => {
    tenant = await newTenant();
    backEnd = await tenant.backEnd();
  });
  const make = async (body: object): Promise<string> => {
    const made = await backEnd("POST", "/tokens", { body });
    if (made.status !== 201) throw new Error(`creating returned ${made.status}: ${JSON.stringify(made.body)}`);
    return made.body.id;
  };
  const patch = (id: string, body: unknown, headers: Record<string, string> = MERGE_PATCH) =>
    backEnd("PATCH", `/tokens/${id}`, { body, headers });
  const read = async (id: string) => (await backEnd("GET", `/tokens/${id}`)).body;
  const logOf = async (id: string): Promise<string[]> => {
    const { body } = await tenant.manage("GET", `/logs?entity_id=${id}&size=100`);
    return body.data.map(({ operation }: { operation: string }) => operation);
  };

  // The cases of RFC 7386, appendix A, whose target is an object, and similar ones.
  it.each([
    [{ a: "b" }, { a: "c" }, { a: "c" }],
    [{ a: "b" }, { b: "c" }, { a: "b", b: "c" }],
    [{ a: "b", b: "c" }, { a: null }, { b: "c" }],
    [{ a: ["b"] }, { a: "c" }, { a: "c" }],
    [{ a: "c" }, { a: ["b"] }, { a: ["b"] }],
    [{ a: { b: "c" } }, { a: { b: "d", c: null } }, { a: { b: "d" } }],
    [{ a: [{ b: "c" }] }, { a: [1] }, { a: [1] }],
    [{ a: "foo" }, "bar", "bar"],
    [{ e: null }, { a: 1 }, { e: null, a: 1 }],
    [[1, 2], { a: "b", c: null }, { a: "b" }],
    [{ x: 1 }, { a: { bb: { ccc: null } } }, { x: 1, a: { bb: {} } }],
    ["a", ["c", "d"], ["c", "d"]],
    [{ ["__proto__"]: 1 }, { constructor: 2 }, { ["__proto__"]: 1, constructor: 2 }],
  ])("turns %j with %j into %j", async (data, change, result) => {
    const id = await make({ type: "token", data });
    expect((await patch(id, { data: change })).status).toBe(200);
    expect((await read(id)).data).toEqual(result);
  });

  it.each<[what: string, before: object, change: object, field: string]>([
    ["names", { data: named("a", 9_000) }, { data: named("b", 1_001) }, "data"],
    ["values", { data: { a: ones(49_000) } }, { data: { b: ones(1_000) } }, "data"],
    ["bytes", { data: { a: "x".repeat(4_000_000) } }, { data: { b: "x".repeat(1_300_000) } }, "data"],
    ["bytes of data beside its mask", { data: "1", mask: "x".repeat(4e6) }, { data: "x".repeat(1_300_000) }, "data"],
    ["bytes of its mask beside data", { data: "x".repeat(4e6) }, { mask: "x".repeat(1_300_000) }, "mask"],
    ["names of its mask", { data: "1", mask: named("a", 9_000) }, { mask: named("b", 1_001) }, "mask"],
  ])("does not make a token grow beyond a request's limits: %s", async (_, before, change, field) => {
    const id = await make({ type: "token", ...before });
    const refused = await patch(id, change);
    expect([refused.status, Object.keys(refused.body.errors ?? {})]).toEqual([400, [field]]);
    expect(refused.body.errors[field][0]).toMatch(/^must (?:hold|have).* at most \d+ .* after the patch$/);
    expect((await read(id)).data).toEqual(Reflect.get(before, "data"));
    // In the place of what it has, it may have as much.
    expect((await patch(id, Object.fromEntries(Object.entries(change).map(([name]) => [name, "new"])))).status).toBe(
      200,
    );
  });

  it("merges data, mask and metadata, and replaces the others", async () => {
    const id = await make({
      type: "token",
      data: { a: 1, b: 2 },
      mask: { a: "A", b: { c: "C", d: "D" } },
      metadata: { x: "1", y: "2" },
      containers: ["/one/", "/two/"],
      search_indexes: ["{{ data.a }}"],
      fingerprint_expression: "{{ data.a }}",
      expires_at: "2040-01-01",
    });
    const before = await read(id);
    const { status, body } = await patch(id, {
      data: { b: 3 },
      mask: { b: { c: null } },
      metadata: { y: "zwei", z: "3" },
      containers: ["/Three/"],
      search_indexes: ["{{ data.b }}"],
      fingerprint_expression: "{{ data.b }}",
      expires_at: "2041-01-01T00:00:00+02:00",
    });
    expect(status).toBe(200);
    expect(body).toMatchObject({
      data: { a: "A", b: { d: "D" } },
      mask: { a: "A", b: { d: "D" } },
      metadata: { x: "1", y: "zwei", z: "3" },
      containers: ["/three/"],
      search_indexes: ["{{ data.b }}"],
      fingerprint_expression: "{{ data.b }}",
      expires_at: "2041-01-01T00:00:00+02:00",
      created_at: before.created_at,
    });
    expect(body.fingerprint).not.toBe(before.fingerprint);
    expect(await read(id)).toEqual({ ...body, data: { a: 1, b: 3 } });
  });

  it("clears with null, and restores the type's own defaults", async () => {
    const id = await make({
      type: "card",
      data: CARD,
      mask: "hidden",
      metadata: { x: "1" },
      containers: ["/one/"],
      search_indexes: ["{{ data.number }}"],
      fingerprint_expression: "{{ data.expiration_year }}",
      expires_at: "2040-01-01",
    });
    const cleared = { mask: null, metadata: null, search_indexes: null };
    const { status, body } = await patch(id, { ...cleared, fingerprint_expression: null, expires_at: null });
    expect(status).toBe(200);
    expect(body).toMatchObject({
      mask: { ...CARD, number: "XXXXXXXXXXXX4242" },
      containers: ["/one/"],
      fingerprint_expression: "{{ data.number }}",
    });
    for (const field of ["metadata", "search_indexes", "expires_at", "fingerprint"]) {
      expect(body[field] ?? "absent", field).toBe("absent");
    }
    expect(await read(id)).toEqual({ ...body, data: CARD });
    expect(await backEnd("POST", "/tokens/search", { body: { query: "data:4242424242424242" } })).toMatchObject({
      body: { pagination: { total_items: 0 } },
    });
  });

  it("is found by its new values, and no longer by the old ones", async () => {
    const id = await make({ type: "token", data: "old", metadata: { k: "old" }, search_indexes: ["{{ data }}"] });
    await patch(id, { data: "new", metadata: { k: "new" } });
    const found = async (query: string) =>
      (await backEnd("POST", "/tokens/search", { body: { query } })).body.data.map((token: { id: string }) => token.id);
    expect(await found("data:old")).toEqual([]);
    expect(await found("metadata.k:old")).toEqual([]);
    expect(await found("data:new")).toEqual([id]);
    expect(await found("metadata.k:new")).toEqual([id]);
  });

  it.each([["application/json"], ["application/json-patch+json"], ["text/plain"], ["application/merge-patch+xml"]])(
    "as %s is refused",
    async (type) => {
      const id = await make({ type: "token", data: "x" });
      const response = await patch(id, { data: "y" }, { "Content-Type": type });
      expect(response).toMatchObject({ status: 415, body: { code: "unsupported_media_type" } });
      expect((await read(id)).data).toBe("x");
    },
  );

  it.each([
    ["a number that fails Luhn", { data: { number: "4242424242424241" } }, "data.number"],
    ["a month beyond 12", { data: { expiration_month: 13 } }, "data.expiration_month"],
    ["an unknown field of a card", { data: { colour: "red" } }, "data.colour"],
    ["data without its number", { data: { number: null } }, "data.number"],
    ["data as a whole", { data: null }, "data"],
    ["metadata that is not a string", { metadata: { x: 5 } }, "metadata.x"],
    ["metadata that is a list", { metadata: [] }, "metadata"],
    ["a malformed container", { containers: ["pci"] }, "containers[0]"],
    ["containers that are a text", { containers: "/pci/" }, "containers"],
    ["no containers", { containers: [] }, "containers"],
    ["containers that are cleared", { containers: null }, "containers"],
    ["a type that is null", { type: null }, "type"],
    ["a mask with a filter that does not exist", { mask: { a: "{{ data.number | frobnicate }}" } }, "mask.a"],
    ["an index that gives nothing", { search_indexes: ["{{ data.nothing }}"] }, "search_indexes[0]"],
    ["an expiry that is over", { expires_at: "2020-01-01" }, "expires_at"],
    ["a flag that is a text", { deduplicate_token: "yes" }, "deduplicate_token"],
    ["several faults at once", { metadata: { x: 5, y: [] } }, "metadata.x,metadata.y"],
  ])("with %s is rejected, names it, and changes nothing", async (_, change, fields) => {
    const id = await make({ type: "card", data: CARD, metadata: { x: "1" } });
    const before = await read(id);
    const { status, body } = await patch(id, { mask: "not to be kept", ...change });
    expect({ status, fields: Object.keys(body.errors ?? {}).join() }).toEqual({ status: 400, fields });
    expect(await read(id)).toEqual(before);
    expect(await logOf(id)).toEqual(["read", "read", "create"]);
  });

  it("changes neither id, type, creator nor creation time", async () => {
    const id = await make({ type: "token", data: "x" });
    const before = await read(id);
    const stolen = { created_by: id, created_at: "2020-01-01" };
    const own = { id, type: "token", tenant_id: tenant.id };
    expect(await patch(id, { ...stolen, ...own, data: "y" })).toMatchObject({ status: 200 });
    for (const [field, value] of Object.entries({ id: "other", type: "card", tenant_id: id })) {
      const { status, body } = await patch(id, { ...own, [field]: value, data: "z" });
      expect({ status, errors: body.errors }).toEqual({ status: 400, errors: { [field]: ["cannot be changed"] } });
    }
    const { id: _, data, modified_at, modified_by, ...after } = await read(id);
    expect({ data, modified_at, modified_by }).toEqual({
      data: "y",
      modified_at: expect.any(String),
      modified_by: before.created_by,
    });
    expect({ id, data: "x", ...after }).toEqual(before);
  });

  it.each([
    ["nothing", {}],
    ["the same data", { data: { ...CARD } }],
    ["the same of everything", { metadata: { x: "1" }, containers: ["/PCI/"], data: {}, deduplicate_token: false }],
  ])("writes its log row and nothing else: %s", async (_, change) => {
    const id = await make({ type: "card", data: CARD, metadata: { x: "1" }, containers: ["/pci/"] });
    const before = await read(id);
    expect(await patch(id, change)).toMatchObject({ status: 200, body: { ...before, data: before.mask } });
    expect(await read(id)).toEqual(before);
    expect(await logOf(id)).toEqual(["read", "update", "read", "create"]);
  });

  describe("counts characters as creating does", () => {
    const wave = "👋";
    const tokenize = (body: object) => backEnd("POST", "/tokenize", { body: { type: "token", data: "x", ...body } });
    const create = (body: object) => backEnd("POST", "/tokens", { body: { type: "token", data: "x", ...body } });
    const patchSome = async (body: object) => patch(await make({ type: "token", data: "x" }), body);
    const ways = [
      ["POST /tokens", create],
      ["POST /tokenize", tokenize],
      ["PATCH", patchSome],
    ] as const;

    it.each([
      [{ metadata: { k: wave.repeat(1_000) } }],
      [{ metadata: { [wave.repeat(200)]: "x" } }],
      [{ fingerprint_expression: wave.repeat(400) }],
    ])("%# of the longest is accepted", async (body) => {
      for (const [way, send] of ways) {
        const { status } = await send(body);
        expect(status < 300, way).toBe(true);
      }
      const id = await make({ type: "token", data: "x", ...body });
      expect((await patch(id, { metadata: { other: "x" } })).status).toBe(200);
    });

    it.each([
      [{ metadata: { k: wave.repeat(1_001) } }, /^metadata/],
      [{ metadata: { [wave.repeat(201)]: "x" } }, /^metadata/],
      [{ metadata: { k: "a\0b" } }, /^metadata/],
      [{ metadata: { k: "\ud800" } }, /metadata/],
      [{ fingerprint_expression: wave.repeat(401) }, /^fingerprint_expression$/],
    ])("%# of too much is rejected", async (body, field) => {
      for (const [way, send] of ways) {
        const { status, body: refusal } = await send(body);
        expect(status, way).toBe(400);
        expect(Object.keys(refusal.errors), way).toEqual([expect.stringMatching(field)]);
      }
    });
  });

  it.each([null, [], "text", 5, true])("is a 400 and leaves no row: %j", async (change) => {
    const id = await make({ type: "token", data: "x" });
    expect(await patch(id, change)).toMatchObject({ status: 400, body: { errors: { body: ["must be an object"] } } });
    expect(await logOf(id)).toEqual(["create"]);
  });

  it("loses no field to concurrent patches", async () => {
    const id = await make({ type: "token", data: { start: true }, metadata: { start: "1" } });
    const names = Array.from({ length: 40 }, (_, number) => `field${number}`);
    const patchUntilKept = async (name: string) => {
      for (;;) {
        const { status } = await patch(id, { data: { [name]: name }, metadata: { [name]: "1" } });
        if (status === 200) return;
        expect(status).toBe(409);
      }
    };
    await Promise.all(names.map(patchUntilKept));
    const { data, metadata } = await read(id);
    expect(Object.keys(data).sort()).toEqual(["start", ...names].sort());
    expect(Object.keys(metadata).sort()).toEqual(["start", ...names].sort());
    const { body } = await backEnd("POST", "/tokens/search", {
      body: { query: "metadata.field7:1 AND metadata.field39:1" },
    });
    expect(body.data.map((token: { id: string }) => token.id)).toEqual([id]);
  });

  it("sets a verification code, removes it, and leaves it alone", async () => {
    const id = await make({ type: "card", data: CARD });
    const dataAfter = async (data: object) => {
      expect((await patch(id, { data })).status).toBe(200);
      return (await read(id)).data;
    };
    expect(await dataAfter({ cvc: "123" })).toEqual({ ...CARD, cvc: "123" });
    expect(await dataAfter({ expiration_year: 2031 })).toEqual({ ...CARD, expiration_year: 2031, cvc: "123" });
    expect(await dataAfter({ cvc: null })).toEqual({ ...CARD, expiration_year: 2031 });
    expect(await patch(id, { data: { cvc: "12345" } })).toMatchObject({ status: 400 });
  });

  it("is a 404 for a missing token, whatever it contains", async () => {
    expect(await patch("not-there", { data: "x" })).toMatchObject({ status: 404, body: { code: "not_found" } });
  });
});
