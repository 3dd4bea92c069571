import { beforeAll, describe, expect, it } from "vitest";
import type { RestClient, RestResponse } from "../../support/rest.js";
import { newTenant, type TestTenant } from "../../support/tenant.js";
import { code } from "./support/proxies.js";

const TIME = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/;
const URL_OF = "https://api.example.com/v1";
const GOOD = code("return { body: req.args.body, headers: req.args.headers }");
const MERGE = { "Content-Type": "application/merge-patch+json" };

describe("pre-configured proxies", () => {
  let tenant: TestTenant;
  let backEnd: RestClient & { readonly id: string };
  beforeAll(async () => {
    tenant = await newTenant();
    backEnd = await tenant.backEnd();
  });

  const create = (definition: object) =>
    tenant.manage("POST", "/proxies", { body: { name: "A", destination_url: URL_OF, ...definition } });
  const get = async (id: string) => (await tenant.manage("GET", `/proxies/${id}`)).body;
  const put = (id: string, body: object) => tenant.manage("PUT", `/proxies/${id}`, { body });
  const patch = (id: string, body: object, headers: Record<string, string> = MERGE) =>
    tenant.manage("PATCH", `/proxies/${id}`, { body, headers });
  const faults = ({ status, body }: RestResponse) => [status, Object.keys(body.errors ?? {})];

  it("creates a proxy with a key_prod_prx_ key, and reads it", async () => {
    const made = await create({
      name: "Näme ✓",
      request_transform: GOOD,
      response_transform: GOOD,
      application: { id: backEnd.id },
      configuration: { A: "1", "b c": "" },
      require_auth: false,
    });
    expect(made.status).toBe(201);
    expect(made.body).toEqual({
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      tenant_id: tenant.id,
      name: "Näme ✓",
      key: expect.stringMatching(/^key_prod_prx_[0-9A-Za-z]{22}_?[0-9A-Za-z_]+$/),
      destination_url: URL_OF,
      request_transform: GOOD,
      response_transform: GOOD,
      application_id: backEnd.id,
      configuration: { A: "1", "b c": "" },
      require_auth: false,
      disable_detokenization: false,
      state: "active",
      created_by: expect.any(String),
      created_at: expect.stringMatching(TIME),
    });
    expect(made.body.key.length).toBeLessThanOrEqual(100);
    expect(await get(made.body.id)).toEqual(made.body);
    const { body } = await create({});
    expect(body).toMatchObject({ require_auth: true });
    expect(Object.keys(body)).not.toEqual(expect.arrayContaining(["application_id", "request_transform"]));
  });

  it.each<[string, object, string[]]>([
    ["no name", { name: undefined }, ["name"]],
    ["an empty name", { name: "" }, ["name"]],
    ["a name of 201 characters", { name: "x".repeat(201) }, ["name"]],
    ["no destination", { destination_url: undefined }, ["destination_url"]],
    [
      "a destination of 401 characters",
      { destination_url: `https://example.com/${"x".repeat(381)}` },
      ["destination_url"],
    ],
    ["plain http", { destination_url: "http://1.1.1.1/" }, ["destination_url"]],
    ["an address", { destination_url: "https://1.1.1.1/" }, ["destination_url"]],
    ["a private address", { destination_url: "https://192.168.0.1/" }, ["destination_url"]],
    ["a metadata service in decimal", { destination_url: "https://2852039166/" }, ["destination_url"]],
    ["a port of mail", { destination_url: "https://example.com:25/" }, ["destination_url"]],
    ["a user", { destination_url: "https://a:b@example.com/" }, ["destination_url"]],
    ["an invalid application", { application: { id: "01980f70-1a2b-7c4d-9e5f-60718293a4b5" } }, ["application.id"]],
    ["an invalid application id", { application: { id: "x" } }, ["application.id"]],
    ["a transform without code", { request_transform: { code: "" } }, ["request_transform.code"]],
    ["a transform in a list without code", { request_transforms: [{}] }, ["request_transforms[0].code"]],
    ["code of 50,001 characters", { response_transform: { code: "x".repeat(50_001) } }, ["response_transform.code"]],
    [
      "a masked request",
      { request_transform: { type: "mask", matcher: "regex", expression: "(a)", replacement: "*" } },
      ["request_transform.type"],
    ],
    ["an unknown type", { response_transform: { type: "other" } }, ["response_transform.type"]],
    [
      "an unknown matcher",
      { response_transform: { type: "mask", matcher: "x", expression: "(a)", replacement: "*" } },
      ["response_transform.matcher"],
    ],
    [
      "a pattern without a group",
      { response_transform: { type: "mask", matcher: "regex", expression: "a", replacement: "*" } },
      ["response_transform.expression"],
    ],
    [
      "an invalid pattern",
      { response_transform: { type: "mask", matcher: "regex", expression: "(a", replacement: "*" } },
      ["response_transform.expression"],
    ],
    [
      "a replacement of two",
      { response_transform: { type: "mask", matcher: "regex", expression: "(a)", replacement: "**" } },
      ["response_transform.replacement"],
    ],
    [
      "an invalid header",
      { request_transforms: [GOOD, { type: "append_header", options: { value: "a", location: "b c" } }] },
      ["request_transforms[1].options.location"],
    ],
    [
      "nothing to append",
      { request_transforms: [{ type: "append_json", options: { location: "$.a" } }] },
      ["request_transforms[0].options.value"],
    ],
    [
      "a token without identifier",
      { request_transforms: [{ type: "tokenize", options: { token: {} } }] },
      ["request_transforms[0].options.identifier"],
    ],
    ["configuration that is not a string", { configuration: { a: 1 } }, ["configuration.a"]],
  ])("are not created with %s", async (_, wrong, fields) => {
    expect(faults(await create(wrong))).toEqual([400, fields]);
  });

  const header = (value: string) => ({ type: "append_header", options: { value, location: "X-A" } });
  const json = (value: unknown, location = "$.a") => ({ type: "append_json", options: { value, location } });
  const tokenize = (identifier: string, token: object) => ({ type: "tokenize", options: { identifier, token } });
  const OTHER_FORM =
    "must use {{ request.<field> }} on requests, {{ res.<field> }} on responses, or {{ transform_identifier: '<identifier>' }} of an earlier step";
  const UNKNOWN_STEP = "must name a tokenize step before this one by its identifier";

  it.each<[string, object, string, string]>([
    [
      "an unknown filter",
      { response_transform: header("a {{ res.b | lst4 }}") },
      "response_transform.options.value",
      "must be a valid expression: there is no filter lst4 (character 14)",
    ],
    [
      "a filter without its argument",
      { response_transforms: [GOOD, json({ list: ["{{ res.a }}", "{{ res.b | json }}"] })] },
      "response_transforms[1].options.value.list[1]",
      "must be a valid expression: json needs a text as json_path_expression (character 12)",
    ],
    [
      "a comma in place of a bar",
      { response_transforms: [tokenize("made", { type: "token", data: { a: "{{ res.b, last4 }}" } })] },
      "response_transforms[0].options.token.data.a",
      "must be a valid expression: expected one value and its filters (character 3)",
    ],
    [
      "a trimming end",
      { response_transforms: [header("{{ res.b -}}")] },
      "response_transforms[0].options.value",
      "must be a valid expression: expected one value and its filters (character 3)",
    ],
    [
      "an open brace",
      { request_transforms: [header("a {{ b }")] },
      "request_transforms[0].options.value",
      "must be a valid expression: a {{ is not closed by }} (character 3)",
    ],
    [
      "an open brace before an expression",
      { response_transforms: [header("{{ {{ res.a }}")] },
      "response_transforms[0].options.value",
      "must be a valid expression: a {{ is not closed by }} (character 1)",
    ],
    [
      "the response in a request",
      { request_transform: header("{{ res.a }}") },
      "request_transform.options.value",
      `${OTHER_FORM} (character 3)`,
    ],
    [
      "the request in a response",
      { response_transform: header("{{ request.a }}") },
      "response_transform.options.value",
      `${OTHER_FORM} (character 3)`,
    ],
    [
      "a wrong JSON path",
      { request_transforms: [tokenize("made", { type: "card", data: "{{ request | json: 'card' }}" })] },
      "request_transforms[0].options.token.data",
      "must be a valid expression: json needs a JSON path that starts with $ (character 14)",
    ],
    [
      "an expression of a token in its data",
      { request_transforms: [tokenize("made", { type: "token", data: "{{ data.a }}" })] },
      "request_transforms[0].options.token.data",
      `${OTHER_FORM} (character 3)`,
    ],
    [
      "an unknown filter in the mask of a token",
      { request_transforms: [tokenize("made", { type: "token", data: "a", mask: "{{ data | lst4 }}" })] },
      "request_transforms[0].options.token.mask",
      "must be a valid expression: there is no filter lst4 (character 11)",
    ],
    [
      "a token reference",
      { response_transforms: [json("{{ 01980f70-1a2b-7c4d-9e5f-60718293a4b5 }}")] },
      "response_transforms[0].options.value",
      `${OTHER_FORM} (character 3)`,
    ],
    [
      "a step that is not there",
      { response_transforms: [header("{{ transform_identifier: 'made' | json: '$.id' }}")] },
      "response_transforms[0].options.value",
      `${UNKNOWN_STEP} (character 3)`,
    ],
    [
      "a later step",
      { response_transforms: [header("{{ transform_identifier: 'made' }}"), tokenize("made", { data: "a" })] },
      "response_transforms[0].options.value",
      `${UNKNOWN_STEP} (character 3)`,
    ],
    [
      "a step of the other direction",
      {
        request_transforms: [tokenize("made", { data: "a" })],
        response_transforms: [header("{{ transform_identifier: 'made' }}")],
      },
      "response_transforms[0].options.value",
      `${UNKNOWN_STEP} (character 3)`,
    ],
    [
      "an unknown filter behind a step",
      { request_transforms: [tokenize("made", { data: "a" }), json("{{ transform_identifier: 'made' | jsn: 'a' }}")] },
      "request_transforms[1].options.value",
      "must be a valid expression: there is no filter jsn (character 35)",
    ],
    [
      "a header with a line break",
      { response_transforms: [header("a\r\nb")] },
      "response_transforms[0].options.value",
      "must be a header value, without line breaks",
    ],
    ...["$", "$.*", "$..a", "$.a[?(@.b)]", "$.a[0:1]", "$.a["].map((location): [string, object, string, string] => [
      `the location ${location}`,
      { response_transforms: [json("a", location)] },
      "response_transforms[0].options.location",
      "must be a path of names and indexes such as $.card.token, of at most 1000 characters",
    ]),
  ])("are not created with a step that has %s", async (_, wrong, field, expectation) => {
    const { status, body } = await create(wrong);
    expect([status, body.errors]).toEqual([400, { [field]: [expectation] }]);
  });

  it("tell the problems of all expressions, and of other fields", async () => {
    const { body } = await create({
      name: undefined,
      response_transforms: [json({ a: "{{ res.a | b }}", c: "{{ res.c | d }}" }), header("{{ e }}"), json("a", "$..b")],
    });
    expect(Object.keys(body.errors).sort()).toEqual([
      "name",
      "response_transforms[0].options.value.a",
      "response_transforms[0].options.value.c",
      "response_transforms[1].options.value",
      "response_transforms[2].options.location",
    ]);
  });

  it("are checked in time however many expressions a step has", async () => {
    const { status, body } = await create({
      response_transforms: [json(new Array(20_000).fill("{{ res.a | json: '$.b' | append: 'c' }}"))],
    });
    expect([status, Object.values(body.errors)[0]]).toEqual([
      400,
      ["must be an expression that can be evaluated with less work (character 3)"],
    ]);
  });

  it("are checked in time however long a location is", async () => {
    const long = `$.${"a".repeat(100_000)}[`;
    expect(faults(await create({ response_transforms: [json("a", long)] }))).toEqual([
      400,
      ["response_transforms[0].options.location"],
    ]);
  });

  it("take the locations that clients write", async () => {
    const locations = ["$.a", "a.b", "$.a[0].b", "$['a.b']", '$["a b"][1]', "$.card-token"];
    expect((await create({ response_transforms: locations.map((location) => json("a", location)) })).status).toBe(201);
  });

  it("may use steps that a patch leaves in place, and only those", async () => {
    const { id } = (await create({ request_transform: tokenize("made", { data: "a" }) })).body;
    const uses = { request_transforms: [header("{{ transform_identifier: 'made' | json: '$.id' }}")] };
    expect((await patch(id, uses)).status).toBe(204);
    expect(faults(await patch(id, { request_transform: null }))).toEqual([
      400,
      ["request_transforms[0].options.value"],
    ]);
    expect((await patch(id, { name: "B" })).status).toBe(204);
    expect(faults(await put(id, { name: "A", destination_url: URL_OF, ...uses }))).toEqual([
      400,
      ["request_transforms[0].options.value"],
    ]);
    expect((await get(id)).request_transform.type).toBe("tokenize");
  });

  it("cannot use a management application, or one of another tenant", async () => {
    const clerk = await tenant.application({ type: "management", permissions: ["proxy:read"] });
    expect(faults(await create({ application: { id: clerk.id } }))).toEqual([400, ["application.id"]]);
    const outsider = await (await newTenant()).backEnd();
    expect(faults(await create({ application: { id: outsider.id } }))).toEqual([400, ["application.id"]]);
    const page = await tenant.application({ type: "public", permissions: ["token:create"] });
    expect((await create({ application: { id: page.id } })).body.application_id).toBe(page.id);
  });

  it("are rejected with an error if their code does not compile", async () => {
    const before = (await tenant.manage("GET", "/proxies")).body.pagination.total_items;
    const response = await create({
      request_transform: { code: "module.exports = async function (req) {\n  return {;\n}" },
    });
    expect(faults(response)).toEqual([422, ["request_transform.code"]]);
    expect(response.body.errors["request_transform.code"][0]).toMatch(/\(line 2, column \d+\)$/);
    expect((await tenant.manage("GET", "/proxies")).body.pagination.total_items).toBe(before);
    const { body } = await create({});
    expect(
      faults(await put(body.id, { name: "B", destination_url: URL_OF, response_transform: { code: "}" } })),
    ).toEqual([422, ["response_transform.code"]]);
    expect(faults(await patch(body.id, { response_transform: { code: "(" } }))).toEqual([
      422,
      ["response_transform.code"],
    ]);
    expect(await get(body.id)).toEqual(body);
  });

  it("are replaced as a whole: omitted fields are cleared", async () => {
    const { body: made } = await create({
      request_transform: GOOD,
      application: { id: backEnd.id },
      configuration: { A: "1" },
      require_auth: false,
    });
    const { status, body } = await put(made.id, { name: "B", destination_url: "https://other.example.com/" });
    expect(status).toBe(200);
    expect(body).toMatchObject({
      id: made.id,
      key: made.key,
      name: "B",
      destination_url: "https://other.example.com/",
      require_auth: true,
      modified_at: expect.stringMatching(TIME),
    });
    for (const gone of ["application_id", "request_transform"]) expect(Object.keys(body)).not.toContain(gone);
    expect(body.configuration ?? {}).toEqual({});
    expect(await get(made.id)).toEqual(body);
    expect(faults(await put(made.id, { name: "C", destination_url: "https://10.0.0.1" }))).toEqual([
      400,
      ["destination_url"],
    ]);
    expect(await get(made.id)).toEqual(body);
  });

  it("have at most 100,000 characters of configuration, however many patches bring them", async () => {
    const refused = { configuration: ["must have at most 100000 characters in all"] };
    const large = await create({ configuration: { A: "x".repeat(100_000) } });
    expect([large.status, large.body.errors]).toEqual([400, refused]);
    const made = await create({ configuration: { A: "x".repeat(60_000) } });
    const patched = await patch(made.body.id, { configuration: { B: "x".repeat(60_000) } });
    expect([patched.status, patched.body.errors]).toEqual([400, refused]);
    const put60 = {
      name: "A",
      destination_url: URL_OF,
      configuration: { A: "x".repeat(60_000), B: "x".repeat(60_000) },
    };
    expect((await put(made.body.id, put60)).body.errors).toEqual(refused);
    expect((await get(made.body.id)).configuration).toEqual({ A: "x".repeat(60_000) });
  });

  it("are listed up to 8 MB at a time", async () => {
    const own = await newTenant();
    for (let count = 0; count < 2; count += 1) {
      const options = { location: "$.a", value: "x".repeat(4_500_000) };
      const transforms = [{ type: "append_json", options }];
      const body = { name: "A", destination_url: URL_OF, request_transforms: transforms };
      expect((await own.manage("POST", "/proxies", { body })).status).toBe(201);
    }
    const refused = await own.manage("GET", "/proxies");
    expect([refused.status, refused.body.errors]).toEqual([
      400,
      { size: ["must be smaller: the proxies of this page have more than 8388608 bytes together"] },
    ]);
    expect((await own.manage("GET", "/proxies?size=1")).body.data).toHaveLength(1);
  });

  it("are patched: 204, configuration merged, null clears", async () => {
    const { body: made } = await create({
      request_transform: GOOD,
      response_transform: GOOD,
      application: { id: backEnd.id },
      configuration: { A: "1", B: "2" },
    });
    const response = await patch(made.id, {
      configuration: { B: null, C: "3" },
      request_transform: null,
      name: "Patched",
    });
    expect({ status: response.status, body: response.body }).toEqual({ status: 204, body: "" });
    const patched = await get(made.id);
    expect(patched).toMatchObject({
      name: "Patched",
      configuration: { A: "1", C: "3" },
      response_transform: GOOD,
      application_id: backEnd.id,
    });
    expect(Object.keys(patched)).not.toContain("request_transform");
    expect((await patch(made.id, { application: null })).status).toBe(204);
    expect(Object.keys(await get(made.id))).not.toContain("application_id");
    expect((await patch(made.id, {})).status).toBe(204);
  });

  it.each<[string, object, string[]]>([
    ["a private destination", { destination_url: "https://10.0.0.1/" }, ["destination_url"]],
    ["no destination", { destination_url: null }, ["destination_url"]],
    ["no name", { name: null }, ["name"]],
    ["configuration that is not a string", { configuration: { A: {} } }, ["configuration.A"]],
    ["configuration with a NUL", { configuration: { A: "a\0b" } }, ["configuration.A"]],
    [
      "more configuration than a new one may have",
      { configuration: Object.fromEntries(Array.from({ length: 100 }, (_, index) => [`B${index}`, ""])) },
      ["configuration"],
    ],
    ["a wrong application", { application: { id: "01980f70-1a2b-7c4d-9e5f-60718293a4b5" } }, ["application.id"]],
  ])("are not changed by a patch with %s", async (_, wrong, fields) => {
    const { body: made } = await create({ configuration: { A: "1" } });
    expect(faults(await patch(made.id, { name: "Other", ...wrong }))).toEqual([400, fields]);
    expect(await get(made.id)).toEqual(made);
  });

  it.each(["application/json", "text/plain", "application/x-www-form-urlencoded"])(
    "are not patched by %s",
    async (type) => {
      const { body: made } = await create({});
      expect((await patch(made.id, { name: "Other" }, { "Content-Type": type })).status).toBe(415);
      expect(await get(made.id)).toEqual(made);
    },
  );

  it("are listed by ids and by name, with wildcards and ignoring case", async () => {
    const own = await newTenant();
    const ids: string[] = [];
    for (const name of ["Alpha One", "alpha two", "Beta_100%", "gamma"]) {
      const { body } = await own.manage("POST", "/proxies", { body: { name, destination_url: URL_OF } });
      ids.push(body.id);
    }
    const names = async (query: string) =>
      (await own.manage("GET", `/proxies${query}`)).body.data.map(({ name }: { name: string }) => name);
    expect(await names("")).toEqual(["gamma", "Beta_100%", "alpha two", "Alpha One"]);
    expect(await names(`?id=${ids[0]}&id=${ids[3]}`)).toEqual(["gamma", "Alpha One"]);
    expect(await names("?name=ALPHA")).toEqual(["alpha two", "Alpha One"]);
    expect(await names("?name=alpha*o")).toEqual(["alpha two"]);
    expect(await names("?name=*one")).toEqual(["Alpha One"]);
    expect(await names("?name=_100%25")).toEqual(["Beta_100%"]);
    expect(await names("?name=%25")).toEqual(["Beta_100%"]);
    expect(await names("?name=alpha&page=2&size=1")).toEqual(["Alpha One"]);
    expect((await own.manage("GET", "/proxies?size=3")).body.pagination).toEqual({
      total_items: 4,
      page_number: 1,
      page_size: 3,
      total_pages: 2,
    });
    expect(faults(await own.manage("GET", "/proxies?id=none&size=101"))[0]).toBe(400);
  });

  it("are deleted, once", async () => {
    const { body: made } = await create({});
    expect((await tenant.manage("DELETE", `/proxies/${made.id}`)).status).toBe(204);
    for (const [method, body] of [["GET"], ["DELETE"], ["PUT", { name: "A", destination_url: URL_OF }]] as const) {
      expect((await tenant.manage(method, `/proxies/${made.id}`, { ...(body ? { body } : {}) })).status).toBe(404);
    }
    expect((await patch(made.id, { name: "B" })).status).toBe(404);
  });

  it("need their own permissions, and are invisible to other tenants", async () => {
    const { body: made } = await create({});
    const reader = await tenant.application({ type: "management", permissions: ["proxy:read"] });
    expect((await reader("GET", `/proxies/${made.id}`)).status).toBe(200);
    expect((await reader("POST", "/proxies", { body: { name: "A", destination_url: URL_OF } })).status).toBe(403);
    expect((await reader("DELETE", `/proxies/${made.id}`)).status).toBe(403);
    expect((await reader("PATCH", `/proxies/${made.id}`, { body: {}, headers: MERGE })).status).toBe(403);
    const outsider = await newTenant();
    expect((await outsider.manage("GET", `/proxies/${made.id}`)).status).toBe(404);
    expect((await outsider.manage("DELETE", `/proxies/${made.id}`)).status).toBe(404);
    expect((await outsider.manage("GET", `/proxies?id=${made.id}`)).body.data).toEqual([]);
  });

  it("leave a log row for every operation on them", async () => {
    const { body: made } = await create({ configuration: { KEY: "hidden-value" } });
    await get(made.id);
    await put(made.id, { name: "B", destination_url: URL_OF });
    await patch(made.id, { name: "C" });
    await tenant.manage("DELETE", `/proxies/${made.id}`);
    const { body } = await tenant.manage("GET", `/logs?entity_type=proxy&entity_id=${made.id}`);
    expect(body.data.map(({ operation }: { operation: string }) => operation).sort()).toEqual([
      "create",
      "delete",
      "read",
      "update",
      "update",
    ]);
    expect(JSON.stringify(body)).not.toContain("hidden-value");
  });
});
