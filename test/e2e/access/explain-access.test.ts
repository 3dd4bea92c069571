import { beforeAll, describe, expect, it } from "vitest";
import { newTenant, type TestTenant } from "../../support/tenant.js";

let tenant: TestTenant;
let tokenId: string;
let masking: string;
let reader: Awaited<ReturnType<TestTenant["application"]>>;

const rule = (priority: number, container: string, transform: string, permissions: readonly string[]) => ({
  ...{ priority, container, transform, permissions },
});

beforeAll(async () => {
  tenant = await newTenant();
  const backEnd = await tenant.backEnd();
  const { body } = await backEnd("POST", "/tokens", {
    body: { type: "token", data: "secret", containers: ["/pci/high/"] },
  });
  tokenId = String(body.id);
  ({ id: masking } = await tenant.application({
    type: "private",
    rules: [
      rule(1, "/pci/low/", "reveal", ["token:read"]),
      rule(2, "/", "mask", ["token:search"]),
      rule(3, "/pci/", "mask", ["token:read"]),
      rule(4, "/", "reveal", ["token:read"]),
    ],
  }));
  reader = await tenant.application({
    type: "management",
    permissions: ["application:read"],
  });
});

const explain = (body: unknown, key = tenant.managementKey) =>
  tenant.manage("POST", "/permissions/explain", { body, key });

describe("POST /permissions/explain", () => {
  it("says of each rule what part it has in the decision", async () => {
    const { status, body } = await explain({ containers: ["/PCI/high/"], application_id: masking });
    expect(status).toBe(200);
    expect(body.data).toMatchObject([{ application_id: masking, type: "private", keys: 1, transform: "mask" }]);
    const steps = body.data[0].steps.map((step: { rule?: { priority: number }; outcome: string }) => [
      step.rule?.priority,
      step.outcome,
    ]);
    expect(steps).toEqual([
      [1, "outside_container"],
      [2, "no_permission"],
      [3, "decides"],
      [4, "not_reached"],
      [undefined, "not_reached"],
    ]);
  });

  it("lists every application, and what people of each role see", async () => {
    const { body } = await explain({ containers: ["/"], size: 100 });
    expect(body.data.length).toBe(body.pagination.total_items);
    expect(body.roles).toEqual([
      { role: "OWNER", transform: "mask" },
      { role: "ADMIN", transform: "mask" },
      { role: "AUDITOR", transform: "redact" },
      { role: "DEVELOPER" },
    ]);
  });

  it("explains rights that are not saved yet, and saves nothing", async () => {
    const before = await explain({ containers: ["/"] });
    const draft = { type: "private", rules: [rule(1, "/a/", "reveal", ["token:read"])] };
    const { body } = await explain({ containers: ["/a/b/"], draft });
    expect(body.data).toMatchObject([{ keys: 0, transform: "reveal" }]);
    expect((await explain({ containers: ["/b/"], draft })).body.data[0].transform).toBeUndefined();
    expect((await explain({ containers: ["/"] })).body).toEqual(before.body);
  });

  it("names the field that is wrong", async () => {
    const cases = [
      [{}, "token_id"],
      [{ token_id: "x", containers: ["/"] }, "token_id"],
      [{ containers: ["pci"] }, "containers[0]"],
      [{ containers: ["/"], permission: "log:read" }, "permission"],
      [{ containers: ["/"], draft: { type: "private" } }, "permissions"],
      [{ containers: ["/"], application_id: "x" }, "application_id"],
    ] as const;
    for (const [body, field] of cases) {
      const { status, body: problem } = await explain(body);
      expect([field, status, Object.keys(problem.errors)]).toEqual([field, 400, [field]]);
    }
    expect((await explain({ containers: ["/"], application_id: tenant.id })).status).toBe(404);
  });

  it("explains a token only to callers who may read it", async () => {
    const { status, body } = await explain({ token_id: tokenId }, reader.key);
    expect([status, body.code]).toEqual([403, "permission_denied"]);
    expect((await explain({ token_id: "unknown" }, reader.key)).status).toBe(404);
    const allowed = await tenant.application({ type: "private", permissions: ["token:read"] });
    expect((await explain({ token_id: tokenId }, allowed.key)).status).toBe(403);
  });
});
