import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type ServerHere, startServerHere } from "../../support/server-here.js";
import { newTenant, type TestTenant } from "../../support/tenant.js";

let server: ServerHere;
let tenant: TestTenant;
let caller: Awaited<ReturnType<TestTenant["backEnd"]>>;
beforeAll(async () => {
  server = await startServerHere(
    { SANDBOX_THREADS: "1", SANDBOX_TIMEOUT_MS: "1500", SANDBOX_MEMORY_MB: "24" },
    { configure: ({ sandbox }) => ({ sandbox: { ...sandbox, queue: { ...sandbox.queue, total: 2 } } }) },
  );
  tenant = await newTenant(server.url, server.environment);
  caller = await tenant.backEnd();
});
afterAll(() => server?.[Symbol.asyncDispose]());

async function reactor(code: string): Promise<() => ReturnType<typeof caller>> {
  const { status, body } = await tenant.manage("POST", "/reactors", { body: { name: "Test", code } });
  expect(status, JSON.stringify(body)).toBe(201);
  return () => caller("POST", `/reactors/${body.id}/react`, { body: { args: {} } });
}

describe("limits set by the operator", () => {
  it("end a run that takes longer", async () => {
    const react = await reactor("module.exports = () => { for (;;); };");
    expect(await react()).toMatchObject({ status: 500, body: { errors: { error: ["The code took too long."] } } });
  });

  it("end a run that needs more memory, and no other", async () => {
    const taking = (megabytes: number) =>
      reactor(`module.exports = () => ({ raw: new Uint8Array(${megabytes} * 1024 * 1024).length });`);
    const [modest, greedy] = [await taking(8), await taking(32)];
    expect(await modest()).toMatchObject({ status: 200, body: { raw: 8 * 1024 * 1024 } });
    expect(await greedy()).toMatchObject({
      status: 500,
      body: { errors: { error: [expect.stringMatching(/memory/)] } },
    });
  });

  it("reject runs while the queue is full", async () => {
    const react = await reactor(
      "module.exports = async () => { await new Promise((done) => setTimeout(done, 1_200)); return { raw: 1 }; };",
    );
    // Sixteen runs of a tenant share a thread while they wait for something, and two wait. On a busy machine some requests
    // arrive when the first runs have ended.
    const statuses = await Promise.all(Array.from({ length: 60 }, async () => (await react()).status));
    const served = statuses.filter((status) => status === 200).length;
    expect(served).toBeGreaterThanOrEqual(18);
    expect(served).toBeLessThan(60);
    expect(statuses.filter((status) => status === 503)).toHaveLength(60 - served);
  });
});
