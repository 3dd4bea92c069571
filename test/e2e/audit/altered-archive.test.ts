import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { cloakroom } from "../../support/command.js";
import { newDirectory } from "../../support/new-directory.js";
import { PostgresCluster } from "../../support/postgres-cluster.js";
import { expectAlteredFileNamed } from "../support/archived-vault.js";

it("names an altered file of the archive for its tenant, and no other", async () => {
  await using stack = new AsyncDisposableStack();
  const directory = newDirectory();
  stack.defer(() => rmSync(directory, { recursive: true, force: true }));
  const database = stack.use(await PostgresCluster.start());
  const archive = join(directory, "archive");
  mkdirSync(archive);
  const environment = {
    DATABASE_URL: await database.login("vault", { attributes: "createrole" }),
    CLOAKROOM_DATA_DIR: join(directory, "data"),
    CLOAKROOM_LOG_ARCHIVE: archive,
    CLOAKROOM_AUDIT_RETENTION_DAYS: "40",
  };
  expect(await cloakroom(environment, "init")).toMatchObject({ code: 0 });
  await expectAlteredFileNamed(environment);
});

it("asks for the setting before the vault is opened", async () => {
  const { code, stderr } = await cloakroom({ DATABASE_URL: "postgres://none" }, "audit", "verify", "--archive");
  expect([code, stderr]).toEqual([2, expect.stringContaining("--archive needs CLOAKROOM_LOG_ARCHIVE")]);
});
