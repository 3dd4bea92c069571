import { kill } from "node:process";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { childNamed } from "../../bench/processor-time.js";
import type { RestClient } from "../../support/rest.js";
import { type ServerProcess, startServerProcess } from "../../support/server.js";
import { firstTenant, newTenant, type TestTenant } from "../../support/tenant.js";

// A server of its own: what happens to its runner here happens to all that runs there.
describe("reactors of others", () => {
  let server: ServerProcess;
  let greedy: TestTenant;
  let modest: TestTenant;
  beforeAll(async () => {
    server = await startServerProcess();
    greedy = await firstTenant(server);
    modest = await newTenant(server.url, { ...server.environment });
  });
  afterAll(() => server[Symbol.asyncDispose]());

  const reactor = async (tenant: TestTenant, code: string): Promise<string> => {
    const { status, body } = await tenant.manage("POST", "/reactors", { body: { name: "Test", code } });
    expect(status, JSON.stringify(body)).toBe(201);
    return body.id;
  };
  const react = (client: RestClient, id: string) => client("POST", `/reactors/${id}/react`, { body: { args: {} } });

  it("are answered while a tenant's endless loops run, as many as there may be", async () => {
    const loop = await reactor(greedy, "module.exports = () => { for (;;); };");
    const { key } = await greedy.backEnd();
    const client = await modest.backEnd();
    const quick = await reactor(modest, "module.exports = () => ({ raw: 'quick' });");
    const leave = new AbortController();
    let ended = 0;
    const loops = Array.from({ length: 16 }, () =>
      fetch(`${server.url}/reactors/${loop}/react`, {
        method: "POST",
        headers: { "BT-API-KEY": key, "Content-Type": "application/json" },
        body: "{}",
        signal: leave.signal,
      })
        .catch(() => undefined)
        .finally(() => {
          ended += 1;
        }),
    );
    try {
      for (let call = 0; call < 10; call += 1) {
        expect(await react(client, quick)).toMatchObject({ status: 200, body: { raw: "quick" } });
      }
      expect(ended, "loops that ended before the others were answered").toBe(0);
    } finally {
      leave.abort();
      await Promise.all(loops);
    }
  });

  it("end with an error that may be retried when their runner is killed, and nothing else is hurt", async () => {
    const client = await modest.backEnd();
    const { body: token } = await client("POST", "/tokens", { body: { type: "token", data: "kept" } });
    const slow = await reactor(
      modest,
      "module.exports = async () => { await new Promise((done) => setTimeout(done, 20000)); return { raw: 'late' }; };",
    );
    const calls = Array.from({ length: 50 }, () => react(client, slow));
    await expect
      .poll(
        async () =>
          (await modest.manage("GET", `/logs?entity_type=reactor&entity_id=${slow}&size=100`)).body.data.length,
        {
          timeout: 10_000,
        },
      )
      .toBe(51);
    kill(childNamed(server.process.pid ?? 0, "runner.js"), "SIGKILL");
    for (const { status, body, headers } of await Promise.all(calls)) {
      expect([status, body.code, headers.get("retry-after")]).toEqual([503, "unavailable", "1"]);
    }
    expect((await client("GET", `/tokens/${token.id}`)).body.data).toBe("kept");
    const quick = await reactor(modest, "module.exports = () => ({ raw: 'back' });");
    expect(await react(client, quick)).toMatchObject({ status: 200, body: { raw: "back" } });
    expect(server.process.exitCode).toBeNull();
  });
});
