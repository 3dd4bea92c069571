import { once } from "node:events";
import { createServer } from "node:net";
import { expect, it } from "vitest";
import { newTenantId } from "../../src/base/ids.js";
import { EgressPolicy } from "../../src/egress/egress-policy.js";
import { createGuardedAgents, type GuardedAgentOptions } from "../../src/egress/guarded-agents.js";
import { FairFetchLimiter } from "../../src/functions/fair-fetch-limiter.js";
import { FetchedBytes } from "../../src/functions/fetched-bytes.js";
import { guardedFetch } from "../../src/functions/serve-host-calls.js";

const coded = (code: string) => Object.assign(new Error(code), { code });

/** The code with which a fetch of tenants' code fails. */
async function codeOf(url: string, options: GuardedAgentOptions = {}): Promise<unknown> {
  const agents = createGuardedAgents(new EgressPolicy({ allow: "127.0.0.1" }), options);
  const turns = new FairFetchLimiter({ ofTenant: 3, ofAll: 5, guaranteed: 1 });
  const fetch = guardedFetch({ agents, turns, fetched: new FetchedBytes() }, newTenantId());
  const failure: unknown = await fetch({ method: "GET", url, headers: [] }, AbortSignal.timeout(20_000)).catch(
    (error: unknown) => error,
  );
  agents.close();
  return Object(failure).code;
}

it("a fetch of tenants' code fails with the code of Node's clients, by which libraries decide on retries", async () => {
  const resetting = createServer((socket) => socket.once("data", () => socket.resetAndDestroy()));
  resetting.listen(0, "127.0.0.1");
  await once(resetting, "listening");
  const { port } = Object(resetting.address());
  const unresolved = "https://shop.example/";
  expect({
    unknown: await codeOf(unresolved, { resolve: async () => [] }),
    failing: await codeOf(unresolved, { resolve: () => Promise.reject(coded("ESERVFAIL")) }),
    slow: await codeOf(unresolved, { resolve: () => new Promise(() => {}), nameTimeoutMs: 20 }),
    lost: await codeOf(`http://127.0.0.1:${port}/`),
    refused: await codeOf("http://10.0.0.1/"),
  }).toEqual({
    ...{ unknown: "ENOTFOUND", failing: "EAI_AGAIN", slow: "ETIMEDOUT", lost: "ECONNRESET", refused: "EREFUSED" },
  });
  resetting.close();
  await once(resetting, "close");
  expect(await codeOf(`http://127.0.0.1:${port}/`)).toBe("ECONNREFUSED");
});
