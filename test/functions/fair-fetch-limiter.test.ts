import { once } from "node:events";
import { createServer, type Server } from "node:http";
import { afterAll, beforeAll, beforeEach, expect, it, vi } from "vitest";
import { newTenantId, type TenantId } from "../../src/base/ids.js";
import { EgressPolicy } from "../../src/egress/egress-policy.js";
import { createGuardedAgents, type GuardedAgents } from "../../src/egress/guarded-agents.js";
import { FairFetchLimiter } from "../../src/functions/fair-fetch-limiter.js";
import { FetchedBytes } from "../../src/functions/fetched-bytes.js";
import { guardedFetch } from "../../src/functions/serve-host-calls.js";

let destination: Server;
let url: string;
let agents: GuardedAgents;
/** Requests without a response from the destination, by path, in the order in which they came. */
let open: { readonly path: string; readonly end: () => void }[] = [];
let fetching: { agents: GuardedAgents; turns: FairFetchLimiter; fetched: FetchedBytes };

beforeAll(async () => {
  destination = createServer((request, response) => {
    open.push({ path: request.url ?? "", end: () => response.end("x") });
  }).listen(0, "127.0.0.1");
  await once(destination, "listening");
  const address = destination.address();
  url = `http://127.0.0.1:${typeof address === "object" && address ? address.port : 0}`;
  agents = createGuardedAgents(new EgressPolicy({ allow: "127.0.0.1" }));
});
afterAll(() => {
  agents.close();
  destination.closeAllConnections();
  destination.close();
});
beforeEach(() => {
  open = [];
  fetching = {
    agents,
    turns: new FairFetchLimiter({ ofTenant: 3, ofAll: 5, guaranteed: 1 }),
    fetched: new FetchedBytes(),
  };
});

const get = (tenantId: TenantId, path: string, signal = AbortSignal.timeout(20_000), timeoutMs?: number) =>
  guardedFetch(fetching, tenantId)({ method: "GET", url: `${url}${path}`, headers: [], timeoutMs }, signal);

const paths = () => open.map(({ path }) => path);

/** Answers the oldest open request of a path. */
async function respond(path: string): Promise<void> {
  await vi.waitFor(() => expect(paths()).toContain(path));
  const [found] = open.splice(paths().indexOf(path), 1);
  found?.end();
}

it("one tenant's fetches wait for each other beyond its limit, and all are made", async () => {
  const tenant = newTenantId();
  const calls = Array.from({ length: 10 }, () => get(tenant, "/a"));
  for (let left = 10; left > 0; left -= 1) {
    await vi.waitFor(() => expect(open).toHaveLength(Math.min(left, 3)));
    await respond("/a");
  }
  expect((await Promise.all(calls)).map(({ status }) => status)).toEqual(Array.from({ length: 10 }, () => 200));
});

it("several tenants take turns, and each has the fetches that it is guaranteed", async () => {
  const [first, second, third] = [newTenantId(), newTenantId(), newTenantId()];
  const calls = [
    ...Array.from({ length: 6 }, () => get(first, "/first")),
    ...Array.from({ length: 6 }, () => get(second, "/second")),
    get(third, "/third"),
  ];
  await vi.waitFor(() =>
    expect(paths().sort()).toEqual(["/first", "/first", "/first", "/second", "/second", "/third"]),
  );
  await respond("/third");
  for (const path of ["/first", "/second", "/first", "/second"]) await respond(path);
  for (let left = 8; left > 0; left -= 1) await respond((await vi.waitUntil(() => open[0])).path);
  await Promise.all(calls);
});

it("a fetch that waits ends with its run or at its own time limit, and takes no other's turn", async () => {
  const tenant = newTenantId();
  const held = Array.from({ length: 3 }, () => get(tenant, "/held"));
  await vi.waitFor(() => expect(open).toHaveLength(3));
  const run = new AbortController();
  const ended = get(tenant, "/ended", run.signal);
  const late = get(tenant, "/late", undefined, 20);
  const next = get(tenant, "/next");
  run.abort();
  await expect(ended).rejects.toMatchObject({ code: "EREFUSED" });
  await expect(late).rejects.toMatchObject({ code: "ETIMEDOUT" });
  await respond("/held");
  await respond("/next");
  await expect(next).resolves.toMatchObject({ status: 200 });
  for (const _ of [1, 2]) await respond("/held");
  await Promise.all(held);
});

it("a fetch that fails gives its turn to the next", async () => {
  const tenant = newTenantId();
  const failing = Array.from({ length: 20 }, () =>
    guardedFetch(fetching, tenant)(
      { method: "GET", url: "http://10.0.0.1/", headers: [] },
      AbortSignal.timeout(20_000),
    ),
  );
  for (const { status } of await Promise.allSettled(failing)) expect(status).toBe("rejected");
  const call = get(tenant, "/a");
  await respond("/a");
  await expect(call).resolves.toMatchObject({ status: 200 });
});
