import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { newUuid } from "../../../src/base/ids.js";
import { cloakroom } from "../../support/command.js";
import { newTenant, type TestTenant } from "../../support/tenant.js";

type Application = Awaited<ReturnType<TestTenant["backEnd"]>>;

const CODE =
  "module.exports = async (req) => ({ raw: { total: req.args.amount + req.configuration.FEE, rest: Object.keys(req.args), live: req.configuration.LIVE } });";
const FORMULA = {
  type: "private",
  name: "Add the fee",
  description: "Adds what the shop takes",
  icon: "data:image/png;base64,iVBORw0KGgo=",
  code: CODE,
  configuration: [
    { name: "FEE", description: "In cents", type: "number" },
    { name: "LIVE", type: "boolean" },
  ],
  request_parameters: [
    { name: "amount", description: "In cents", type: "number" },
    { name: "customer.name", type: "string", optional: true },
  ],
};

let tenant: TestTenant;
let caller: Application;
let directory: string;
const official = "6f6b1c1e-31a8-4b5e-9a64-0c7d7b5f2a10";

beforeAll(async () => {
  tenant = await newTenant();
  caller = await tenant.backEnd();
  directory = mkdtempSync(join(tmpdir(), "cloakroom-formulas-"));
});
afterAll(() => rmSync(directory, { recursive: true, force: true }));

async function made(change: object = {}): Promise<string> {
  const { status, body } = await tenant.manage("POST", "/reactor-formulas", { body: { ...FORMULA, ...change } });
  expect(status, JSON.stringify(body)).toBe(201);
  return body.id;
}

function reactorFrom(formula: string, configuration: object = { FEE: "30", LIVE: "true" }) {
  return tenant.manage("POST", "/reactors", {
    body: { name: "From a formula", formula: { id: formula }, configuration },
  });
}

/** The refusals in the last log rows. */
async function refusals(rows: number): Promise<string[]> {
  const { body } = await tenant.manage("GET", `/logs?entity_type=reactor_formula&size=${rows}`);
  for (const { operation, message, actor_id } of body.data) {
    expect({ operation, message }).toEqual({ operation: "refuse", message: "Reactor Formula refused: official" });
    expect(actor_id).toMatch(/^[0-9a-f-]{36}$/);
  }
  return body.data.map(({ entity_id }: { entity_id: string }) => entity_id);
}

