import { createHash } from "node:crypto";
import fc from "fast-check";
import { beforeAll, describe, expect, it } from "vitest";
import { changesBetween, readChanges, writeChanges } from "../../src/audit/log-changes.js";
import { newTenant, type TestTenant } from "../support/tenant.js";

describe("what a row says of a change", () => {
  it("is the fields that differ, by their names in the API", () => {
    const before = { role: "ADMIN", allowedOrigins: [], kept: { a: 1 } };
    const after = { role: "AUDITOR", allowedOrigins: ["https://a.example"], kept: { a: 1 } };
    expect(changesBetween(before, after)).toEqual([
      { field: "role", before: "ADMIN", after: "AUDITOR", isTruncated: false },
      { field: "allowed_origins", before: [], after: ["https://a.example"], isTruncated: false },
    ]);
    expect(changesBetween(after, after)).toEqual([]);
    expect(changesBetween(undefined, { role: "ADMIN", containers: [], name: undefined })).toEqual([
      { field: "role", before: null, after: "ADMIN", isTruncated: false },
    ]);
  });

  it("is read as it was written, and has at most 8,192 characters", () => {
    const value = fc.oneof(
      fc.jsonValue({ maxDepth: 2 }),
      fc.nat(12_000).map((length) => "x".repeat(length)),
    );
    const entity = fc.dictionary(fc.constantFrom("rules", "permissions", "templates", "role"), value);
    fc.assert(
      fc.property(entity, entity, (before, after) => {
        const changes = changesBetween(before, after);
        const text = writeChanges(changes);
        expect(text === undefined).toBe(changes.length === 0);
        expect(text?.length ?? 0).toBeLessThanOrEqual(8_192);
        const read = readChanges(text ?? null);
        expect(read.map(({ field }) => field)).toEqual(changes.map(({ field }) => field));
        for (const [index, { isTruncated, ...change }] of read.entries()) {
          if (!isTruncated) expect(change).toEqual({ ...changes[index], isTruncated: undefined });
        }
      }),
    );
  });

  it("has digests in place of values that are too long, longest first", () => {
    const [long, short] = ["x".repeat(9_000), ["token:read"]];
    const changes = readChanges(writeChanges(changesBetween({}, { rules: long, permissions: short })) ?? null);
    const digest = createHash("sha256").update(JSON.stringify(long)).digest("hex");
    expect(changes).toEqual([
      { field: "rules", before: null, after: `sha256:${digest}`, isTruncated: true },
      { field: "permissions", before: null, after: short, isTruncated: false },
    ]);
  });
});

describe("the log", () => {
  let tenant: TestTenant;
  beforeAll(async () => {
    tenant = await newTenant();
  });

  const changesOf = async (query: string) => {
    const { body } = await tenant.manage("GET", `/logs?${query}&size=1`);
    return body.data[0].changes;
  };

  it("shows what changed of an application's rights, without its names", async () => {
    const rule = {
      priority: 1,
      container: "/a/",
      transform: "mask",
      permissions: ["token:read"],
      description: "secret",
    };
    const { id } = await tenant.application({ type: "private", permissions: ["token:create"] });
    expect(await changesOf(`entity_type=application&entity_id=${id}`)).toEqual([
      { field: "type", before: null, after: "private", truncated: false },
      { field: "permissions", before: null, after: ["token:create"], truncated: false },
    ]);
    await tenant.manage("PUT", `/applications/${id}`, { body: { name: "Renamed", rules: [rule], permissions: [] } });
    const changes = await changesOf(`entity_type=application&entity_id=${id}`);
    const { description: _, ...logged } = rule;
    expect(changes).toEqual([
      { field: "permissions", before: ["token:create"], after: [], truncated: false },
      { field: "rules", before: [], after: [logged], truncated: false },
      { field: "revision", before: 0, after: expect.any(Number), truncated: false },
    ]);
  });

  it("shows what changed of roles, containers and settings", async () => {
    const body = { email: "d@example.com", role: "DEVELOPER", containers: ["/test/"] };
    const { body: made } = await tenant.manage("POST", "/tenants/self/invitations", { body });
    expect(await changesOf(`entity_type=invitation&entity_id=${made.id}`)).toMatchObject([
      { field: "role", after: "DEVELOPER" },
      { field: "containers", after: ["/test/"] },
    ]);
    await tenant.manage("PUT", "/tenants/self", { body: { name: "T2", settings: { reveal_to_people: "true" } } });
    expect(await changesOf("entity_type=tenant")).toMatchObject([
      { field: "name", before: "Test", after: "T2" },
      { field: "reveal_to_people", before: false, after: true },
    ]);
  });
});
