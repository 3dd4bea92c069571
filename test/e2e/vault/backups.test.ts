// Computes: 20 s
import { execFileSync } from "node:child_process";
import { copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createKeyFile } from "../../../src/crypto/key-file.js";
import { cloakroom, cloakroomFed, killedBefore } from "../../support/command.js";
import { copyMigratedData } from "../../support/migrated-data.js";
import { newDirectory } from "../../support/new-directory.js";
import { type Replica, startReplica } from "../../support/replica.js";
import { restClient } from "../../support/rest.js";
import { newTenant } from "../../support/tenant.js";

const CARD = { number: "4242424242424242", expiration_month: 12, expiration_year: 2031 };

/** The source of a module that kills its process when it is about to name a whole file for the nth time. */
const killedAtName = (nth: number) => `
import { syncBuiltinESMExports } from "node:module";
import fs from "node:fs/promises";
const link = fs.link;
let named = 0;
fs.link = (...paths) => {
  if (++named === ${nth}) process.kill(process.pid, "SIGKILL");
  return link(...paths);
};
syncBuiltinESMExports();
`;

/** A command that takes two seconds says how far it is. */
const ONLY_PROGRESS = expect.stringMatching(/^(?:\w[\w ]*: [\d,]+ (?:rows|bytes)(?:, \d+ %)?\n)*$/);