describe("a reactor formula", () => {
  it("is created, read, listed by name, replaced and deleted", async () => {
    const id = await made({ name: "Wardrobe one" });
    const { body } = await tenant.manage("GET", `/reactor-formulas/${id}`);
    expect(body).toMatchObject({ ...FORMULA, name: "Wardrobe one", id, status: "verified" });
    const listed = await tenant.manage("GET", "/reactor-formulas?name=Wardrobe*");
    expect(listed.body.data.map((formula: { id: string }) => formula.id)).toEqual([id]);
    const replaced = await tenant.manage("PUT", `/reactor-formulas/${id}`, {
      body: { type: "private", name: "Wardrobe two", code: CODE },
    });
    expect(replaced.status).toBe(200);
    expect(replaced.body).toMatchObject({ name: "Wardrobe two", configuration: [], request_parameters: [] });
    expect((await tenant.manage("DELETE", `/reactor-formulas/${id}`)).status).toBe(204);
    expect((await tenant.manage("GET", `/reactor-formulas/${id}`)).status).toBe(404);
  });

  it.each<[string, object, number, string]>([
    ["no name", { name: undefined }, 400, "name"],
    ["a description of 1,001 characters", { description: "x".repeat(1001) }, 400, "description"],
    ["an icon that is a drawing", { icon: "data:image/svg+xml;base64,AAAA" }, 400, "icon"],
    ["an icon that is not a data URL", { icon: "https://example.com/icon.png" }, 400, "icon"],
    [
      "a dot in a configuration name",
      { configuration: [{ name: "a.b", type: "string" }] },
      400,
      "configuration[0].name",
    ],
    ["an unknown configuration type", { configuration: [{ name: "a", type: "date" }] }, 400, "configuration[0].type"],
    [
      "a request parameter that ends with a dash",
      { request_parameters: [{ name: "a-", type: "string" }] },
      400,
      "request_parameters[0].name",
    ],
    [
      "a request parameter that begins with a dot",
      { request_parameters: [{ name: ".ab", type: "string" }] },
      400,
      "request_parameters[0].name",
    ],
    [
      "two parameters of one name",
      { request_parameters: [FORMULA.request_parameters[0], FORMULA.request_parameters[0]] },
      400,
      "request_parameters[1].name",
    ],
    ["code that does not compile", { code: "module.exports = (" }, 422, "code"],
  ])("with %s is rejected by the name of its field", async (_, change, status, field) => {
    const response = await tenant.manage("POST", "/reactor-formulas", {
      body: { ...FORMULA, name: "Refused", ...change },
    });
    expect(response.status).toBe(status);
    expect(Object.keys(response.body.errors)).toContain(field);
    const listed = await tenant.manage("GET", "/reactor-formulas?name=Refused");
    expect(listed.body.data).toEqual([]);
  });

  it("may have a parameter of one character, and other names are refused in words", async () => {
    const withName = (name: string) =>
      tenant.manage("POST", "/reactor-formulas", {
        body: { ...FORMULA, request_parameters: [{ name, type: "string" }] },
      });
    expect((await withName("n")).status).toBe(201);
    expect((await withName("n.")).body.errors).toEqual({
      "request_parameters[0].name": ["must be letters, digits, ., - or _, with a letter, digit or _ at both ends"],
    });
  });

  it("cannot be created by a tenant if it is official", async () => {
    const id = await made();
    const wanted = "0192a000-0000-7000-8000-000000000001";
    const body = { ...FORMULA, type: "official" };
    const tries = [
      tenant.manage("POST", "/reactor-formulas", { body }),
      tenant.manage("POST", "/reactor-formulas", { body: { ...body, id: wanted } }),
      tenant.manage("PUT", `/reactor-formulas/${id}`, { body }),
    ];
    expect((await Promise.all(tries)).map(({ status }) => status)).toEqual([403, 403, 403]);
    expect(new Set(await refusals(3))).toEqual(new Set(["*", wanted, id]));
  });

  it("cannot be deleted while a reactor uses it", async () => {
    const id = await made();
    expect((await reactorFrom(id)).status).toBe(201);
    expect((await tenant.manage("DELETE", `/reactor-formulas/${id}`)).status).toBe(409);
    expect((await tenant.manage("GET", `/reactor-formulas/${id}`)).status).toBe(200);
  });
});

describe("a reactor made from a formula", () => {
  it("gets its configuration in the declared types, and undeclared arguments", async () => {
    const { body: reactor } = await reactorFrom(await made());
    const token = (await caller("POST", "/tokens", { body: { type: "token", data: 1000 } })).body.id;
    const { status, body } = await caller("POST", `/reactors/${reactor.id}/react`, {
      body: { args: { amount: `{{ ${token} }}`, note: "x" } },
    });
    expect(status, JSON.stringify(body)).toBe(200);
    expect(body.raw).toEqual({ total: 1030, rest: ["amount", "note"], live: true });
  });

  it.each<[string, object, string]>([
    ["a missing argument", { note: 1 }, "amount"],
    ["an argument of another type", { amount: "ten" }, "amount"],
    ["a nested argument of another type", { amount: 1, customer: { name: 5 } }, "customer.name"],
  ])("rejects %s with 400", async (_, args, name) => {
    const { body: reactor } = await reactorFrom(await made());
    const { status, body } = await caller("POST", `/reactors/${reactor.id}/react`, { body: { args } });
    expect(status).toBe(400);
    expect(JSON.stringify(body.errors)).toContain(name);
  });

  it.each<[string, object]>([
    ["without an entry", { FEE: "30" }],
    ["with one of another type", { FEE: "much", LIVE: "true" }],
  ])("is rejected with %s of its configuration", async (_, configuration) => {
    const { status, body } = await reactorFrom(await made(), configuration);
    expect(status).toBe(400);
    expect(JSON.stringify(body)).toMatch(/configuration/i);
  });

  it("reads entries of its configuration by any name", async () => {
    const names = ["constructor", "__proto__", "toString"];
    const code =
      "module.exports = async ({ configuration }) => ({ raw: Object.getOwnPropertyNames(configuration).map((name) => [name, configuration[name]]) });";
    const configuration = names.map((name) => ({ name, type: "number" }));
    const formula = await made({ code, configuration, request_parameters: [] });
    const { status, body } = await reactorFrom(formula, {});
    expect([status, Object.keys(body.errors)]).toEqual([400, names.map((name) => `configuration.${name}`)]);
    const { body: reactor } = await reactorFrom(
      formula,
      JSON.parse('{"constructor":"1","__proto__":"2","toString":"3"}'),
    );
    expect(Object.entries(reactor.configuration)).toEqual([
      ["constructor", "1"],
      ["__proto__", "2"],
      ["toString", "3"],
    ]);
    const patch = {
      headers: { "Content-Type": "application/merge-patch+json" },
      raw: '{"configuration":{"__proto__":"5"}}',
    };
    expect((await tenant.manage("PATCH", `/reactors/${reactor.id}`, patch)).status).toBe(204);
    const { body: result } = await caller("POST", `/reactors/${reactor.id}/react`, { body: {} });
    expect(result.raw).toEqual([
      ["constructor", 1],
      ["__proto__", 5],
      ["toString", 3],
    ]);
  });

  it("accepts parameters whose names begin or end with an underscore", async () => {
    const request_parameters = [
      { name: "_first", type: "string" },
      { name: "last_", type: "string", optional: true },
    ];
    const { body: reactor } = await reactorFrom(await made({ request_parameters }));
    const call = (args: object) => caller("POST", `/reactors/${reactor.id}/react`, { body: { args } });
    expect((await call({ amount: 1, _first: "x" })).status).toBe(200);
    expect(await call({ amount: 1, last_: "x" })).toMatchObject({
      status: 400,
      body: { errors: { "args._first": [expect.any(String)] } },
    });
  });

  it("is rejected for a formula of another tenant", async () => {
    const outsider = await newTenant();
    const { body } = await outsider.manage("POST", "/reactor-formulas", { body: FORMULA });
    expect((await reactorFrom(body.id)).status).toBe(400);
  });
});

