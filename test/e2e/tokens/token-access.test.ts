import { beforeAll, describe, expect, it } from "vitest";
import type { RestClient } from "../../support/rest.js";
import { newTenant, type TestTenant } from "../../support/tenant.js";
import { withoutIds } from "../../support/without-ids.js";

const data = { number: "4242424242424242", expiration_month: 12, expiration_year: 2030 };
const masked = { ...data, number: "XXXXXXXXXXXX4242" };

describe("an access rule", () => {
  let tenant: TestTenant;
  let backEnd: RestClient;
  beforeAll(async () => {
    tenant = await newTenant();
    backEnd = await tenant.backEnd();
  });

  const cardIn = async (...containers: string[]): Promise<string> => {
    const { status, body } = await backEnd("POST", "/tokens", { body: { type: "card", data, containers } });
    expect(status).toBe(201);
    return body.id;
  };
  const holderOf = (...rules: object[]) =>
    tenant.application({ type: "private", rules: rules.map((rule, index) => ({ priority: index + 1, ...rule })) });
  const rule = (container: string, transform: string, ...permissions: string[]) => ({
    container,
    transform,
    permissions,
  });

  it.each([
    ["reveal", data, masked],
    ["mask", masked, masked],
    ["redact", undefined, undefined],
  ])("%s", async (transform, shown, response) => {
    const holder = await holderOf(rule("/pci/", transform, "token:read", "token:create", "token:update"));
    const id = await cardIn("/pci/high/");
    const read = await holder("GET", `/tokens/${id}`);
    expect(read.status).toBe(200);
    expect(read.body.data).toEqual(shown);
    const created = await holder("POST", "/tokens", { body: { type: "card", data, containers: ["/pci/"] } });
    expect(created.status).toBe(201);
    expect(created.body.data).toEqual(response);
    const body = { metadata: { patched: "yes" } };
    const headers = { "Content-Type": "application/merge-patch+json" };
    const patched = await holder("PATCH", `/tokens/${id}`, { headers, body });
    expect(patched.status).toBe(200);
    expect(patched.body.data).toEqual(response);
    const item = { type: "card", data, containers: ["/pci/"] };
    const tokenized = await holder("POST", "/tokenize", { body: [item] });
    expect(tokenized.status).toBe(200);
    expect(tokenized.body[0].data).toEqual(response);
    expect(JSON.stringify([created.body, patched.body, tokenized.body])).not.toContain(data.number);
    for (const { body } of [read, created]) {
      expect(body).toMatchObject({ type: "card", fingerprint_expression: "{{ data.number }}" });
      if (transform !== "reveal") expect(JSON.stringify(body)).not.toContain(data.number);
    }
  });

  it("covers a container and all below it, by whole segments", async () => {
    const holder = await holderOf(rule("/pci/high/", "reveal", "token:read"));
    for (const container of ["/pci/high/", "/pci/high/eu/"]) {
      expect(await holder("GET", `/tokens/${await cardIn(container)}`)).toMatchObject({ status: 200, body: { data } });
    }
    for (const container of ["/pci/", "/pci/higher/", "/", "/pci/low/"]) {
      expect(await holder("GET", `/tokens/${await cardIn(container)}`)).toMatchObject({
        status: 403,
        body: { code: "permission_denied" },
      });
    }
  });

  it("is chosen as the first by priority that has the permission", async () => {
    const holder = await tenant.application({
      type: "private",
      rules: [
        { priority: 30, ...rule("/", "redact", "token:read") },
        { priority: 10, ...rule("/", "reveal", "token:create") },
        { priority: 20, ...rule("/pci/", "mask", "token:read") },
        { priority: 15, ...rule("/pci/eu/", "reveal", "token:read") },
      ],
    });
    const shownIn = async (container: string) => (await holder("GET", `/tokens/${await cardIn(container)}`)).body.data;
    expect(await shownIn("/pci/eu/paris/")).toEqual(data);
    expect(await shownIn("/pci/us/")).toEqual(masked);
    expect(await shownIn("/other/")).toBeUndefined();
  });

  it("covers a token in several containers through any of them", async () => {
    const id = await cardIn("/a/", "/b/");
    const holder = await holderOf(rule("/b/", "reveal", "token:read"));
    expect(await holder("GET", `/tokens/${id}`)).toMatchObject({ status: 200, body: { data } });
  });

  it("must cover every container of a new token; the strictest transform wins", async () => {
    const holder = await holderOf(rule("/a/", "reveal", "token:create"), rule("/b/", "redact", "token:create"));
    const create = (...containers: string[]) => holder("POST", "/tokens", { body: { type: "card", data, containers } });
    expect(await create("/a/")).toMatchObject({ status: 201, body: { data: masked } });
    const both = await create("/a/", "/b/");
    expect(both.status).toBe(201);
    expect(both.body).not.toHaveProperty("data");
    expect(await create("/a/", "/c/")).toMatchObject({ status: 403, body: { code: "permission_denied" } });
    // The default container of a card.
    expect(await create()).toMatchObject({ status: 403 });
  });

  it("must cover every container that a tokenize request names", async () => {
    const holder = await holderOf(rule("/a/", "mask", "token:create"));
    const leaf = await holder("POST", "/tokenize", { body: { secret: "x" } });
    expect(leaf).toMatchObject({ status: 403, body: { code: "permission_denied" } });
    const item = { type: "token", data: "x", containers: ["/a/b/"] };
    expect(await holder("POST", "/tokenize", { body: { items: [item] } })).toMatchObject({ status: 200 });
    expect(await holder("POST", "/tokenize", { body: { items: [item], secret: "x" } })).toMatchObject({ status: 403 });
  });

  it("for deletion is a separate permission, decided by container", async () => {
    const id = await cardIn("/a/");
    const reader = await holderOf(rule("/", "reveal", "token:read"));
    expect(await reader("DELETE", `/tokens/${id}`)).toMatchObject({ status: 403 });
    const elsewhere = await holderOf(rule("/b/", "reveal", "token:delete"));
    expect(await elsewhere("DELETE", `/tokens/${id}`)).toMatchObject({ status: 403 });
    const eraser = await holderOf(rule("/a/", "redact", "token:delete"));
    expect(await eraser("GET", `/tokens/${id}`)).toMatchObject({ status: 403 });
    expect(await eraser("DELETE", `/tokens/${id}`)).toMatchObject({ status: 204 });
  });

  it("equals plain permissions when they show masks everywhere", async () => {
    const clerk = await tenant.application({ type: "private", permissions: ["token:read", "token:delete"] });
    const id = await cardIn("/deep/down/");
    expect(await clerk("GET", `/tokens/${id}`)).toMatchObject({ status: 200, body: { data: masked } });
    expect(await clerk("DELETE", `/tokens/${id}`)).toMatchObject({ status: 204 });
  });

  it("comes before plain permissions", async () => {
    const mixed = await tenant.application({
      type: "private",
      permissions: ["token:read"],
      rules: [{ priority: 1, ...rule("/a/", "reveal", "token:read") }],
    });
    expect(await mixed("GET", `/tokens/${await cardIn("/a/")}`)).toMatchObject({ body: { data } });
    expect(await mixed("GET", `/tokens/${await cardIn("/b/")}`)).toMatchObject({ body: { data: masked } });
  });

  it("reveals nothing about a token that its caller may not see, except that they may not", async () => {
    const id = await cardIn("/hidden/");
    const holder = await holderOf(rule("/a/", "reveal", "token:read"));
    const { status, body } = await holder("GET", `/tokens/${id}`);
    expect(status).toBe(403);
    expect(withoutIds(body)).not.toMatch(/card|hidden|4242/);
    expect(await holder("GET", "/tokens/not-there")).toMatchObject({ status: 404 });
  });

  it("does not reach into another tenant", async () => {
    const id = await cardIn("/a/");
    const outsider = await (await newTenant()).backEnd();
    expect(await outsider("GET", `/tokens/${id}`)).toMatchObject({ status: 404 });
    expect(await outsider("DELETE", `/tokens/${id}`)).toMatchObject({ status: 404 });
    expect(await outsider("POST", "/detokenize", { body: [`{{ ${id} }}`] })).toMatchObject({ status: 400 });
    expect(await backEnd("GET", `/tokens/${id}`)).toMatchObject({ status: 200 });
  });

  it("allows a public application to create, and to see masks at most", async () => {
    const page = await tenant.application({ type: "public", permissions: ["token:create"] });
    const created = await page("POST", "/tokens", { body: { type: "card", data } });
    expect(created).toMatchObject({ status: 201, body: { data: masked } });
    expect(await page("GET", `/tokens/${created.body.id}`)).toMatchObject({ status: 403 });
  });
});
