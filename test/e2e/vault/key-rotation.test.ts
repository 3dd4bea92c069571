// Computes: 25 s
import { readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { KEY_PURPOSES } from "../../../src/crypto/tenant-keys.js";
import { connect, type Sql } from "../../../src/store/postgres/connect.js";
import { SEALED_TABLES } from "../../../src/store/tenancy/sealed-columns.js";
import { cloakroom, cloakroomFed, cloakroomProcess, killedBefore } from "../../support/command.js";
import { newDirectory } from "../../support/new-directory.js";
import { PostgresCluster } from "../../support/postgres-cluster.js";
import { type Replica, startReplica } from "../../support/replica.js";
import { type RestClient, restClient } from "../../support/rest.js";
import { newTenant, type TestTenant, tenantOf } from "../../support/tenant.js";
import { startTransit } from "../../support/transit-server.js";

/** Between the requests of one caller during a rotation. */
const CALLER_PAUSE_MS = 20;

/** The keys that are rotated; all others keep their first version. */
const ROTATED = ["data", "cvc"];

const directory = newDirectory();
const keyFile = join(directory, "data", "root.key");
let cluster: PostgresCluster;
let admin: Sql;
let environment: Record<string, string>;
const replicas: Replica[] = [];
let tenant: TestTenant;
let backEnds: RestClient[];
beforeAll(async () => {
  cluster = await PostgresCluster.start();
  const url = await cluster.login("vault", { attributes: "createrole" });
  environment = { DATABASE_URL: url, CLOAKROOM_DATA_DIR: join(directory, "data") };
  const init = await cloakroom(environment, "init");
  if (init.code !== 0) throw new Error(init.stderr);
  admin = connect({ url: cluster.url("postgres", "vault") }, { connections: 1, statementTimeout: 20_000 });
  replicas.push(...(await Promise.all([startReplica(environment), startReplica(environment)])));
  tenant = await newTenant(replicas[0]?.url, environment);
  const { key } = await tenant.backEnd();
  backEnds = replicas.map((replica) => restClient(replica.url, key));
});
afterAll(async () => {
  await admin?.end();
  await Promise.all(replicas.map((replica) => replica.stop()));
  await cluster?.[Symbol.asyncDispose]();
  rmSync(directory, { recursive: true, force: true });
});

const backEnd = (number: number): RestClient => {
  const client = backEnds[number % backEnds.length];
  if (!client) throw new Error("no replica is there");
  return client;
};

/** How many values each key version has sealed, in all tables, as the database's administrator sees it. */
async function valuesByVersion(tenantId: string): Promise<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const { table, columns } of SEALED_TABLES) {
    for (const { name } of columns) {
      const rows = await admin.unsafe<{ version: string; n: number }[]>(
        `select encode(substring(${name} from 2 for 4), 'hex') as version, count(*)::int as n
         from ${table} where tenant_id = '${tenantId}' and ${name} is not null group by 1`,
      );
      for (const { version, n } of rows)
        counts[Number.parseInt(version, 16)] = (counts[Number.parseInt(version, 16)] ?? 0) + n;
    }
  }
  return counts;
}

const versionsOf = async (tenantId: string) => {
  const rows = await admin.unsafe<{ purpose: string; version: number; state: string }[]>(
    `select purpose, version, state from tenant_keys where tenant_id = '${tenantId}' order by purpose, version`,
  );
  return rows.map(({ purpose, version, state }) => `${purpose} ${version} ${state}`);
};

const cardOf = (n: number) => ({
  number: "4242424242424242",
  expiration_month: (n % 12) + 1,
  expiration_year: 2031,
  cvc: "123",
});

/** Callers that create, change and read tokens until they are stopped. They remember everything they store. */
class Traffic {
  readonly expected = new Map<string, unknown>();
  readonly failures: string[] = [];
  #isOver = false;
  #running: Promise<unknown> = Promise.resolve();

  start(callers: number): void {
    this.#running = Promise.all(Array.from({ length: callers }, (_, number) => this.#call(number)));
  }

  async stop(): Promise<void> {
    this.#isOver = true;
    await this.#running;
  }