describe("official formulas", () => {
  async function importing(documents: unknown) {
    const file = join(directory, "formulas.json");
    writeFileSync(file, JSON.stringify(documents));
    return cloakroom(inject("serverEnvironment"), "formulas", "import", "--file", file, "--json");
  }

  it("are imported by the operator, offered to every tenant, and read-only for all", async () => {
    const name = `Official ${official.slice(0, 4)}`;
    const imported = await importing([{ ...FORMULA, type: "official", id: official, name }]);
    expect(imported.stderr).toBe("");
    expect(JSON.parse(imported.stdout)).toEqual([{ id: official, name }]);
    for (const { manage } of [tenant, await newTenant()]) {
      const { body } = await manage("GET", `/reactor-formulas?name=${encodeURIComponent(name)}`);
      expect(body.data).toEqual([expect.objectContaining({ id: official, type: "official", name })]);
    }
    expect((await tenant.manage("DELETE", `/reactor-formulas/${official}`)).status).toBe(403);
    const replaced = await tenant.manage("PUT", `/reactor-formulas/${official}`, { body: FORMULA });
    expect(replaced.status).toBe(403);
    expect(await refusals(2)).toEqual([official, official]);
    const { status, body: reactor } = await reactorFrom(official);
    expect(status).toBe(201);
    const { body } = await caller("POST", `/reactors/${reactor.id}/react`, { body: { args: { amount: 5 } } });
    expect(body.raw.total).toBe(35);
  });

  it("are listed together for a tenant that has none of its own", async () => {
    const documents = [1, 2].map((n) => ({ ...FORMULA, type: "official", id: newUuid(), name: `Listed ${n}` }));
    expect((await importing(documents)).stderr).toBe("");
    const { manage } = await newTenant();
    const { body } = await manage("GET", "/reactor-formulas?size=50");
    expect(body.data).toHaveLength(body.pagination.total_items);
    const names = body.data.map(({ name }: { readonly name: string }) => name);
    expect(names).toEqual(expect.arrayContaining(["Listed 1", "Listed 2"]));
  });

  it.each<[string, unknown, RegExp]>([
    ["no id", { ...FORMULA, type: "official" }, /id/],
    ["code that does not compile", { ...FORMULA, type: "official", id: official, code: "(" }, /compile|code/],
  ])("with %s are rejected in one line, and nothing is imported", async (_, document, words) => {
    const { code, stderr, stdout } = await importing([
      { ...FORMULA, id: official, type: "official", name: "Half" },
      document,
    ]);
    expect({ failed: code !== 0, stdout }).toEqual({ failed: true, stdout: "" });
    expect(stderr).toMatch(words);
    expect((await tenant.manage("GET", "/reactor-formulas?name=Half")).body.data).toEqual([]);
  });
});
