// Needs: redis-server
// Computes: 8 s
import { rmSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { cloakroom } from "../../support/command.js";
import { newDirectory } from "../../support/new-directory.js";
import { PostgresCluster } from "../../support/postgres-cluster.js";
import { RedisServer } from "../../support/redis-server.js";
import { type Replica, startReplica } from "../../support/replica.js";
import { restClient } from "../../support/rest.js";
import { newTenant } from "../../support/tenant.js";
import { beginAtIssuer, unreachableIssuer } from "../support/begin-sign-in.js";

const PASSWORD = "s3cr3t-word";

describe("two replicas that share their counters in Redis", () => {
  let cluster: PostgresCluster;
  let redis: RedisServer;
  let environment: Record<string, string>;
  const directory = newDirectory();
  const replicas: Replica[] = [];
  beforeAll(async () => {
    [cluster, redis] = await Promise.all([PostgresCluster.start(), RedisServer.start(PASSWORD)]);
    environment = {
      DATABASE_URL: await cluster.login("vault", { attributes: "createrole" }),
      CLOAKROOM_DATA_DIR: join(directory, "data"),
      CLOAKROOM_RATE_LIMITS: "global=1000",
      CLOAKROOM_REDIS_URL: redis.url,
      CLOAKROOM_TRUSTED_PROXIES: "127.0.0.1",
      ...Object.fromEntries(Object.entries(unreachableIssuer()).map(([name, value]) => [`CLOAKROOM_${name}`, value])),
    };
    const init = await cloakroom(environment, "init");
    if (init.code !== 0) throw new Error(init.stderr);
    replicas.push(...(await Promise.all([startReplica(environment), startReplica(environment)])));
  });
  afterAll(async () => {
    await Promise.all(replicas.map((replica) => replica.stop()));
    await redis?.[Symbol.asyncDispose]();
    await cluster?.[Symbol.asyncDispose]();
    rmSync(directory, { recursive: true, force: true });
  });

  /** Searches of one client, at the replicas in turn. Returns the statuses. */
  const search = async (address: string, count: number): Promise<number[]> => {
    const statuses: number[] = [];
    for (let round = 0; round < count; round += 1) {
      const client = restClient(replicas[round % 2]?.url ?? "");
      const response = await client("POST", "/tokens/search", { headers: { "X-Forwarded-For": address } });
      statuses.push(response.status);
    }
    return statuses;
  };
  /**
   * How often each has said that Redis is away, and not yet that it is back: on a busy machine a slow response counts as
   * none.
   */
  const missed = () =>
    said("rate limits are per process").map((times, index) => times - (said("Redis reachable again")[index] ?? 0));
  const served = (statuses: readonly number[]) => statuses.filter((status) => status === 401).length;
  const said = (words: string) => replicas.map((replica) => replica.said().split(words).length - 1);

  it("limit a client together as one of them would, and both block it", async () => {
    let statuses: number[] = [];
    let lost = [0, 0];
    // Repeated with another client only if a replica said that it had lost Redis meanwhile.
    for (
      let client = 100;
      client < 105 && (statuses.length === 0 || String(lost) !== String(said("rate limits are per process")));
      client += 1
    ) {
      lost = said("rate limits are per process");
      statuses = await search(`203.0.113.${client}`, 60);
    }
    expect(statuses).toEqual([...Array(50).fill(401), ...Array(10).fill(429)]);
  });

  it("limit the sign-ins of a network together", async () => {
    const { id: tenantId } = await newTenant(replicas[0]?.url, environment);
    const together = [...Array(20).fill(429), ...Array(60).fill(503)];
    let statuses: number[] = [];
    // Repeated with another network: on a busy machine Redis may be missed, or the limit's window may end meanwhile. Replicas
    // that count by themselves refuse none.
    for (let network = 7; network < 17 && String(statuses) !== String(together); network += 1) {
      const begun = Array.from({ length: 80 }, (_, round) =>
        beginAtIssuer(replicas[round % 2]?.url ?? "", `198.51.${network}.7`, tenantId),
      );
      statuses = (await Promise.all(begun)).sort();
    }
    expect(statuses).toEqual(together);
  });

  it("continue, each counting by itself, while Redis is away, and say so; and together again once it is back", async () => {
    const { key } = await (await newTenant(replicas[0]?.url, environment)).backEnd();
    await redis.stop();
    await vi.waitFor(() => expect(missed()).toEqual([1, 1]));
    expect(served(await search("203.0.113.2", 110))).toBe(100);
    const body = { type: "token", data: "kept without counters" };
    expect(await restClient(replicas[1]?.url ?? "", key)("POST", "/tokens", { body })).toMatchObject({ status: 201 });
    await redis.startAgain();
    await vi.waitFor(() => expect(missed()).toEqual([0, 0]));
    expect(served(await search("203.0.113.3", 60))).toBe(50);
    for (const replica of replicas) expect(replica.said()).not.toContain(PASSWORD);
  });

  it("do not wait for a Redis that does not respond", async () => {
    const statuses = await redis.paused(() => search("203.0.113.4", 10));
    expect(served(statuses)).toBe(10);
  });

  it("start without it", async () => {
    await redis.stop();
    const replica = await startReplica(environment);
    try {
      await vi.waitFor(() => expect(replica.said()).toContain("rate limits are per process"));
      expect(await restClient(replica.url)("GET", "/readyz")).toMatchObject({ status: 200 });
    } finally {
      expect(await replica.stop()).toBe(0);
    }
  });
});