  async store(n: number): Promise<string> {
    const isCard = n % 3 === 0;
    const data = isCard ? cardOf(n) : `value ${n}`;
    const metadata = { n: String(n % 10) };
    const headers = { "BT-IDEMPOTENCY-KEY": `request ${n}` };
    const response = await backEnd(n)("POST", "/tokens", {
      headers,
      body: { type: isCard ? "card" : "token", data, metadata },
    });
    this.#note(response.status, 201, "create");
    this.expected.set(response.body.id, data);
    return response.body.id;
  }

  async #call(number: number): Promise<void> {
    for (let n = 100_000 * (number + 1); !this.#isOver; n += 1) {
      const id = await this.store(n);
      const read = await backEnd(n + 1)("GET", `/tokens/${id}`);
      this.#note(read.status, 200, "read");
      if (n % 3 === 0) continue;
      const patched = await backEnd(n + 1)("PATCH", `/tokens/${id}`, {
        headers: { "Content-Type": "application/merge-patch+json" },
        body: { data: `changed ${n}` },
      });
      this.#note(patched.status, 200, "change");
      this.expected.set(id, `changed ${n}`);
      // A rotation lasts seconds: requests as fast as they go would only take its processor time.
      await pause(CALLER_PAUSE_MS);
    }
  }

  #note(status: number, expected: number, what: string): void {
    if (status !== expected) this.failures.push(`${what}: ${status}`);
  }
}

