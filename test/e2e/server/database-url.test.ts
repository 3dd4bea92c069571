import { existsSync, rmSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { connect } from "../../../src/store/postgres/connect.js";
import { cloakroom, cloakroomProcess } from "../../support/command.js";
import { newDirectory } from "../../support/new-directory.js";
import { PostgresCluster } from "../../support/postgres-cluster.js";
import { restClient } from "../../support/rest.js";
import { serveHere } from "../../support/server-here.js";
import { newTenant, type TestTenant } from "../../support/tenant.js";

const CARD = { number: "4242424242424242", expiration_month: 12, expiration_year: 2030 };

/** What a newcomer tries: everything that involves the database. */
async function smoke(tenant: TestTenant): Promise<void> {
  const backEnd = await tenant.backEnd();
  const card = await backEnd("POST", "/tokens", {
    body: { type: "card", data: { ...CARD, cvc: "123" }, metadata: { order: "17" } },
  });
  expect(card).toMatchObject({ status: 201, body: { type: "card" } });
  const read = await backEnd("GET", `/tokens/${card.body.id}`);
  expect(read).toMatchObject({ status: 200, body: { data: { ...CARD, cvc: "123" } } });

  const named = { id: "my-own-id", type: "token", data: "text with ünïcode and \\u0027" };
  expect(await backEnd("POST", "/tokens", { body: named })).toMatchObject({ status: 201 });
  expect(await backEnd("POST", "/tokens", { body: named })).toMatchObject({ status: 409 });
  expect(await backEnd("GET", "/tokens/my-own-id")).toMatchObject({ status: 200, body: { data: named.data } });

  const people = {
    people: [
      { name: "Ada", card: { type: "card", data: CARD } },
      { name: "Grace", age: 85 },
    ],
  };
  const tokenized = await backEnd("POST", "/tokenize", { body: people });
  expect(tokenized.status).toBe(200);
  const reference = `{{ ${tokenized.body.people[0].name} }}`;
  expect(await backEnd("POST", "/detokenize", { body: { hello: reference } })).toMatchObject({
    status: 200,
    body: { hello: "Ada" },
  });
  const idempotent = { headers: { "BT-IDEMPOTENCY-KEY": "once" }, body: { type: "token", data: "once" } };
  const [first, second] = [await backEnd("POST", "/tokens", idempotent), await backEnd("POST", "/tokens", idempotent)];
  expect(second.body.id).toBe(first.body.id);

  const list = await backEnd("GET", "/tokens?size=100");
  expect(list.body.pagination.total_items).toBe(7);
  expect(await backEnd("GET", "/tokens?metadata.order=17")).toMatchObject({ body: { data: [{ id: card.body.id }] } });
  expect((await backEnd("DELETE", "/tokens/my-own-id")).status).toBe(204);
  expect((await backEnd("GET", "/tokens/my-own-id")).status).toBe(404);
  const logs = await tenant.manage("GET", "/logs?entity_id=my-own-id");
  // It was read twice: by its id, and in the clear by the list.
  const operations = logs.body.data.map(({ operation }: { operation: string }) => operation);
  expect(operations).toEqual(["delete", "read", "read", "create"]);
}

describe.each(["system", "bundled"] as const)("the vault on a PostgreSQL (%s) in DATABASE_URL", (binaries) => {
  let cluster: PostgresCluster;
  let environment: Record<string, string>;
  const directory = newDirectory();
  beforeAll(async () => {
    cluster = await PostgresCluster.start({ binaries });
    const url = await cluster.login("vault", { attributes: "createrole" });
    environment = { DATABASE_URL: url, CLOAKROOM_DATA_DIR: join(directory, "data") };
  });
  afterAll(async () => {
    await cluster?.[Symbol.asyncDispose]();
    rmSync(directory, { recursive: true, force: true });
  });

  it("is set up by the commands, serves, and reads its data after a restart", async () => {
    const init = await cloakroom(environment, "init", "--json");
    expect([init.code, JSON.parse(init.stdout)]).toMatchObject([0, { ready: true }]);

    const kept: { card?: string; key?: string } = {};
    {
      await using server = await serveHere(environment);
      const tenant = await newTenant(server.url, environment);
      await smoke(tenant);
      const backEnd = await tenant.backEnd();
      kept.key = backEnd.key;
      kept.card = (await backEnd("POST", "/tokens", { body: { type: "card", data: CARD } })).body.id;
      // The operator's output contains none of it.
      expect(server.said()).not.toMatch(/4242424242424242|ünïcode|key_prod/);
      await server.stop();
    }
    await using again = await serveHere(environment);
    const backEnd = restClient(again.url, kept.key);
    expect(await backEnd("GET", `/tokens/${kept.card}`)).toMatchObject({ status: 200, body: { data: CARD } });
  });

  it("stops a start with one sentence if a newer version has changed its schema", async () => {
    const url = await cluster.login("upgraded", { attributes: "createrole" });
    await cluster.grantRoles("upgraded");
    const upgraded = { ...environment, DATABASE_URL: url, CLOAKROOM_DATA_DIR: join(directory, "upgraded") };
    expect(await cloakroom(upgraded, "init")).toMatchObject({ code: 0 });
    const sql = connect({ url }, { connections: 1, statementTimeout: 10_000 });
    await sql`insert into migrations values ('9999_later.sql', now(), '9.8.7')`;
    await sql.end();
    for (const command of ["serve", "migrate", "doctor"]) {
      const { code, stdout, stderr } = await cloakroom(upgraded, command);
      expect([command, code]).toEqual([command, 1]);
      expect(`${stdout}${stderr}`).toMatch(
        /The database's schema is newer than this program: 9999_later\.sql of Cloakroom 9\.8\.7 has run, and this is Cloakroom \d/,
      );
    }
  });
});

describe("a database that is not set up", () => {
  it("is not served, and doctor prints the command to run, until init has run", async () => {
    await using cluster = await PostgresCluster.start();
    const directory = newDirectory();
    const url = await cluster.login("vault", { attributes: "createrole" });
    const environment = { DATABASE_URL: url, CLOAKROOM_DATA_DIR: join(directory, "data") };
    const [serve, sick] = await Promise.all([
      cloakroomProcess(environment, "serve"),
      cloakroom(environment, "doctor", "--json"),
    ]);
    expect(serve).toMatchObject({
      code: 1,
      stdout: "",
      stderr: "The database has no schema yet. Run: cloakroom init\n",
    });
    expect([sick.code, JSON.parse(sick.stdout)]).toEqual([1, { healthy: false, problem: serve.stderr.trim() }]);
    expect(existsSync(join(directory, "data", "root.key"))).toBe(false);

    expect((await cloakroom(environment, "init")).code).toBe(0);
    const well = await cloakroom(environment, "doctor", "--json");
    expect([well.code, JSON.parse(well.stdout)]).toMatchObject([
      0,
      { healthy: true, role: "cloakroom_app", server_version: expect.stringMatching(new RegExp(`^${cluster.major}`)) },
    ]);
    rmSync(directory, { recursive: true, force: true });
  });
});

describe("a login that may not create roles", () => {
  it("makes doctor and start print the statements for an administrator", async () => {
    await using cluster = await PostgresCluster.start();
    const directory = newDirectory();
    const environment = { DATABASE_URL: await cluster.login("vault"), CLOAKROOM_DATA_DIR: join(directory, "data") };
    const statements = /create role cloakroom_app .*;\ncreate role cloakroom_jobs .*;\ngrant .* to "vault";/;
    const [doctor, serve] = await Promise.all([
      cloakroom(environment, "doctor", "--json"),
      cloakroomProcess(environment, "serve"),
    ]);
    expect(JSON.parse(doctor.stdout).problem).toMatch(statements);
    expect(serve.stderr).toMatch(statements);
    expect([doctor.code, serve.code]).toEqual([1, 1]);
    rmSync(directory, { recursive: true, force: true });
  });
});
