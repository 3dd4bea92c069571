import { beforeAll, describe, expect, it } from "vitest";
import { Cloakroom } from "../../../clients/typescript/src/node.js";
import { newTenant, type TestTenant } from "../../support/tenant.js";
import { CuttingProxy } from "./support/cutting-proxy.js";
import { errorOf } from "./support/error-of.js";

/** CUT_TRIES makes another number of tokens, and prints what it took. */
const TRIES = Number(process.env.CUT_TRIES ?? 200);
const TIME_LIMIT_MS = Math.max(180_000, 150 * TRIES);

let tenant: TestTenant;
let apiKey: string;
beforeAll(async () => {
  tenant = await newTenant();
  apiKey = (await tenant.backEnd()).key;
});

/** Runs a task for each number, this many concurrently. */
async function forEach(count: number, atOnce: number, task: (n: number) => Promise<unknown>): Promise<void> {
  let next = 0;
  const work = async () => {
    while (next < count) {
      next += 1;
      await task(next);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, work));
}

describe.each(["grpc", "connect"] as const)("lost connections over %s", (transport) => {
  it(
    "never create a token twice, nor lose one",
    async () => {
      await using proxy = await CuttingProxy.start(tenant.url);
      await using client = new Cloakroom({ baseUrl: proxy.url, apiKey, transport, maxRetries: 30, timeout: 60_000 });
      const containers = [`/cuts-${transport}/`];
      // Over gRPC several calls share a chunk. Cutting by count makes each run cut enough.
      const cutEvery = transport === "grpc" ? 15 : 25;
      proxy.cutEvery = cutEvery;
      let attempts = 0;
      await forEach(TRIES, 5, async (n) => {
        const response = await client.tokens.create({ type: "token", data: n, containers }).withResponse();
        attempts += response.attempts;
      });
      proxy.cutEvery = 0;
      const tokens = await client.tokens
        .list<number>({ container: `/cuts-${transport}/`, size: 100 })
        .toArray({ limit: 2 * TRIES });
      expect(tokens.map(({ data }) => data).toSorted((a, b) => Number(a) - Number(b))).toEqual(
        Array.from({ length: TRIES }, (_, n) => n + 1),
      );
      expect(proxy.cuts).toBeGreaterThanOrEqual(TRIES / 50);
      expect(attempts).toBeGreaterThan(TRIES);
      if (process.env.CUT_TRIES)
        console.info(`${transport}: ${TRIES} tokens, ${attempts} attempts, ${proxy.cuts} cuts`);

      // A repeated delete finds nothing, and has succeeded.
      proxy.cutEvery = cutEvery;
      await forEach(tokens.length / 2, 5, (n) => client.tokens.delete(tokens[n - 1]?.id ?? ""));
      proxy.cutEvery = 0;
      const left = await client.tokens.list({ container: `/cuts-${transport}/`, size: 100 }).toArray({ limit: TRIES });
      expect(left).toHaveLength(TRIES / 2);
      if (process.env.CUT_TRIES) console.info(`${transport}: ${TRIES / 2} deletes, ${proxy.cuts} cuts in all`);
    },
    TIME_LIMIT_MS,
  );

  it("fail a call that may have run and must not run twice", async () => {
    await using proxy = await CuttingProxy.start(tenant.url);
    await using client = new Cloakroom({ baseUrl: proxy.url, apiKey, transport });
    await client.tokens.get("none").catch(() => {});
    proxy.cutEvery = 1;
    const error = await errorOf(client.proxies.invoke({ proxyKey: "none", method: "POST" }));
    expect(error).toMatchObject({ code: "connection_failed", attempts: 1, idempotencyKey: undefined });
    const keyed = await errorOf(client.tokens.create({ type: "token", data: "x" }));
    expect(keyed).toMatchObject({ code: "connection_failed", attempts: 3, idempotencyKey: expect.any(String) });
    expect(await errorOf(client.tokens.create({ type: "token", data: "x" }, { maxRetries: 0 }))).toMatchObject({
      attempts: 1,
    });
  });

  it("are reopened by the next call", async () => {
    await using proxy = await CuttingProxy.start(tenant.url);
    await using client = new Cloakroom({ baseUrl: proxy.url, apiKey, transport });
    const { id } = await client.tokens.create({ type: "token", data: "x" });
    for (let n = 0; n < 3; n += 1) {
      proxy.cutAll();
      expect((await client.tokens.get(id)).data).toBe("x");
    }
    expect(proxy.accepted).toBeGreaterThanOrEqual(4);
  });
});

it("shares one connection between all calls", async () => {
  await using proxy = await CuttingProxy.start(tenant.url);
  await using client = new Cloakroom({ baseUrl: proxy.url, apiKey });
  await Promise.all(Array.from({ length: 300 }, () => client.tokens.create({ type: "token", data: "x" })));
  expect(proxy.accepted).toBe(1);
});

it("opens another connection after a silent one has delayed a call", async () => {
  await using proxy = await CuttingProxy.start(tenant.url);
  await using client = new Cloakroom({ baseUrl: proxy.url, apiKey });
  const { id } = await client.tokens.create({ type: "token", data: "x" });
  proxy.freezeAll();
  expect(await errorOf(client.tokens.get(id, { timeout: 200 }))).toMatchObject({ code: "timeout" });
  // The client sent a PING when the call timed out. After five seconds without a response it connects again.
  expect((await client.tokens.get(id, { timeout: 20_000 })).data).toBe("x");
  expect(proxy.accepted).toBe(2);
});
