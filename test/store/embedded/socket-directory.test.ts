import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  renameSync,
  rmdirSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { afterEach, describe, expect, it, vi } from "vitest";
import { ownAccount } from "../../../src/store/embedded/server-account.js";
import { openSocketDirectory, removeSocketDirectory } from "../../../src/store/embedded/socket-directory.js";
import { isRoot, scratch } from "./support/databases.js";

const STRANGER = 12_345;
const account = ownAccount();
const stranger = {
  ...account,
  uid: STRANGER,
  gid: STRANGER,
  label: "stranger",
  spawnAs: { uid: STRANGER, gid: STRANGER },
};

/** A data directory, and a temporary directory of its own for the sockets. */
function prepare(): { data: string; temporary: string } {
  const temporary = scratch();
  vi.stubEnv("TMPDIR", temporary);
  const data = join(scratch(), "data");
  mkdirSync(data);
  return { data, temporary };
}

afterEach(() => vi.unstubAllEnvs());

describe("the socket's directory", () => {
  it("is new, closed to others, and the same at the next start", async () => {
    const { data, temporary } = prepare();
    const directory = await openSocketDirectory(data, account);
    expect(dirname(directory)).toBe(temporary);
    expect(statSync(directory).mode & 0o777).toBe(0o700);
    await removeSocketDirectory(directory);
    expect(existsSync(directory)).toBe(false);
    expect(await openSocketDirectory(data, account)).toBe(directory);
  });

  it("is another one for each data directory, also for two that were given the same path", async () => {
    const { data } = prepare();
    const first = await openSocketDirectory(data, account);
    // Two containers that mount different volumes at one path.
    renameSync(data, `${data}.of-another-volume`);
    mkdirSync(data);
    const second = await openSocketDirectory(data, account);
    const third = await openSocketDirectory(`${data}.of-another-volume`, account);
    expect(new Set([first, second, third]).size).toBe(3);
  });

  it("is emptied of the socket and the lock of a server that died, and closed again", async () => {
    const { data } = prepare();
    const directory = await openSocketDirectory(data, account);
    for (const name of [".s.PGSQL.5432", ".s.PGSQL.5432.lock"]) writeFileSync(join(directory, name), "");
    chmodSync(directory, 0o777);
    await openSocketDirectory(data, account);
    expect(statSync(directory).mode & 0o777).toBe(0o700);
    expect(existsSync(join(directory, ".s.PGSQL.5432.lock"))).toBe(false);
  });

  it.each([
    {
      what: "a file",
      plant: (path: string) => writeFileSync(path, ""),
    },
    {
      what: "a link to a directory of ours",
      plant: (path: string) => symlinkSync(scratch(), path),
    },
  ])("is refused when somebody has put $what in its place", async ({ plant }) => {
    const { data } = prepare();
    const directory = await openSocketDirectory(data, account);
    rmdirSync(directory);
    plant(directory);
    await expect(openSocketDirectory(data, account)).rejects.toThrow(
      /cannot be put into .*: it is not a directory, and Cloakroom did not make it\.\nRemove it, or set TMPDIR/,
    );
  });

  it.runIf(isRoot)(
    "is refused when it belongs to somebody else, and given to the server's account when it is ours",
    async () => {
      const { data } = prepare();
      const directory = await openSocketDirectory(data, account);
      expect(await openSocketDirectory(data, stranger)).toBe(directory);
      expect(statSync(directory).uid).toBe(STRANGER);
      chownSync(directory, STRANGER + 1, STRANGER + 1);
      await expect(openSocketDirectory(data, stranger)).rejects.toThrow(`it belongs to uid ${STRANGER + 1}`);
    },
  );

  it("falls back to /tmp where the temporary directory is too deep for a socket or means something to PostgreSQL", async () => {
    const { data } = prepare();
    for (const name of ["d".repeat(100), "with,comma"]) {
      const odd = join(scratch(), name);
      mkdirSync(odd);
      vi.stubEnv("TMPDIR", odd);
      const directory = await openSocketDirectory(data, account);
      expect(dirname(directory)).toBe("/tmp");
      await removeSocketDirectory(directory);
    }
  });

  it.runIf(isRoot)("falls back to /tmp where the server's account cannot enter the temporary directory", async () => {
    const { data, temporary } = prepare();
    chmodSync(temporary, 0o700);
    const directory = await openSocketDirectory(data, stranger);
    expect(dirname(directory)).toBe("/tmp");
    await removeSocketDirectory(directory);
  });

  it("is left alone when it is somebody's own, or already gone", async () => {
    const own = scratch();
    await removeSocketDirectory(own);
    expect(existsSync(own)).toBe(true);
    await removeSocketDirectory(join(own, "cloakroom-0123456789abcdef"));
  });
});
