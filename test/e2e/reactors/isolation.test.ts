import { kill } from "node:process";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { childNamed } from "../../bench/processor-time.js";
import type { RestClient } from "../../support/rest.js";
import { type ServerProcess, startServerProcess } from "../../support/server.js";
import { firstTenant, newTenant, type TestTenant } from "../../support/tenant.js";

// A server of its own: failures of its runner affect everything that runs there.
describe("reactors of other tenants", () => {
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

  it("are answered while one tenant runs as many endless loops as it may", async () => {
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

  it("are answered while a tenant signs with a fabricated RSA key of 131,072 bits", async () => {
    const client = await modest.backEnd();
    const quick = await reactor(modest, "module.exports = () => ({ raw: 'quick' });");
    const signing = await reactor(
      greedy,
      "module.exports = ({ args }) => ({ raw: require('crypto').sign('sha256', Buffer.from('x'), { key: args.jwk, format: 'jwk' }).length });",
    );
    const number = (bits: number) => Buffer.alloc(bits / 8, 0xff).toString("base64url");
    const half = number(65_536);
    const jwk = {
      kty: "RSA",
      n: number(131_072),
      e: "AQAB",
      d: number(131_072),
      p: half,
      q: half,
      dp: half,
      dq: half,
      qi: half,
    };
    const attack = (await greedy.backEnd())("POST", `/reactors/${signing}/react`, { body: { args: { jwk } } });
    expect((await react(client, quick)).status).toBe(200);
    expect(await attack).toMatchObject({
      status: 500,
      body: { errors: { error: [expect.stringContaining("at most 4096 bits")] } },
    });
  });

  it("are saved and answered while a tenant saves code that does not compile in time", async () => {
    const client = await modest.backEnd();
    const code = `module.exports = () => ({ raw: 1 }); ${"/\\p{RGI_Emoji}/v;".repeat(2_800)}`;
    const statuses: number[] = [];
    const attack = Array.from({ length: 8 }, async (_, index) => {
      for (let round = 0; round < 2; round += 1) {
        const body = { name: "Attack", code: `/* ${index} ${round} */ ${code}` };
        statuses.push((await greedy.manage("POST", "/reactors", { body })).status);
      }
    });
    const ended = Promise.all(attack);
    do {
      const quick = await reactor(modest, `module.exports = () => ({ raw: ${statuses.length} });`);
      expect((await react(client, quick)).status).toBe(200);
    } while (statuses.length < 16);
    await ended;
    // 422 for code that took too long, 503 while the circuit breaker is open or the turn did not come.
    expect(statuses.filter((status) => status === 422).length).toBeGreaterThanOrEqual(3);
    expect(statuses.every((status) => status === 422 || status === 503)).toBe(true);
    const refused = await greedy.manage("POST", "/reactors", {
      body: { name: "Honest", code: "module.exports = () => 1" },
    });
    expect(refused).toMatchObject({
      status: 503,
      body: { code: "unavailable", detail: expect.stringContaining("No more is compiled for") },
    });
    expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0);
  });

  it("end with a retryable error when their runner is killed, and nothing else is affected", async () => {
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
