import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type ServerHere, startServerHere } from "../../support/server-here.js";
import { newTenant, type TestTenant } from "../../support/tenant.js";

let server: ServerHere;
let tenant: TestTenant;
let caller: Awaited<ReturnType<TestTenant["backEnd"]>>;
beforeAll(async () => {
  server = await startServerHere({ SANDBOX_THREADS: "1", SANDBOX_TIMEOUT_MS: "1500", SANDBOX_MEMORY_MB: "24" });
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
});

describe("a queue of the operator's length", () => {
  it("rejects runs while it is full", async () => {
    await using held = await startHeldService();
    await using limited = await startServerHere(
      { SANDBOX_THREADS: "1", SANDBOX_TIMEOUT_MS: "30000", EGRESS_ALLOW: "127.0.0.1" },
      {
        configure: ({ sandbox }) => ({
          sandbox: { ...sandbox, queue: { ...sandbox.queue, total: 2, waitMs: 600_000 } },
        }),
      },
    );
    const own = await newTenant(limited.url, limited.environment);
    const code = `module.exports = async () => { await fetch(${JSON.stringify(held.url)}); return { raw: 1 }; };`;
    const { body } = await own.manage("POST", "/reactors", { body: { name: "Waits", code } });
    const back = await own.backEnd();
    const statuses: number[] = [];
    const react = async () => {
      const { status } = await back("POST", `/reactors/${body.id}/react`, { body: { args: {} } });
      statuses.push(status);
      // Sixteen runs of a tenant share a thread while they wait for something, two wait for the thread, and none ends before
      // the others were refused.
      if (statuses.length === 12) held.answer();
    };
    await Promise.all(Array.from({ length: 30 }, react));
    expect(statuses).toEqual([...Array(12).fill(503), ...Array(18).fill(200)]);
  });
});

/** A service that answers nothing before `answer` is called, and everything afterwards. */
async function startHeldService() {
  const { promise: told, resolve: answer } = Promise.withResolvers<void>();
  const service = createServer((_, response) => void told.then(() => response.end())).listen(0, "127.0.0.1");
  await once(service, "listening");
  const { port }: AddressInfo = Object(service.address());
  return {
    url: `http://127.0.0.1:${port}/`,
    answer,
    async [Symbol.asyncDispose]() {
      service.closeAllConnections();
      service.close();
    },
  };
}
