import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { TokenLoad } from "../e2e/support/token-load.js";
import { expectNothingLost } from "../e2e/support/under-load.js";
import { type CommandResult, cloakroom, cloakroomProcess } from "../support/command.js";
import { newDirectory } from "../support/new-directory.js";
import { type Replica, startReplica } from "../support/replica.js";
import { restClient } from "../support/rest.js";
import { newTenant, type TestTenant } from "../support/tenant.js";
import { CitusHere } from "./support/citus-here.js";

const TENANTS = 6;
const SHARDS = "4";
/** What Citus calls the steps of a move, in their order. A short one may pass between two looks. */
const STEPS = [
  "Setting Up",
  "Copying Data",
  "Catching Up",
  "Creating Constraints",
  "Final Catchup",
  "Creating Foreign Keys",
  "Completing",
];
/** No step of a move takes so long. */
const ROUND_MS = 900_000;

// On clusters of its own: it kills their nodes.
describe.runIf(inject("isCluster") && process.env.TEST_CITUS)("a cluster that grows and shrinks under load", () => {
  const directory = newDirectory();
  const loads: { readonly tenant: TestTenant; readonly key: string; readonly load: TokenLoad }[] = [];
  let citus: CitusHere;
  let environment: Record<string, string>;
  let server: Replica;
  let isOver = false;
  let reading: Promise<unknown>;
  const wrongReads: unknown[] = [];

  beforeAll(async () => {
    citus = await CitusHere.start({ workers: 3, joined: 2 });
    environment = { DATABASE_URL: citus.url, CLOAKROOM_DATA_DIR: join(directory, "data") };
    expect(await cloakroom(environment, "init")).toMatchObject({ code: 0 });
    expect(await cloakroom(environment, "cluster", "distribute", "--shards", SHARDS)).toMatchObject({ code: 0 });
    server = await startReplica(environment);
    for (let number = 0; number < TENANTS; number += 1) {
      const tenant = await newTenant(server.url, environment);
      const { key } = await tenant.backEnd();
      const load = new TokenLoad(`tenant-${number}`, 1);
      load.start(restClient(server.url, key));
      load.slowDown();
      loads.push({ tenant, key, load });
    }
    reading = Promise.all(loads.map(({ key, load }) => readOn(key, load)));
  }, ROUND_MS);
  afterAll(async () => {
    isOver = true;
    await Promise.all(loads.map(({ load }) => load.stop()));
    await server?.stop();
    await citus?.[Symbol.asyncDispose]();
    rmSync(directory, { recursive: true, force: true });
  });

  /** Reads what was acknowledged, for as long as the load runs. */
  async function readOn(key: string, load: TokenLoad): Promise<void> {
    const client = restClient(server.url, key);
    for (let number = 0; !isOver; number += 7) {
      await pause(100);
      const [id] = load.acknowledged[number % load.acknowledged.length]?.acknowledged ?? [];
      if (id === undefined) continue;
      const { status, body } = await client("GET", `/tokens/${id}`);
      if (status !== 200 && status !== 503) wrongReads.push({ status, body });
    }
  }

  const administrator = () => ({ ...environment, MIGRATE_DATABASE_URL: citus.administratorUrl });
  const cluster = (...args: readonly string[]) => cloakroomProcess(administrator(), "cluster", ...args);
  const acknowledged = () => loads.map(({ load }) => load.acknowledged.length);

  /** Every tenant's writes go on. */
  async function expectWrites(): Promise<void> {
    const before = acknowledged();
    await expect.poll(() => acknowledged().every((count, tenant) => count > (before[tenant] ?? 0))).toBe(true);
  }

  /** What Citus says of the move under way. */
  function stepUnderWay(): Promise<string | undefined> {
    return citus.coordinator.inDatabase("vault", async (sql) => {
      const [move] = await sql<{ status: string }[]>`
        select status from get_rebalance_progress() where progress = 1 limit 1`;
      return move?.status;
    });
  }

  /** Waits until a move has come to a step, or is beyond it. False if the command ended before. */
  async function reach(step: string, child: ChildProcess): Promise<boolean> {
    while (child.exitCode === null) {
      const status = await stepUnderWay();
      if (status !== undefined && STEPS.indexOf(status) >= STEPS.indexOf(step)) return true;
    }
    return false;
  }

  function startCommand(...args: readonly string[]): ChildProcess {
    const env = { PATH: process.env.PATH, ...administrator() };
    return spawn(process.execPath, ["dist/src/main.js", "cluster", ...args], { env, stdio: "ignore" });
  }

  /** Runs a command again until it comes to its end, as an operator would. */
  async function complete(...args: readonly string[]): Promise<CommandResult> {
    for (;;) {
      const result = await cluster(...args);
      if (result.code === 0) return result;
      expect(result.stderr).toMatch(/run this again|Run this again/);
      await pause(1_000);
    }
  }

  const shardsOf = (worker: number) =>
    citus.coordinator.inDatabase("vault", async (sql) => {
      const [counted] = await sql<{ n: number }[]>`
        select count(*)::int as n from citus_shards
        where table_name = 'tenants'::regclass and nodeport = ${citus.workers[worker]?.port ?? 0}`;
      return counted?.n;
    });

  /** Nothing is left of moves, finished or not: neither old copies nor shards that do not restrict their owner. */
  async function expectClean(): Promise<void> {
    for (const node of citus.nodes) {
      const left = await node.inDatabase("vault", async (sql) => {
        await sql`set citus.override_table_visibility = off`;
        return await sql`
        select (select count(*)::int from pg_class where relrowsecurity and not relforcerowsecurity) as open,
          (select count(*)::int from pg_subscription) as subscriptions,
          (select count(*)::int from pg_replication_slots) as slots,
          (select count(*)::int from pg_dist_cleanup) as copies`;
      });
      expect([...left]).toEqual([{ open: 0, subscriptions: 0, slots: 0, copies: 0 }]);
    }
    expect(await cloakroom(environment, "doctor")).toMatchObject({ code: 0 });
  }

  it(
    "adds a node, moves tenants to it while the server is ready, and refuses a second command meanwhile",
    async () => {
      const added = citus.addressOf(2);
      for (const command of [["add-node", added], ["rebalance"], ["drain", added]]) {
        const refused = await cloakroom(environment, "cluster", ...command);
        expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining("a superuser of the coordinator")]);
      }
      expect(await cloakroom(administrator(), "cluster", "add-node", added)).toMatchObject({ code: 0 });
      expect(await shardsOf(2)).toBe(0);

      const readiness: unknown[] = [];
      const client = restClient(server.url);
      let runs = true;
      const rebalancing = cluster("rebalance").finally(() => {
        runs = false;
      });
      while (runs && (await stepUnderWay()) === undefined) await pause(50);
      const second = await cluster("drain", citus.addressOf(0));
      expect([second.code, second.stderr]).toEqual([1, expect.stringContaining("Another command changes the nodes")]);
      while (runs) {
        const { status, body } = await client("GET", "/readyz");
        if (status !== 200) readiness.push(body);
        await pause(100);
      }
      const { code, stderr } = await rebalancing;
      expect([code, stderr]).toEqual([0, expect.stringContaining("Moved 1 of 1")]);
      expect(readiness).toEqual([]);
      expect(await shardsOf(2)).toBe(1);
      await expectWrites();
      await expectClean();
    },
    ROUND_MS,
  );

  it.each(STEPS)(
    "continues a drain whose command is killed at: %s",
    async (step) => {
      const [from, back] = [citus.addressOf(0), "rebalance"];
      const doomed = startCommand("drain", from);
      const ended = once(doomed, "exit");
      await reach(step, doomed);
      doomed.kill("SIGKILL");
      await ended;
      await expectWrites();
      await complete("drain", from);
      expect(await shardsOf(0)).toBe(0);
      await expectClean();
      expect(await cloakroom(administrator(), "cluster", "add-node", from)).toMatchObject({ code: 0 });
      await complete(back, "--block-writes");
      expect(await shardsOf(0)).toBeGreaterThan(0);
    },
    ROUND_MS,
  );

  it.each([
    { killed: "the coordinator", node: () => citus.coordinator },
    { killed: "the node that gives", node: () => citus.workers[0] },
    { killed: "a node that receives", node: () => citus.workers[1] },
  ])(
    "continues a drain during which $killed is killed",
    async ({ node }) => {
      const from = citus.addressOf(0);
      const doomed = startCommand("drain", from);
      const ended = once(doomed, "exit");
      await reach("Copying Data", doomed);
      await node()?.killServer();
      await node()?.startServer();
      await ended;
      await complete("drain", from);
      expect(await shardsOf(0)).toBe(0);
      await expectWrites();
      await expectClean();
      expect(await cloakroom(administrator(), "cluster", "add-node", from)).toMatchObject({ code: 0 });
      await complete("rebalance", "--block-writes");
    },
    ROUND_MS,
  );

  it(
    "has lost nothing, and takes out a node that is empty",
    async () => {
      await complete("drain", citus.addressOf(1));
      const removed = await cloakroom(administrator(), "cluster", "drain", citus.addressOf(1), "--remove");
      expect([removed.code, removed.stdout]).toEqual([0, expect.stringContaining("removed: true")]);
      await expectWrites();
      isOver = true;
      await reading;
      expect(wrongReads).toEqual([]);
      for (const { key, load } of loads) {
        await load.stop();
        expect([...load.refusals.keys()].filter((status) => status !== 503)).toEqual([]);
        await expectNothingLost(load, server.url, key);
      }
      expect(await cloakroom(environment, "audit", "verify")).toMatchObject({ code: 0 });
      expect(await cloakroom(environment, "doctor")).toMatchObject({ code: 0 });
    },
    ROUND_MS,
  );
});