describe("keys rotate --tenant", () => {
  const traffic = new Traffic();
  let proxyId: string;
  let reactorId: string;

  beforeAll(async () => {
    const { id } = await tenant.manage("GET", "/tenants/self").then(({ body }) => body);
    expect(id).toBe(tenant.id);
    const proxy = await tenant.manage("POST", "/proxies", {
      body: { name: "P", destination_url: "https://example.com/v1", configuration: { SECRET: "of the proxy" } },
    });
    expect(proxy.status).toBe(201);
    proxyId = proxy.body.id;
    const code = "module.exports = async () => { console.log('of the run'); throw new Error('failed'); };";
    const reactor = await tenant.manage("POST", "/reactors", {
      body: { name: "R", code, configuration: { SECRET: "of the reactor" } },
    });
    reactorId = reactor.body.id;
    expect((await backEnd(0)("POST", `/reactors/${reactorId}/react`, { body: {} })).status).toBe(500);
    for (let from = 0; from < 600; from += 50) {
      await Promise.all(Array.from({ length: 50 }, (_, n) => traffic.store(from + n)));
    }
  });

  it("rejects a call that does not say which keys, or names no tenant", async () => {
    const calls: [string[], string][] = [
      [[], "Choose one of --root, --tenant ID and --all."],
      [["--tenant", "019a0000-0000-7000-8000-000000000000"], "There is no such tenant."],
      [["--all", "--retire-after", "1"], "--retire-after must be a whole number of seconds from 2 to 86400."],
    ];
    for (const [args, message] of calls) {
      const { code, stderr } = await cloakroom(environment, "keys", "rotate", ...args);
      expect({ code, says: stderr.includes(message) }, stderr).toEqual({ code: 2, says: true });
    }
  });

  it("under load, killed and restarted, leaves every value readable and none under the old keys", async () => {
    traffic.start(3);
    // Tokens come before stored responses: some are done by then, and some are left.
    const preload = join(directory, "killed.mjs");
    writeFileSync(preload, killedBefore('update "idempotency_keys"'));
    const fed = { lines: [], preload };
    expect(await cloakroomFed(environment, fed, "keys", "rotate", "--tenant", tenant.id)).toMatchObject({ code: 137 });
    expect(await versionsOf(tenant.id)).toContain("data 2 current");
    const cutOff = await valuesByVersion(tenant.id);
    expect(cutOff[1], "values that are left to do").toBeGreaterThan(0);
    expect(cutOff[2], "values that are done").toBeGreaterThan(0);
    const listed = await cloakroom(environment, "keys", "list", "--tenant", tenant.id.toUpperCase(), "--json");
    const keys: Record<string, unknown>[] = JSON.parse(listed.stdout);
    expect(keys.filter(({ state, purpose }) => state === "retired" && purpose)).toEqual([
      expect.objectContaining({ purpose: "cvc", version: 1, rows_left: expect.any(Number) }),
      expect.objectContaining({ purpose: "data", version: 1, rows_left: expect.any(Number) }),
    ]);

    const args = ["--tenant", tenant.id, "--retire-after", "2", "--json"];
    const again = await cloakroom(environment, "keys", "rotate", ...args).finally(() => traffic.stop());
    expect(again.code, again.stderr).toBe(0);
    expect(again.stderr).toContain("an earlier rotation is under way");
    expect(again.stderr).toContain("the old keys are destroyed");
    expect(again.stderr).toContain("fingerprint, search, proof and audit stay");
    expect(traffic.failures).toEqual([]);
    expect(Object.keys(await valuesByVersion(tenant.id))).toEqual(["2"]);
    expect(await versionsOf(tenant.id)).toEqual(
      KEY_PURPOSES.map((purpose) => `${purpose} ${ROTATED.includes(purpose) ? 2 : 1} current`).toSorted(),
    );
    const ids = [...traffic.expected];
    expect(ids.length).toBeGreaterThan(600);
    for (let from = 0; from < ids.length; from += 50) {
      const reads = await Promise.all(ids.slice(from, from + 50).map(([id], n) => backEnd(n)("GET", `/tokens/${id}`)));
      expect(reads.map(({ body }) => body.data)).toEqual(ids.slice(from, from + 50).map(([, data]) => data));
    }
  });

  it("leaves search terms, and values stored besides tokens, working", async () => {
    const found = await backEnd(0)("GET", "/tokens?metadata.n=7&size=1");
    expect(found.body.pagination.total_items).toBeGreaterThan(50);
    const repeated = await backEnd(0)("POST", "/tokens", {
      headers: { "BT-IDEMPOTENCY-KEY": "request 7" },
      body: { type: "token", data: "value 7", metadata: { n: "7" } },
    });
    expect(traffic.expected.get(repeated.body.id)).toBe("value 7");
    const proxy = await tenant.manage("GET", `/proxies/${proxyId}`);
    expect(proxy.body.configuration).toEqual({ SECRET: "of the proxy" });
    const reactor = await tenant.manage("GET", `/reactors/${reactorId}`);
    expect(reactor.body.configuration).toEqual({ SECRET: "of the reactor" });
    const author = await tenant.application({ type: "management", permissions: ["reactor:update"] });
    const { body: failed } = await author("GET", `/reactors/${reactorId}/failed-runs`);
    expect(failed.data[0].console).toEqual([{ level: "log", text: "of the run" }]);
  });

  it("shows no key bytes in its list, and which keys exist", async () => {
    const { stdout } = await cloakroom(environment, "keys", "list", "--json");
    const keys: Record<string, unknown>[] = JSON.parse(stdout);
    const mine = keys.filter(({ tenant_id }) => tenant_id === tenant.id);
    expect(mine.map(({ purpose, version, state }) => `${purpose} ${version} ${state}`)).toEqual(
      await versionsOf(tenant.id),
    );
    expect(new Set(mine.flatMap((key) => Object.keys(key)))).toEqual(
      new Set(["tenant_id", "purpose", "version", "state", "root_key", "created_at"]),
    );
  });
});

