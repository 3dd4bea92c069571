import { readFileSync } from "node:fs";
import { beforeAll, describe, expect, it } from "vitest";
import { newTenant, type TestTenant } from "../support/tenant.js";

const guide = readFileSync("docs/search.md", "utf8");
const quoted = (text: string) => [...text.matchAll(/`([^`]+)`/g)].map(([, code = ""]) => code);
const terms = guide.slice(guide.indexOf("| Field |")).split("\n\n", 1)[0] ?? "";
const examples = terms
  .split("\n")
  .slice(2)
  .flatMap((row) => quoted(row.split("|")[3] ?? ""));
const range = /an end that is `\*` is open: `([^`]+)`/.exec(guide)?.[1] ?? "";
const joined = /\n```\n(.+)\n```\n/.exec(guide)?.[1] ?? "";
const asked = /"query": "([^"]+)"/.exec(guide)?.[1] ?? "";

describe("the guide to searches", () => {
  let tenant: TestTenant;
  let backEnd: Awaited<ReturnType<TestTenant["backEnd"]>>;
  beforeAll(async () => {
    tenant = await newTenant();
    backEnd = await tenant.backEnd();
  });
  const search = (query: string) => backEnd("POST", "/tokens/search", { body: { query } });

  it("has an example of every field", () => {
    const fields = terms.split("\n").flatMap((row) => quoted(row.split("|")[1] ?? ""));
    expect(fields).toHaveLength(10);
    for (const field of fields.filter((name) => name !== "metadata.name" && name !== "modified_by")) {
      expect(examples.some((example) => example.startsWith(`${field}:`)) || field === "modified_at").toBe(true);
    }
  });

  it.each([...examples, range, joined, asked])("shows queries that can be asked: %s", async (query) => {
    expect(query).not.toBe("");
    const { status, body } = await search(query);
    expect(status, JSON.stringify(body)).toBe(200);
  });

  it("finds what the examples name", async () => {
    const definition = { type: "token", data: "Ada Lovelace", search_indexes: ["{{ data }}"] };
    const metadata = { "order id": "77", state: "OPEN", customer: "1043" };
    const made = await backEnd("POST", "/tokens", { body: { ...definition, metadata, containers: ["/pci/high/"] } });
    expect(made.status).toBe(201);
    const found = async (query: string) => (await search(query)).body.pagination.total_items;
    for (const query of ['data:"Ada Lovelace"', 'metadata."order id":77', "container:/pci/high/", "container:/pci/*"]) {
      expect([query, await found(query)]).toEqual([query, 1]);
    }
    expect(await found("metadata.state:open AND !type:card")).toBe(1);
    expect(await found("type:token NOT metadata.state:open")).toBe(0);
    expect(await found("container:/pci/")).toBe(0);
  });

  it("refuses what it says is refused", async () => {
    expect(await search("type:c*")).toMatchObject({ status: 400 });
    expect(await search("x".repeat(201))).toMatchObject({ status: 400 });
    expect((await search("type:card AND")).body.errors.query[0]).toContain("character");
  });
});
