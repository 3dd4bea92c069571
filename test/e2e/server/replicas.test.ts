import { rmSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createAuthority } from "../../egress/certificates.js";
import { cloakroom } from "../../support/command.js";
import { newDirectory } from "../../support/new-directory.js";
import { PostgresCluster } from "../../support/postgres-cluster.js";
import { type Replica, startReplica } from "../../support/replica.js";
import { type RestClient, restClient } from "../../support/rest.js";
import { newTenant, type TestTenant } from "../../support/tenant.js";

describe("two replicas on one database", () => {
  let cluster: PostgresCluster;
  const directory = newDirectory();
  const replicas: Replica[] = [];
  let environment: Record<string, string>;
  let tenant: TestTenant;
  beforeAll(async () => {
    // Over TLS, as remote databases are reached. The certificate is the test's own and is not verified.
    const { cert, key } = await (await createAuthority()).issue(["localhost"]);
    cluster = await PostgresCluster.start({
      settings: { ssl: "on", ssl_cert_file: "../../server.crt", ssl_key_file: "../../server.key" },
      files: { "server.crt": cert, "server.key": key },
    });
    const url = await cluster.login("vault", { attributes: "createrole" });
    environment = { DATABASE_URL: `${url}?sslmode=require`, CLOAKROOM_DATA_DIR: join(directory, "data") };
    const init = await cloakroom(environment, "init");
    if (init.code !== 0) throw new Error(init.stderr);
    replicas.push(...(await Promise.all([startReplica(environment), startReplica(environment)])));
    tenant = await newTenant(replicas[0]?.url, environment);
  });
  afterAll(async () => {
    await Promise.all(replicas.map((replica) => replica.stop()));
    await cluster?.[Symbol.asyncDispose]();
    rmSync(directory, { recursive: true, force: true });
  });

  const clientsOf = (key: string): RestClient[] => replicas.map(({ url }) => restClient(url, key));

  it("serve one tenant over TLS: each reads at once what the other stored", async () => {
    const { key } = await tenant.backEnd();
    const [one, two] = clientsOf(key);
    for (let round = 0; round < 20; round += 1) {
      const writer = round % 2 ? one : two;
      const reader = round % 2 ? two : one;
      const made = await writer?.("POST", "/tokens", { body: { type: "token", data: `round ${round}` } });
      const read = await reader?.("GET", `/tokens/${made?.body.id}`);
      expect(read).toMatchObject({ status: 200, body: { data: `round ${round}` } });
    }
    const sessions = await cluster.admin`
      select distinct s.ssl from pg_stat_ssl s join pg_stat_activity a using (pid) where a.usename = 'vault'`;
    expect([...sessions]).toEqual([{ ssl: true }]);
  });

  it("answer a repeated idempotency key with one token, whichever replica is asked", async () => {
    const { key } = await tenant.backEnd();
    for (let round = 0; round < 5; round += 1) {
      const body = { headers: { "BT-IDEMPOTENCY-KEY": `round ${round}` }, body: { type: "token", data: "x" } };
      const responses = await Promise.all(
        [...clientsOf(key), ...clientsOf(key)].map((client) => client("POST", "/tokens", body)),
      );
      for (const { status } of responses) expect([201, 409]).toContain(status);
      const ids = responses.flatMap(({ status, body: { id } }) => (status === 201 ? [id] : []));
      expect(new Set(ids).size).toBe(1);
    }
  });

  it("create one token for the same value, however many requests ask for it concurrently", async () => {
    const { key } = await tenant.backEnd();
    const body = { type: "token", data: "the same value", deduplicate_token: true };
    const clients = Array.from({ length: 100 }, () => clientsOf(key)).flat();
    const responses = await Promise.all(clients.map((client) => client("POST", "/tokens", { body })));
    expect(new Set(responses.map(({ status }) => status))).toEqual(new Set([201]));
    expect(new Set(responses.map(({ body: { id } }) => id)).size).toBe(1);
    expect(responses.filter(({ body: { _extras } }) => !_extras.deduplicated)).toHaveLength(1);
  });

  it("both reject the keys of a tenant once one of them has deleted it", async () => {
    const doomed = await newTenant(replicas[0]?.url, environment);
    const { key } = await doomed.backEnd();
    const clients = [...clientsOf(key), ...clientsOf(doomed.managementKey)];
    const statuses = () => Promise.all(clients.map(async (client) => (await client("GET", "/permissions")).status));
    // Both have the keys in their caches now.
    expect(await statuses()).toEqual([200, 200, 200, 200]);
    expect((await doomed.manage("DELETE", "/tenants/self")).status).toBe(204);
    expect(await statuses()).toEqual([401, 401, 401, 401]);
  });

  it("both reject a key at once when one of them deletes it under load", async () => {
    const backEnd = await tenant.backEnd();
    const keys = (await tenant.manage("GET", `/applications/${backEnd.id}/keys`)).body;
    const [doomed] = keys.data ?? keys;
    const other = await tenant.backEnd();
    let isDeleted = false;
    let isOver = false;
    const responses: { afterDelete: boolean; status: number }[] = [];
    const bystanders: number[] = [];
    const load = async (client: RestClient, isDoomed: boolean) => {
      while (!isOver) {
        const afterDelete = isDeleted;
        const write = responses.length % 2 === 0;
        const { status } = write
          ? await client("POST", "/tokens", { body: { type: "token", data: "x" } })
          : await client("GET", "/tokens/none");
        if (isDoomed) responses.push({ afterDelete, status });
        else bystanders.push(status);
      }
    };
    const running = [
      ...[...clientsOf(backEnd.key), ...clientsOf(backEnd.key)].map((client) => load(client, true)),
      ...clientsOf(other.key).map((client) => load(client, false)),
    ];
    // Both have the key in their caches now, and use it.
    await expect.poll(() => responses.length).toBeGreaterThan(100);
    const deleted = await tenant.manage("DELETE", `/applications/${backEnd.id}/keys/${doomed.id}`);
    isDeleted = true;
    expect(deleted.status).toBe(204);
    const sentAfter = () => responses.filter(({ afterDelete }) => afterDelete);
    await expect.poll(() => sentAfter().length).toBeGreaterThan(20);
    isOver = true;
    await Promise.all(running);
    const before = responses.filter(({ afterDelete }) => !afterDelete).map(({ status }) => status);
    const after = sentAfter().map(({ status }) => status);
    expect(new Set(before.slice(0, 50))).toEqual(new Set([201, 404]));
    expect(new Set(after)).toEqual(new Set([401]));
    expect(new Set(bystanders), "keys that were not deleted").toEqual(new Set([201, 404]));
  });
});