describe("keys rotate --all", () => {
  it("skips values that do not open: it names their rows, keeps the old keys for them, and retires all others", async () => {
    const other = await newTenant(replicas[0]?.url, environment);
    const kept = await (await other.backEnd())("POST", "/tokens", { body: { type: "token", data: "kept" } });
    expect(kept.status).toBe(201);
    const rowsOf = (table: string) =>
      admin.unsafe<{ id: string }[]>(
        `select id::text from ${table} where tenant_id = '${tenant.id}' order by id limit 2`,
      );
    const [proxy] = await rowsOf("proxies");
    const [changed, cutOff] = await rowsOf("tokens");
    const of = (row: { id: string } | undefined) => `tenant_id = '${tenant.id}' and id = '${row?.id}'`;
    const turn = (column: string) => `set_byte(${column}, 40, 255 - get_byte(${column}, 40))`;
    await admin.unsafe(`update proxies set definition = ${turn("definition")} where ${of(proxy)}`);
    await admin.unsafe(`update tokens set data = ${turn("data")} where ${of(changed)}`);
    const [whole] = await admin.unsafe<{ data: Buffer }[]>(`select data from tokens where ${of(cutOff)}`);
    await admin.unsafe(`update tokens set data = '\\x01' where ${of(cutOff)}`);

    const { code, stderr, stdout } = await cloakroom(
      environment,
      "keys",
      "rotate",
      "--all",
      "--retire-after",
      "2",
      "--json",
    );
    expect(code, stderr).toBe(1);
    const rotated: { tenant_id: string; broken?: number; broken_rows?: unknown }[] = JSON.parse(stdout);
    expect(rotated.find(({ tenant_id }) => tenant_id === tenant.id)).toMatchObject({
      broken: 3,
      broken_rows: [
        { table: "proxies", key: proxy?.id },
        { table: "tokens", key: changed?.id },
        { table: "tokens", key: cutOff?.id },
      ],
    });
    expect(rotated.find(({ tenant_id }) => tenant_id === other.id)).toEqual({
      tenant_id: other.id,
      resealed: expect.any(Number),
    });
    expect(stderr).toContain(`${tenant.id}: tokens ${changed?.id}`);
    expect(await versionsOf(other.id)).toContain("data 2 current");
    expect(await versionsOf(other.id)).not.toContain("data 1 retired");
    const versions = await versionsOf(tenant.id);
    expect(versions).toContain("data 2 retired");
    // Those rows keep all of their values: two of the proxy, two of one token, and the attributes of the other, whose
    // data names no key. All other values, also those after them, are under the new key.
    expect((await valuesByVersion(tenant.id))[2]).toBe(5);

    const mended = `update proxies set definition = ${turn("definition")} where ${of(proxy)};
      update tokens set data = ${turn("data")} where ${of(changed)};
      update tokens set data = '\\x${whole?.data.toString("hex")}' where ${of(cutOff)}`;
    await admin.unsafe(mended);
    const again = await cloakroom(
      environment,
      "keys",
      "rotate",
      "--tenant",
      tenant.id,
      "--retire-after",
      "2",
      "--json",
    );
    expect(again.code, again.stderr).toBe(0);
    // A server may have done it first: it does not matter which process did.
    expect(JSON.parse(again.stdout)).toEqual([{ tenant_id: tenant.id, resealed: expect.any(Number) }]);
    expect(Object.keys(await valuesByVersion(tenant.id))).toEqual(["3"]);
    expect(await versionsOf(tenant.id)).not.toContain("data 2 retired");
    expect((await other.manage("DELETE", "/tenants/self")).status).toBe(204);
  });
});

