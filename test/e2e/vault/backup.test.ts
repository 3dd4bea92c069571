// Needs: pg_dump, pg_restore
import { execFile } from "node:child_process";
import { copyFileSync, mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { cloakroom } from "../../support/command.js";
import { newDirectory } from "../../support/new-directory.js";
import { PostgresCluster } from "../../support/postgres-cluster.js";
import { restClient } from "../../support/rest.js";
import { serveHere } from "../../support/server-here.js";
import { newTenant } from "../../support/tenant.js";

const run = promisify(execFile);

describe("a backup as described in the operator's guide", () => {
  const directory = newDirectory();
  let old: PostgresCluster;
  let fresh: PostgresCluster;
  beforeAll(async () => {
    [old, fresh] = await Promise.all([PostgresCluster.start(), PostgresCluster.start()]);
  });
  afterAll(async () => {
    await Promise.all([old?.[Symbol.asyncDispose](), fresh?.[Symbol.asyncDispose]()]);
    rmSync(directory, { recursive: true, force: true });
  });

  it("restores everything on another machine with the root key, and not without it", async () => {
    const before = {
      DATABASE_URL: await old.login("vault", { attributes: "createrole" }),
      CLOAKROOM_DATA_DIR: join(directory, "before"),
    };
    expect(await cloakroom(before, "init")).toMatchObject({ code: 0 });
    let key: string;
    let id: string;
    {
      await using server = await serveHere(before);
      const backEnd = await (await newTenant(server.url, before)).backEnd();
      key = backEnd.key;
      const made = await backEnd("POST", "/tokens", { body: { type: "card", data: { number: "4242424242424242" } } });
      id = made.body.id;
    }
    const dump = join(directory, "vault.dump");
    await run("pg_dump", ["--format=custom", `--file=${dump}`, old.url("postgres", "vault")]);

    const after = {
      DATABASE_URL: await fresh.login("vault", { attributes: "createrole" }),
      CLOAKROOM_DATA_DIR: join(directory, "after"),
    };
    await fresh.admin.unsafe("create role cloakroom_app");
    await fresh.admin.unsafe("create role cloakroom_jobs");
    await fresh.admin.unsafe("grant cloakroom_app, cloakroom_jobs to vault with admin option");
    await run("pg_restore", ["--exit-on-error", `--dbname=${fresh.url("postgres", "vault")}`, dump]);

    const keyless = await cloakroom(after, "doctor", "--json");
    expect(keyless.code).toBe(1);
    expect(JSON.parse(keyless.stdout)).toMatchObject({ healthy: false, problem: expect.stringContaining("root.key") });

    mkdirSync(after.CLOAKROOM_DATA_DIR, { recursive: true, mode: 0o700 });
    copyFileSync(join(before.CLOAKROOM_DATA_DIR, "root.key"), join(after.CLOAKROOM_DATA_DIR, "root.key"));
    const doctor = await cloakroom(after, "doctor", "--json");
    expect(JSON.parse(doctor.stdout)).toMatchObject({ healthy: true });
    await using server = await serveHere(after);
    const client = restClient(server.url, key);
    expect((await client("GET", `/tokens/${id}`)).body.data).toMatchObject({ number: "4242424242424242" });
    expect(await client("POST", "/tokens", { body: { type: "token", data: "new" } })).toMatchObject({ status: 201 });
  });
});
