import { beforeAll, describe, expect, it } from "vitest";
import { openStored } from "../../support/stored.js";
import { newTenant, type TestTenant } from "../../support/tenant.js";

type Application = Awaited<ReturnType<TestTenant["backEnd"]>>;

let tenant: TestTenant;
let caller: Application;
let author: Application;

beforeAll(async () => {
  tenant = await newTenant();
  caller = await tenant.backEnd();
  author = await tenant.application({ type: "management", permissions: ["reactor:update"] });
});

const FAILING = `module.exports = async function (req) {
  console.warn("called with", req.args);
  if (req.args.fails) throw new Error("it failed for " + req.args.fails);
  return { raw: 1 };
};`;

async function reactor(code = FAILING): Promise<string> {
  const { status, body } = await tenant.manage("POST", "/reactors", { body: { name: "Failing", code } });
  expect(status, JSON.stringify(body)).toBe(201);
  return body.id;
}

const react = (id: string, args: object) => caller("POST", `/reactors/${id}/react`, { body: { args } });
const failedRuns = (id: string, client = author) => client("GET", `/reactors/${id}/failed-runs`);

describe("the failed runs of a reactor", () => {
  it("are there once their caller has the response, newest first, with console output, location and duration", async () => {
    const id = await reactor();
    expect((await react(id, { fails: "the first" })).status).toBe(500);
    expect((await react(id, {})).status).toBe(200);
    expect((await react(id, { fails: "the second" })).status).toBe(500);
    const { status, body } = await failedRuns(id);
    expect(status, JSON.stringify(body)).toBe(200);
    const run = (which: string) => ({
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      kind: "reactor",
      error: {
        ...{ status: 500, detail: "Reactor Runtime Error" },
        errors: { error: [expect.stringContaining(`it failed for ${which}`)] },
        position: { line: 3, column: expect.any(Number) },
      },
      console: [{ level: "warn", text: `called with { fails: '${which}' }` }],
      duration_ms: expect.any(Number),
      memory_bytes: expect.any(Number),
      created_at: expect.stringMatching(/^20\d\d-/),
    });
    expect(body).toEqual({ data: [run("the second"), run("the first")] });
  });

  it("are sealed where they are stored", async () => {
    await using stored = await openStored();
    const id = await reactor();
    await react(id, { fails: "a card of 4242424242424242" });
    const text = await stored.textOf(tenant.id, "failed_runs");
    expect(text).toContain(id);
    for (const secret of ["4242424242424242", "it failed for", "called with"]) {
      expect(text).not.toContain(secret);
      expect(text).not.toContain(Buffer.from(secret).toString("hex"));
    }
    expect(JSON.stringify((await failedRuns(id)).body)).toContain("4242424242424242");
  });

  it("include those of asynchronous runs", async () => {
    const id = await reactor();
    await caller("POST", `/reactors/${id}/react-async`, { body: { args: { fails: "later" } } });
    await expect.poll(async () => (await failedRuns(id)).body.data.length).toBe(1);
  });

  it("leave a log row for each reader", async () => {
    const id = await reactor();
    await failedRuns(id);
    const { body } = await tenant.manage("GET", `/logs?entity_type=reactor&entity_id=${id}&size=1`);
    expect(body.data).toEqual([expect.objectContaining({ operation: "read", actor_id: author.id })]);
    expect(body.data[0].message).toContain("failed runs");
  });

  it("are shown to callers who may change the code of their own tenant, and to no others", async () => {
    const id = await reactor();
    await react(id, { fails: "hidden" });
    const reader = await tenant.application({ type: "management", permissions: ["reactor:read", "reactor:create"] });
    expect((await failedRuns(id, reader)).status).toBe(403);
    expect((await failedRuns(id, caller)).status).toBe(403);
    const other = await newTenant();
    const outsider = await other.application({ type: "management", permissions: ["reactor:update"] });
    expect((await failedRuns(id, outsider)).status).toBe(404);
    expect((await failedRuns("00000000-0000-4000-8000-000000000000")).status).toBe(404);
    expect((await failedRuns("not-an-id")).status).toBe(400);
  });

  it("are deleted with the reactor", async () => {
    await using stored = await openStored();
    const id = await reactor();
    await react(id, { fails: "and goes" });
    expect(await stored.textOf(tenant.id, "failed_runs")).toContain(id);
    await tenant.manage("DELETE", `/reactors/${id}`);
    expect((await failedRuns(id)).status).toBe(404);
    expect(await stored.textOf(tenant.id, "failed_runs")).not.toContain(id);
  });

  it("keep what was truncated to its limits", async () => {
    const long = "x".repeat(5_000);
    const id = await reactor(
      `module.exports = async () => { for (let i = 0; i < 1000; i += 1) console.log(i, "${long}"); throw new Error("${long}"); };`,
    );
    await react(id, {});
    const { body } = await failedRuns(id);
    expect(JSON.stringify(body).length).toBeLessThan(150_000);
    expect(body.data[0].error.errors.error[0].length).toBe(2_000);
  });
});
