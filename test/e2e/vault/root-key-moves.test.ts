// Computes: 20 s
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { KEY_PURPOSES } from "../../../src/crypto/tenant-keys.js";
import { connect } from "../../../src/store/postgres/connect.js";
import { cloakroomFed, cloakroomProcess, killedBefore } from "../../support/command.js";
import { KMS_KEYS, startKms } from "../../support/kms-server.js";
import { newDirectory } from "../../support/new-directory.js";
import { PostgresCluster } from "../../support/postgres-cluster.js";
import { startTransit } from "../../support/transit-server.js";

const directory = newDirectory();
let cluster: PostgresCluster;
beforeAll(async () => {
  cluster = await PostgresCluster.start();
});
afterAll(async () => {
  await cluster?.[Symbol.asyncDispose]();
  rmSync(directory, { recursive: true, force: true });
});

it("the root key moves from Transit to AWS KMS, with the settings of both, also after an interruption", async () => {
  await using transit = await startTransit();
  await using kms = await startKms();
  const own = await cluster.login("moving", { attributes: "createrole" });
  await cluster.grantRoles("moving");
  const base = { DATABASE_URL: own, CLOAKROOM_DATA_DIR: join(directory, "moving") };
  writeFileSync(join(directory, "ca.pem"), transit.ca);
  writeFileSync(join(directory, "token"), "good-token\n");
  const ofTransit = {
    CLOAKROOM_TRANSIT_URL: `${transit.origin}/v1/transit/keys/cloakroom`,
    CLOAKROOM_TRANSIT_TOKEN_FILE: join(directory, "token"),
    CLOAKROOM_TRANSIT_CA_FILE: join(directory, "ca.pem"),
  };
  const ofKms = { ...kms.environment, CLOAKROOM_KMS_KEY_ID: KMS_KEYS[0] };
  expect(await cloakroomProcess({ ...base, ...ofTransit }, "init")).toMatchObject({ code: 0 });
  const made = ["tenants", "create", "--name", "T", "--owner-email", "a@example.com"];
  expect(await cloakroomProcess({ ...base, ...ofTransit }, ...made)).toMatchObject({ code: 0 });

  const beside = "CLOAKROOM_TRANSIT_URL and its credentials beside CLOAKROOM_KMS_KEY_ID";
  const start = await cloakroomProcess({ ...base, ...ofKms }, "serve");
  expect(start).toMatchObject({
    code: 1,
    stderr: expect.stringContaining(`or move to this key with: cloakroom keys rotate --root, with ${beside}`),
  });
  const alone = await cloakroomProcess({ ...base, ...ofKms }, "keys", "rotate", "--root");
  expect(alone).toMatchObject({ code: 1, stderr: expect.stringContaining(`Set ${beside}`) });
  const both = { ...base, ...ofTransit, ...ofKms };
  for (const command of [["serve"], ["tenants", "list"], ["init"]]) {
    expect(await cloakroomProcess(both, ...command)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("not both"),
    });
  }

  const preload = join(directory, "killed.mjs");
  writeFileSync(preload, killedBefore("update tenant_keys set wrapped"));
  const killed = await cloakroomFed(both, { lines: [], preload }, "keys", "rotate", "--root");
  expect(killed.code, killed.stderr).toBe(137);
  const between = await cloakroomProcess({ ...base, ...ofKms }, "tenants", "list");
  expect(between).toMatchObject({
    code: 1,
    stderr: `The root key transit:transit/cloakroom still wraps keys of tenants and is not configured. Set ${beside}, then run: cloakroom keys rotate --root\n`,
  });
  const freed = connect({ url: cluster.url("postgres", "moving") }, { connections: 1, statementTimeout: 5_000 });
  await freed`delete from leases`;
  await freed.end();
  const moved = await cloakroomProcess(both, "keys", "rotate", "--root", "--json");
  expect(moved.code, moved.stderr).toBe(0);
  // Those of the tenant, and those of the vault itself, whose log has the tenant's creation.
  expect(JSON.parse(moved.stdout)).toEqual({ root_key: `kms:${KMS_KEYS[0]}`, rewrapped: 2 * KEY_PURPOSES.length });
  transit.mood = "sealed";
  const listed = await cloakroomProcess({ ...base, ...ofKms }, "tenants", "list", "--json");
  expect(JSON.parse(listed.stdout)).toHaveLength(1);

  // KMS rotates its keys by itself.
  const renewed = await cloakroomProcess({ ...base, ...ofKms }, "keys", "rotate", "--root");
  expect(renewed).toMatchObject({ code: 1, stdout: "" });
  expect(renewed.stderr).toMatch(
    /is renewed where it is held, and not from here: .* CLOAKROOM_KMS_KEY_ID and run this again\.$/m,
  );
  const other = await cloakroomProcess(
    { ...base, ...ofKms, CLOAKROOM_KMS_KEY_ID: KMS_KEYS[1] },
    "keys",
    "rotate",
    "--root",
    "--json",
  );
  expect(JSON.parse(other.stdout)).toEqual({ root_key: `kms:${KMS_KEYS[1]}`, rewrapped: 2 * KEY_PURPOSES.length });
});
