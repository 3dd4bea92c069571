import { chmodSync, existsSync, mkdirSync, readdirSync, renameSync, statSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { afterEach, describe, expect, it, vi } from "vitest";
import { ownAccount } from "../../../src/store/embedded/server-account.js";
import { createSocketDirectory, removeSocketDirectory } from "../../../src/store/embedded/socket-directory.js";
import { isRoot, scratch } from "./support/databases.js";

const OTHER_UID = 12_345;
const account = ownAccount();
const outsider = {
  ...account,
  uid: OTHER_UID,
  gid: OTHER_UID,
  label: "outsider",
  spawnAs: { uid: OTHER_UID, gid: OTHER_UID },
};

/** A data directory, and a temporary directory for its sockets. */
function prepare(name = "tmp"): { data: string; temporary: string } {
  const [temporary, data] = [join(scratch(), name), join(scratch(), "data")];
  for (const directory of [temporary, data]) mkdirSync(directory);
  vi.stubEnv("TMPDIR", temporary);
  return { data, temporary };
}

afterEach(() => vi.unstubAllEnvs());

describe("the socket's directory", () => {
  it("is closed to others, and new for each start", async () => {
    const { data, temporary } = prepare();
    const directory = await createSocketDirectory(data, account);
    expect(dirname(directory)).toBe(temporary);
    expect(statSync(directory).mode & 0o777).toBe(0o700);
    const second = await createSocketDirectory(data, account);
    expect(second).not.toBe(directory);
    expect(readdirSync(temporary), "the empty one of an earlier start is removed").toEqual([basename(second)]);
  });

  it("differs for each data directory, also for two that were given the same path", async () => {
    const { data, temporary } = prepare();
    await createSocketDirectory(data, account);
    // Two containers that mount different volumes at one path.
    renameSync(data, `${data}.of-another-volume`);
    mkdirSync(data);
    await createSocketDirectory(data, account);
    await createSocketDirectory(`${data}.of-another-volume`, account);
    expect(readdirSync(temporary)).toHaveLength(3);
  });

  it("is removed with the socket and the lock of a server that died", async () => {
    const { data } = prepare();
    const directory = await createSocketDirectory(data, account);
    for (const name of [".s.PGSQL.5432", ".s.PGSQL.5432.lock"]) writeFileSync(join(directory, name), "");
    await removeSocketDirectory(directory);
    expect(existsSync(directory)).toBe(false);
    await removeSocketDirectory(directory);
  });

  it("is left alone if it was not created here, or contains other files", async () => {
    const own = scratch();
    await removeSocketDirectory(own);
    expect(existsSync(own)).toBe(true);
    const { data } = prepare();
    const directory = await createSocketDirectory(data, account);
    writeFileSync(join(directory, "notes"), "");
    await removeSocketDirectory(directory);
    expect(existsSync(join(directory, "notes"))).toBe(true);
  });

  it.runIf(isRoot)("belongs to the server's account", async () => {
    const { data } = prepare();
    const directory = await createSocketDirectory(data, outsider);
    expect(statSync(directory)).toMatchObject({ uid: OTHER_UID, gid: OTHER_UID });
  });

  it.each(["d".repeat(100), "with,comma"])(
    "is below /tmp where the temporary directory is too deep for a socket or means something to PostgreSQL: %s",
    async (name) => {
      const { data } = prepare(name);
      const directory = await createSocketDirectory(data, account);
      expect(dirname(directory)).toBe("/tmp");
      await removeSocketDirectory(directory);
    },
  );

  it.runIf(isRoot)("is below /tmp if the server's account cannot enter the temporary directory", async () => {
    const { data, temporary } = prepare();
    chmodSync(temporary, 0o700);
    const directory = await createSocketDirectory(data, outsider);
    expect(dirname(directory)).toBe("/tmp");
    await removeSocketDirectory(directory);
  });
});
