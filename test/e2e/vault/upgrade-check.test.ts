import { rmSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createKeyFile } from "../../../src/crypto/key-file.js";
import { connect } from "../../../src/store/postgres/connect.js";
import { cloakroom } from "../../support/command.js";
import { newDirectory } from "../../support/new-directory.js";
import { PostgresCluster } from "../../support/postgres-cluster.js";

describe("upgrade check", () => {
  const directory = newDirectory();
  let cluster: PostgresCluster;
  let vault: { DATABASE_URL: string; CLOAKROOM_DATA_DIR: string };
  beforeAll(async () => {
    cluster = await PostgresCluster.start();
    const url = await cluster.login("vault", { attributes: "createrole" });
    vault = { DATABASE_URL: url, CLOAKROOM_DATA_DIR: directory };
  });
  afterAll(async () => {
    await cluster?.[Symbol.asyncDispose]();
    rmSync(directory, { recursive: true, force: true });
  });

  const check = async (environment: Readonly<Record<string, string>> = vault) => {
    const { code, stdout } = await cloakroom(environment, "upgrade", "check", "--json");
    const { ready, checks } = JSON.parse(stdout);
    const results: Record<string, string> = {};
    const says: Record<string, string> = {};
    for (const line of checks) [results[line.check], says[line.check]] = [line.result, line.says];
    return { code, ready, results, says };
  };
  const change = async (statement: string) => {
    const sql = connect({ url: vault.DATABASE_URL }, { connections: 1, statementTimeout: 10_000 });
    await sql.unsafe(statement).finally(() => sql.end());
  };

  it("fails without a schema, passes on a vault, and says what a backup and another version change", async () => {
    expect(await check()).toMatchObject({
      code: 1,
      ready: false,
      says: { schema: "the database has no schema. Run: cloakroom init" },
    });
    expect(await cloakroom(vault, "init")).toMatchObject({ code: 0 });
    expect(await check()).toMatchObject({
      code: 0,
      ready: true,
      results: { schema: "ok", postgresql: "ok", "root key": "ok", disk: "ok", replicas: "ok", backup: "attention" },
    });
    expect(await cloakroom(vault, "backup", "--to", directory)).toMatchObject({ code: 0 });
    const older = connect({ url: `${vault.DATABASE_URL}` }, { connections: 1, statementTimeout: 10_000 });
    await older.unsafe("set application_name = 'cloakroom 0.0.9'");
    const beside = await check();
    await older.end();
    expect(beside).toMatchObject({ code: 0, results: { replicas: "attention", backup: "ok" } });
    expect(beside.says.replicas).toContain("1 of 0.0.9");
  });

  it("fails with another root key, and on the schema of a newer version, which it leaves alone", async () => {
    const other = join(directory, "other.key");
    await createKeyFile(other);
    const keyless = await check({ ...vault, CLOAKROOM_ROOT_KEY_FILE: other });
    expect(keyless).toMatchObject({ code: 1, ready: false, results: { "root key": "fails", schema: "ok" } });
    await change("insert into migrations values ('9999_later.sql', now(), '9.8.7')");
    const newer = await check();
    expect(newer).toMatchObject({ code: 1, ready: false, results: { schema: "fails" } });
    expect(newer.says.schema).toContain("Start Cloakroom 9.8.7 or newer");
    await change("delete from migrations where name = '9999_later.sql'");
    expect(await check()).toMatchObject({ code: 0 });
  });
});