describe("a backup in a directory", () => {
  const directory = newDirectory();
  const source = { CLOAKROOM_DATA_DIR: join(directory, "source") };
  const keyFile = join(source.CLOAKROOM_DATA_DIR, "root.key");
  let server: Replica;
  let key: string;
  let card: string;
  beforeAll(async () => {
    copyMigratedData(source.CLOAKROOM_DATA_DIR);
    server = await startReplica(source);
    const backEnd = await (await newTenant(server.url, source)).backEnd();
    key = backEnd.key;
    card = (await backEnd("POST", "/tokens", { body: { type: "card", data: CARD } })).body.id;
  });
  afterAll(async () => {
    await server?.stop();
    rmSync(directory, { recursive: true, force: true });
  });

  const newPlace = (name: string) => mkdirSync(join(directory, name), { recursive: true }) ?? "";
  const take = async (place: string, ...more: string[]) => {
    const { code, stdout, stderr } = await cloakroom(source, "backup", "--to", place, ...more, "--json");
    expect({ code, stderr }).toEqual({ code: 0, stderr: ONLY_PROGRESS });
    return JSON.parse(stdout);
  };
  const verify = (place: string, ...more: string[]) =>
    cloakroom(source, "backup", "verify", "--from", place, ...more, "--json");

  it("has a manifest with what a restore needs, and neither values nor the root key", async () => {
    const place = newPlace("one");
    const { backup, bytes, sha256 } = await take(place);
    expect(readdirSync(place).toSorted()).toEqual([`${backup}.export`, `${backup}.json`]);
    for (const file of readdirSync(place)) expect(statSync(join(place, file)).mode & 0o777).toBe(0o600);
    expect(execFileSync("sha256sum", [join(place, `${backup}.export`)], { encoding: "utf8" })).toContain(sha256);
    const manifest = JSON.parse(readFileSync(join(place, `${backup}.json`), "utf8"));
    expect(manifest).toMatchObject({ name: backup, bytes, sha256, migrations: ["0001_first_schema"] });
    expect(manifest).toMatchObject({ position: expect.stringMatching(/^[0-9A-F]+\/[0-9A-F]+$/), rows: { tokens: 1 } });
    const [, id, secret = "nothing"] = readFileSync(keyFile, "utf8").trim().split(".");
    expect(manifest.root_keys).toEqual([id]);
    const unpacked = execFileSync("gzip", ["-dc", join(place, `${backup}.export`)], { encoding: "latin1" });
    for (const text of [secret, CARD.number]) expect(unpacked + JSON.stringify(manifest)).not.toContain(text);
  });

  it("is verified by a restore, whose database is removed again, and restores an empty machine", async () => {
    const place = newPlace("verified");
    const { backup } = await take(place);
    const { code, stdout, stderr } = await verify(place);
    expect({ code, stderr }).toEqual({ code: 0, stderr: ONLY_PROGRESS });
    const verdict = JSON.parse(stdout);
    expect(verdict).toMatchObject({ backup, verified: true, logs_intact: true, rows_opened: expect.any(Number) });
    expect(verdict.rows_opened).toBeGreaterThan(3);
    const target = { CLOAKROOM_DATA_DIR: join(directory, "target") };
    mkdirSync(target.CLOAKROOM_DATA_DIR, { mode: 0o755 });
    copyFileSync(keyFile, join(target.CLOAKROOM_DATA_DIR, "root.key"));
    expect(await cloakroom(target, "import", "--from", place)).toMatchObject({ code: 0 });
    await using restored = await startReplica(target);
    expect((await restClient(restored.url, key)("GET", `/tokens/${card}`)).body.data).toEqual(CARD);
  });

  it("fails verification if a byte was changed, the manifest counts otherwise, or the root key is another", async () => {
    const place = newPlace("changed");
    const { backup } = await take(place);
    const [exported, manifest] = [join(place, `${backup}.export`), join(place, `${backup}.json`)];
    const [bytes, text] = [readFileSync(exported), readFileSync(manifest, "utf8")];
    // Bytes after the end of the compressed data are read by no reader of the rows. test/e2e/vault/export.test.ts damages
    // what is before.
    writeFileSync(exported, Buffer.concat([bytes, Buffer.alloc(512)]));
    expect(await verify(place)).toMatchObject({ code: 1, stderr: expect.stringContaining("checksum differs") });
    writeFileSync(exported, bytes);
    writeFileSync(manifest, text.replace(/"tokens": \d+/, '"tokens": 7'));
    const miscounted = await verify(place);
    expect(miscounted.code).toBe(1);
    expect(JSON.parse(miscounted.stdout)).toMatchObject({
      verified: false,
      problem: "tokens has 1 rows, and 7 were exported",
    });
    writeFileSync(manifest, text.slice(0, 200));
    expect(await verify(place)).toMatchObject({ code: 1, stderr: expect.stringContaining(".json is damaged") });
    writeFileSync(manifest, text);
    const other = join(directory, "other.key");
    await createKeyFile(other);
    const elsewhere = { ...source, CLOAKROOM_ROOT_KEY_FILE: other };
    expect(await cloakroom(elsewhere, "backup", "verify", "--from", place)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("is not the one this database was made with"),
    });
  });

  it("is neither verified nor restored if an older one was given its name or its time", async () => {
    const place = newPlace("renamed");
    const { backup } = await take(place);
    const [exported, manifest] = [join(place, `${backup}.export`), join(place, `${backup}.json`)];
    const text = readFileSync(manifest, "utf8");
    const later = "cloakroom-20991231T000000Z-00000000";
    const renamed = text.replaceAll(backup, later);
    const withTime = renamed.replace(/"taken_at": "[^"]+"/, '"taken_at": "2099-12-31T00:00:00.000Z"');
    copyFileSync(exported, join(place, `${later}.export`));
    const problem = `${later} is not the backup of its name`;
    for (const forged of [renamed, withTime]) {
      writeFileSync(join(place, `${later}.json`), forged);
      expect(await verify(place)).toMatchObject({ code: 1, stderr: expect.stringContaining(problem) });
      const target = { CLOAKROOM_DATA_DIR: newDirectory(), CLOAKROOM_ROOT_KEY_FILE: keyFile };
      expect(await cloakroom(target, "import", "--from", place)).toMatchObject({
        code: 1,
        stderr: expect.stringContaining(problem),
      });
    }
    expect(await verify(place, "--backup", backup)).toMatchObject({ code: 0 });
  });

  it("removes older ones of this vault only, and is in the vault's own log", async () => {
    const place = newPlace("kept");
    const strange = "cloakroom-20200101T000000Z-00000000";
    const first = await take(place);
    const manifest = readFileSync(join(place, `${first.backup}.json`), "utf8");
    const another = manifest
      .replaceAll(first.backup, strange)
      .replace(/"vault": "[^"]+"/, '"vault": "another"')
      .replace(/"taken_at": "[^"]+"/, '"taken_at": "2020-01-01T00:00:00.000Z"');
    writeFileSync(join(place, `${strange}.json`), another);
    writeFileSync(join(place, `${strange}.export`), "of another vault");
    const second = await take(place, "--keep", "1");
    expect(second.removed).toEqual([first.backup]);
    expect(new Set(readdirSync(place).map((file) => file.replace(/\..*$/, "")))).toEqual(
      new Set([second.backup, strange]),
    );
    const { stdout } = await cloakroom(source, "audit", "operations", "--since", "1h", "--json");
    expect(stdout).toContain(`Backup created: ${second.backup} (SHA-256 ${second.sha256})`);
  });

  it("does not count if it was killed at any step, and the next one is whole", async () => {
    const place = newPlace("killed");
    const kills = [killedBefore("lock table"), killedBefore('from "tokens"'), killedAtName(1), killedAtName(2)];
    for (const [step, module] of kills.entries()) {
      const preload = join(directory, `kill-${step}.mjs`);
      writeFileSync(preload, module);
      const killed = await cloakroomFed(source, { lines: [], preload }, "backup", "--to", place);
      expect({ step, code: killed.code }).toEqual({ step, code: 137 });
      expect(await verify(place)).toMatchObject({ code: 1, stderr: expect.stringContaining("no backup in") });
    }
    const { backup } = await take(place, "--keep", "1");
    expect(readdirSync(place).filter((file) => file.endsWith(".json"))).toEqual([`${backup}.json`]);
  });

  it("is restored whole or not at all if the import is killed at any step", async () => {
    const place = newPlace("restored");
    await take(place);
    const target = { CLOAKROOM_DATA_DIR: join(directory, "killed-import") };
    mkdirSync(target.CLOAKROOM_DATA_DIR, { mode: 0o755 });
    copyFileSync(keyFile, join(target.CLOAKROOM_DATA_DIR, "root.key"));
    // In the order of an import: the schema, the transaction, its tables, its end.
    for (const statement of ["do $migration$", "delete from root_keys", 'copy "tokens"', "commit"]) {
      const preload = join(directory, "kill-import.mjs");
      writeFileSync(preload, killedBefore(statement));
      const killed = await cloakroomFed(target, { lines: [], preload }, "import", "--from", place);
      expect({ statement, code: killed.code }).toEqual({ statement, code: 137 });
    }
    // It finds the database empty.
    expect(await cloakroom(target, "import", "--from", place)).toMatchObject({ code: 0, stderr: ONLY_PROGRESS });
    expect(await cloakroom(target, "audit", "verify")).toMatchObject({ code: 0 });
  });

  it("is refused with a reason where it cannot be kept", async () => {
    const nowhere = join(directory, "nowhere");
    for (const [args, code, problem] of [
      [["--to", nowhere], 1, `The directory ${nowhere} cannot be written to: it or the file does not exist.`],
      [["--to", "s3://b"], 1, "s3://b is neither"],
      [["--to", "s3://bucket/x"], 1, "set CLOAKROOM_S3_ACCESS_KEY_ID"],
      [["--to", nowhere, "--keep", "0"], 2, "--keep must be a number from 1 to 100000."],
      [[], 2, "--to is missing."],
    ] as const) {
      const run = await cloakroom(source, "backup", ...args);
      expect({ args, run }).toEqual({ args, run: { code, stdout: "", stderr: expect.stringContaining(problem) } });
    }
    expect(await verify(newPlace("empty"))).toMatchObject({ code: 1, stderr: expect.stringContaining("no backup in") });
  });
});