describe("keys rotate --root", () => {
  const rootsOf = async () => {
    const { stdout } = await cloakroom(environment, "keys", "list", "--json");
    const keys: { root_key?: string; state: string; purpose?: string }[] = JSON.parse(stdout);
    return {
      roots: keys.filter(({ purpose }) => !purpose).map(({ root_key, state }) => `${root_key} ${state}`),
      wrapping: new Set(keys.filter(({ purpose }) => purpose).map(({ root_key }) => root_key)),
    };
  };

  it("wraps all tenant keys with a new root key, retires the old file, and servers keep running", async () => {
    const before = readFileSync(keyFile, "utf8");
    const { code, stderr, stdout } = await cloakroom(environment, "keys", "rotate", "--root", "--json");
    expect(code, stderr).toBe(0);
    const { root_key: id, rewrapped } = JSON.parse(stdout);
    // The tenant's, and the vault's own.
    expect(rewrapped).toBe(2 * KEY_PURPOSES.length);
    expect(await rootsOf()).toEqual({ roots: [`${id} current`], wrapping: new Set([id]) });
    const after = readFileSync(keyFile, "utf8");
    expect(after.trim().split("\n")).toHaveLength(1);
    expect(after).not.toBe(before);
    const [retired = ""] = readdirSync(join(directory, "data")).filter((name) => name.startsWith("root.key.retired-"));
    expect(readFileSync(join(directory, "data", retired), "utf8")).toBe(before);
    expect(statSync(join(directory, "data", retired)).mode & 0o777).toBe(0o600);
    expect(statSync(keyFile).mode & 0o777).toBe(0o600);
    expect(stderr).toContain(retired);
    expect(stderr + stdout).not.toContain(before.trim().split(".").at(-1));

    // A tenant that the running servers have never seen is wrapped by the new key, which they find in the file.
    const made = await newTenant(replicas[0]?.url, environment);
    const client = await made.backEnd();
    expect((await client("POST", "/tokens", { body: { type: "token", data: "x" } })).status).toBe(201);

    // The old key no longer belongs to this database.
    writeFileSync(keyFile, before, { mode: 0o600 });
    const refused = await cloakroom(environment, "tenants", "list");
    expect(refused.code).toBe(1);
    expect(refused.stderr).toContain(`is not the one this database was made with (it needs ${id})`);
    writeFileSync(keyFile, after, { mode: 0o600 });
  });

  it("resumes where it was interrupted, even if the new key was not registered yet", async () => {
    const { addToKeyFile } = await import("../../../src/crypto/key-file.js");
    const added = await addToKeyFile(keyFile);
    expect((await cloakroom(environment, "tenants", "list")).code).toBe(0);
    const { code, stderr, stdout } = await cloakroom(environment, "keys", "rotate", "--root", "--json");
    expect(code, stderr).toBe(0);
    expect(JSON.parse(stdout).root_key).toBe(added.id);
    expect(await rootsOf()).toEqual({ roots: [`${added.id} current`], wrapping: new Set([added.id]) });
  });

  it("moves to a key in Transit, rotates it there, and refuses to start without it", async () => {
    await using transit = await startTransit();
    writeFileSync(join(directory, "ca.pem"), transit.ca);
    writeFileSync(join(directory, "token"), "good-token\n");
    const withTransit = {
      ...environment,
      CLOAKROOM_TRANSIT_URL: `${transit.origin}/v1/transit/keys/cloakroom`,
      CLOAKROOM_TRANSIT_TOKEN_FILE: join(directory, "token"),
      CLOAKROOM_TRANSIT_CA_FILE: join(directory, "ca.pem"),
    };
    const early = await cloakroom(withTransit, "tenants", "list");
    expect(early.code).toBe(1);
    expect(early.stderr).toContain("or move to this key with: cloakroom keys rotate --root");

    const moved = await cloakroom(withTransit, "keys", "rotate", "--root", "--json");
    expect(moved.code, moved.stderr).toBe(0);
    expect(JSON.parse(moved.stdout)).toEqual({
      root_key: "transit:transit/cloakroom",
      rewrapped: 3 * KEY_PURPOSES.length,
    });
    const renewed = await cloakroom(withTransit, "keys", "rotate", "--root", "--json");
    expect(JSON.parse(renewed.stdout)).toEqual({
      root_key: "transit:transit/cloakroom",
      rewrapped: 3 * KEY_PURPOSES.length,
    });
    const [row] = await admin.unsafe(
      "select count(*)::int as n from tenant_keys where convert_from(substring(wrapped from 2), 'UTF8') like 'vault:v2:%'",
    );
    expect(row?.n).toBe(3 * KEY_PURPOSES.length);

    await using replica = await startReplica(withTransit);
    transit.requests.length = 0;
    const client = await tenantOf(tenant.id, tenant.managementKey, replica.url).backEnd();
    for (let n = 0; n < 20; n += 1) {
      expect((await client("POST", "/tokens", { body: { type: "token", data: "x" } })).status).toBe(201);
    }
    // Whether the vault's own keys are already needed, to attest a seal, depends on the time.
    const each = KEY_PURPOSES.length;
    expect([each, 2 * each], "one for each key, none for requests").toContain(transit.requests.length);
    transit.mood = "sealed";
    expect((await client("POST", "/tokens", { body: { type: "token", data: "x" } })).status).toBe(201);

    const refused = await cloakroomProcess(withTransit, "serve");
    expect(refused.code).toBe(1);
    expect(refused.stderr.trim().split("\n")).toHaveLength(1);
    expect(refused.stderr).toMatch(/does not respond \(it is sealed\)\. Start it or unseal it/);
    const without = await cloakroomProcess(environment, "serve");
    expect(without.code).toBe(1);
    expect(without.stderr).toContain("(it needs transit:transit/cloakroom)");
  });
});
