import { beforeAll, describe, expect, it } from "vitest";
import type { RestClient } from "../../support/rest.js";
import { newTenant, type TestTenant } from "../../support/tenant.js";

describe("the id of a token", () => {
  let tenant: TestTenant;
  let backEnd: RestClient;
  beforeAll(async () => {
    tenant = await newTenant();
    backEnd = await tenant.backEnd();
  });
  const create = (id: string, data: unknown = "x") => backEnd("POST", "/tokens", { body: { type: "token", id, data } });

  it.each(["abc", "order-1_2.3", "a:b;c,d!e~f$g(h)i*j'k@l", "x".repeat(400), "Zoë 世界 👋", `"quoted"`, "a`b"])(
    "may be %j, and finds the token",
    async (id) => {
      const created = await create(id);
      expect(created).toMatchObject({ status: 201, body: { id } });
      expect(created.headers.get("location")).toBe(`/tokens/${encodeURIComponent(id)}`);
      expect(await backEnd("GET", `/tokens/${encodeURIComponent(id)}`)).toMatchObject({ status: 200, body: { id } });
      expect(await backEnd("DELETE", `/tokens/${encodeURIComponent(id)}`)).toMatchObject({ status: 204 });
    },
  );

  it.each([
    "",
    "ab",
    "x".repeat(401),
    "a/b",
    "a\\b",
    "a#b",
    "a?b",
    "a+b",
    "a%b",
    "a&b",
    "a=b",
    "a<b",
    "a>b",
    "a[b",
    "a]b",
    "a{b",
    "a}b",
    "a|b",
    "a^b",
    " ab",
    "ab ",
    "a\nb",
    "a\u0000b",
  ])("may not be %j", async (id) => {
    const { status, body } = await create(id);
    expect({ status, code: body.code, fields: Object.keys(body.errors ?? {}) }).toEqual({
      status: 400,
      code: "validation_failed",
      fields: ["id"],
    });
  });

  it("is taken once, and free again after the token is deleted", async () => {
    const id = "once-only";
    expect(await create(id, "first")).toMatchObject({ status: 201 });
    const second = await create(id, "second");
    expect(second).toMatchObject({ status: 409, body: { code: "already_exists", errors: { id: ["is taken"] } } });
    expect(await backEnd("GET", `/tokens/${id}`)).toMatchObject({ body: { data: "first" } });
    expect(await backEnd("DELETE", `/tokens/${id}`)).toMatchObject({ status: 204 });
    expect(await create(id, "third")).toMatchObject({ status: 201, body: { id } });
  });

  it("goes to one of several concurrent requests for it", async () => {
    const responses = await Promise.all(Array.from({ length: 20 }, (_, index) => create("wanted-by-all", index)));
    expect(responses.map(({ status }) => status).toSorted()).toEqual([201, ...Array<number>(19).fill(409)]);
    const winner = responses.findIndex(({ status }) => status === 201);
    expect(await backEnd("GET", "/tokens/wanted-by-all")).toMatchObject({ body: { data: winner } });
  });

  it("is unique per tenant: another tenant may use the same", async () => {
    expect(await create("shared-name", "mine")).toMatchObject({ status: 201 });
    const other = await (await newTenant()).backEnd();
    expect(await other("GET", "/tokens/shared-name")).toMatchObject({ status: 404 });
    const theirs = await other("POST", "/tokens", { body: { type: "token", id: "shared-name", data: "theirs" } });
    expect(theirs.status).toBe(201);
    expect(await backEnd("GET", "/tokens/shared-name")).toMatchObject({ body: { data: "mine" } });
    expect(await other("GET", "/tokens/shared-name")).toMatchObject({ body: { data: "theirs" } });
  });

  it("may be computed from the data by an expression", async () => {
    const alias = await create("{{ data.number | alias_card }}", { number: "4242424242424242" });
    expect(alias.status).toBe(201);
    expect(alias.body.id).toMatch(/^\d{16}$/);
    expect(alias.body.id).not.toBe("4242424242424242");
    const named = await create("customer-{{ data.n }}", { n: 7 });
    expect(named).toMatchObject({ status: 201, body: { id: "customer-7" } });
  });

  it.each(["{{ data.n", "{{ data | nope }}", "{{ data.missing }}"])(
    "names the id when its expression is %j",
    async (id) => {
      const { status, body } = await create(id, { n: 1 });
      expect({ status, fields: Object.keys(body.errors ?? {}) }).toEqual({ status: 400, fields: ["id"] });
    },
  );

  const NUMBER = "4242424242424242";
  it.each([
    "{{ data.c | append: '-' | append: data.n | append: 'zzzz' | alias_preserve_length: 20, 0 }}",
    "{{ data.c | append: '-' | append: data.n | append: 'zzzz' | alias_preserve_format: 20, 0 }}",
    "{{ data.n }}-{{ data.c }}",
    "{{ data | stringify | replace: '{', '' | replace: '}', '' }}",
    "{{ data.n | split: '' | reverse | join: '.' }} {{ data.c | to_number }}",
  ])("shows no hidden digit and no code, computed by %s", async (id) => {
    const secret = { n: "4242427352824242", c: "987" };
    const shown: string[] = [];
    for (let round = 0; round < 5; round += 1) {
      const made = await create(id, secret);
      expect(made.status).toBe(201);
      shown.push(made.body.id);
    }
    // Random digits may be those of the card, or of the code, once: five of them are in 1 of 25,000 ids.
    expect(shown.filter((text) => /73528|82537/.test(text)).length, shown.join("\n")).toBeLessThan(2);
    expect(new Set(shown).size).toBeGreaterThan(1);
  });

  it.each([NUMBER, `order-${NUMBER}`, "4242 4242 4242 4242"])(
    "may not be %j, with or without that card",
    async (id) => {
      for (const data of ["x", NUMBER]) {
        const refused = { status: 400, body: { errors: { id: [expect.stringContaining("BIN and last four")] } } };
        expect(await create(id, data)).toMatchObject(refused);
      }
      const card = { type: "card", data: { number: "5555555555554444" }, id: "5555 5555 5555 4444" };
      expect(await backEnd("POST", "/tokenize", { body: { a: card } })).toMatchObject({
        status: 400,
        body: { errors: { "a.id": [expect.any(String)] } },
      });
    },
  );

  it("may not come to hold the digits of a card that is patched in", async () => {
    expect(await create("shop 5555 5574 4433", "x")).toMatchObject({ status: 201 });
    const headers = { "Content-Type": "application/merge-patch+json" };
    const patch = (data: unknown) => backEnd("PATCH", "/tokens/shop 5555 5574 4433", { headers, body: { data } });
    expect(await patch("5555555555744433")).toMatchObject({
      status: 400,
      body: { errors: { data: [expect.any(String)] } },
    });
    expect(await patch("5555555555554444")).toMatchObject({ status: 200 });
  });

  it("finds nothing after the token is deleted, and cannot be deleted again", async () => {
    const { body } = await backEnd("POST", "/tokens", { body: { type: "token", data: 1 } });
    const path = `/tokens/${body.id}`;
    const deleted = await backEnd("DELETE", path);
    expect(deleted).toMatchObject({ status: 204, body: "" });
    expect(deleted.headers.get("content-type")).toBeNull();
    expect(await backEnd("GET", path)).toMatchObject({ status: 404, body: { code: "not_found" } });
    expect(await backEnd("DELETE", path)).toMatchObject({ status: 404, body: { code: "not_found" } });
  });
});
