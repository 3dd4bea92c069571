import { once } from "node:events";
import { createServer, type Server } from "node:http";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { newTenantId } from "../../src/base/ids.js";
import { EgressPolicy } from "../../src/egress/egress-policy.js";
import { createGuardedAgents, type GuardedAgents } from "../../src/egress/guarded-agents.js";
import { FairFetchLimiter } from "../../src/functions/fair-fetch-limiter.js";
import { FetchedBytes } from "../../src/functions/fetched-bytes.js";
import { guardedFetch } from "../../src/functions/serve-host-calls.js";

const KB = 1024;
const CHUNK = Buffer.alloc(100 * KB, "x");

let destination: Server;
let url: string;
let agents: GuardedAgents;
/** Ends the responses that the destination holds open. */
const held: (() => void)[] = [];

beforeAll(async () => {
  destination = createServer((request, response) => {
    if (request.url === "/large") response.end(Buffer.alloc(1100 * KB));
    else {
      response.write(CHUNK);
      held.push(() => response.end("y"));
    }
  }).listen(0, "127.0.0.1");
  await once(destination, "listening");
  const address = destination.address();
  url = `http://127.0.0.1:${typeof address === "object" && address ? address.port : 0}/`;
  agents = createGuardedAgents(new EgressPolicy({ allow: "127.0.0.1" }));
});
afterAll(() => {
  agents.close();
  destination.closeAllConnections();
  destination.close();
});

function fetching(limits = { ofTenant: 350 * KB, ofAll: 550 * KB, guaranteed: 0 }) {
  const fetched = new FetchedBytes(limits);
  return (tenantId = newTenantId(), target = url) =>
    guardedFetch({ agents, turns: new FairFetchLimiter(), fetched }, tenantId)(
      { method: "GET", url: target, headers: [] },
      AbortSignal.timeout(20_000),
    );
}

const endAll = async (count: number) => {
  await vi.waitFor(() => expect(held).toHaveLength(count));
  for (const end of held.splice(0)) end();
};

/** Why the first of the calls to fail was refused. A response that ended earlier frees its share, so none may end before. */
const firstRefusal = (calls: Promise<unknown>[]): Promise<unknown> =>
  Promise.any(
    calls.map((call) =>
      call.then(
        () => expect.unreachable(),
        (error) => error,
      ),
    ),
  );

it("responses that a tenant's code fetches at once are bounded together, and free their share", async () => {
  const get = fetching();
  const tenant = newTenantId();
  for (const _ of [1, 2]) {
    const calls = Array.from({ length: 5 }, () => get(tenant));
    const outcomes = Promise.allSettled(calls);
    const refused = await firstRefusal(calls);
    expect(refused).toMatchObject({ code: "ELIMIT", message: expect.stringContaining("fetches at once") });
    await endAll(5);
    const [done, failed] = [(await outcomes).filter(({ status }) => status === "fulfilled"), await outcomes];
    expect(done.length).toBeGreaterThan(2);
    expect(failed.length - done.length).toBeGreaterThan(0);
  }
});

it("responses for several tenants are bounded together too", async () => {
  const get = fetching();
  const calls = Array.from({ length: 6 }, () => get());
  const outcomes = Promise.allSettled(calls);
  await firstRefusal(calls);
  await endAll(6);
  const refused = (await outcomes).filter(({ status }) => status === "rejected");
  for (const outcome of refused) expect(outcome).toMatchObject({ reason: { code: "ELIMIT" } });
});

it("what other tenants hold takes nothing of what each is guaranteed", async () => {
  const get = fetching({ ofTenant: 350 * KB, ofAll: 600 * KB, guaranteed: 150 * KB });
  const greedy = [newTenantId(), newTenantId()];
  const holding = Promise.allSettled(greedy.flatMap((tenant) => [get(tenant), get(tenant), get(tenant)]));
  await vi.waitFor(() => expect(held).toHaveLength(6));
  const modest = get();
  await endAll(7);
  expect(await modest).toMatchObject({ status: 200 });
  await holding;
});

it("a response that is larger than code may get is not read to its end", async () => {
  const get = fetching({ ofTenant: 5_000 * KB, ofAll: 5_000 * KB, guaranteed: 0 });
  await expect(get(newTenantId(), `${url}large`)).rejects.toMatchObject({
    code: "ELIMIT",
    message: "the response is larger than 1048576 bytes",
  });
});
