import { readdirSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import {
  DirectoryLock,
  describeServer,
  isLocked,
  removeServerFile,
  writeServerFile,
} from "../../../src/store/embedded/directory-lock.js";
import { EmbeddedDatabaseError } from "../../../src/store/embedded/embedded-database.js";
import { canMount, SmallDisk } from "../../support/small-disk.js";
import { scratch } from "./support/databases.js";

describe("a lock of a data directory", () => {
  it("is held by one process at a time, and leaves an empty file", () => {
    const dataDir = scratch();
    const first = DirectoryLock.tryTake(dataDir, "start.lock");
    expect(first).toBeDefined();
    expect(DirectoryLock.tryTake(dataDir, "start.lock")).toBeUndefined();
    expect(DirectoryLock.tryTake(dataDir, "start.lock", "shared")).toBeUndefined();
    expect(isLocked(dataDir, "start.lock")).toBe(true);
    first?.release();
    first?.release();
    expect(isLocked(dataDir, "start.lock")).toBe(false);
    expect(readdirSync(dataDir)).toEqual(["start.lock"]);
    expect(statSync(join(dataDir, "start.lock"))).toMatchObject({ size: 0 });
    expect(statSync(join(dataDir, "start.lock")).mode & 0o777).toBe(0o600);
  });

  it("is shared by any number of processes, until the last of them releases it", () => {
    const dataDir = scratch();
    const shares = [1, 2, 3].map(() => DirectoryLock.tryTake(dataDir, "users.lock", "shared"));
    for (const share of shares) {
      expect(isLocked(dataDir, "users.lock")).toBe(true);
      share?.release();
    }
    expect(isLocked(dataDir, "users.lock")).toBe(false);
  });

  it("stays held after others have tried, and a late release of an old one releases no new one", () => {
    const dataDir = scratch();
    const old = DirectoryLock.tryTake(dataDir, "cloakroom.lock");
    old?.release();
    const lock = DirectoryLock.tryTake(dataDir, "cloakroom.lock");
    old?.release();
    for (let attempt = 0; attempt < 3; attempt++) expect(isLocked(dataDir, "cloakroom.lock")).toBe(true);
    lock?.release();
  });

  it("is one per directory", () => {
    const locks = [scratch(), scratch()].map((dataDir) => DirectoryLock.tryTake(dataDir, "cloakroom.lock"));
    expect(locks.every((lock) => lock !== undefined)).toBe(true);
    for (const lock of locks) lock?.release();
  });

  it.runIf(canMount)("is taken and released on a full disk too", () => {
    using disk = new SmallDisk(2);
    isLocked(disk.directory, "start.lock");
    disk.fill();
    using lock = DirectoryLock.tryTake(disk.directory, "start.lock");
    expect(lock).toBeDefined();
    expect(DirectoryLock.tryTake(disk.directory, "start.lock")).toBeUndefined();
  });

  it("fails if it cannot be taken, and follows no link", () => {
    const dataDir = scratch();
    symlinkSync(join(dataDir, "of-another-user"), join(dataDir, "cloakroom.lock"));
    for (const directory of [dataDir, join(dataDir, "missing")]) {
      expect(() => DirectoryLock.tryTake(directory, "cloakroom.lock")).toThrow(EmbeddedDatabaseError);
      expect(() => DirectoryLock.tryTake(directory, "cloakroom.lock")).toThrow(/Cannot lock .*CLOAKROOM_DATA_DIR/);
    }
    expect(readdirSync(dataDir)).toEqual(["cloakroom.lock"]);
  });

  it("says what to do about a lock file with another content", () => {
    const dataDir = scratch();
    writeFileSync(join(dataDir, "start.lock"), "7\n");
    expect(() => DirectoryLock.tryTake(dataDir, "start.lock")).toThrow(
      /Cannot lock .*start\.lock\. .*\nIf that file is anything but an empty file, remove it while no Cloakroom process/,
    );
  });
});

describe("the server of a data directory", () => {
  it("is named by its pid, in another container by its host, and not at all once its lock is released", () => {
    const dataDir = scratch();
    const lock = DirectoryLock.tryTake(dataDir, "cloakroom.lock");
    writeServerFile(dataDir);
    writeServerFile(dataDir);
    expect(describeServer(dataDir)).toBe(`another Cloakroom server (pid ${process.pid})`);
    for (const [namespace, host] of [
      ["pid:[1]", hostname()],
      ["", "elsewhere"],
    ]) {
      writeFileSync(join(dataDir, "server.pid"), `7\n${namespace}\n${host}\n`);
      expect(describeServer(dataDir)).toBe(`another Cloakroom server (in another container or host, ${host})`);
    }
    lock?.release();
    expect(describeServer(dataDir)).toBe("another Cloakroom process");
  });

  it.each(["", "\n\n", "7"])("is unnamed if its file contains %j, or is missing", (content) => {
    const dataDir = scratch();
    using _lock = DirectoryLock.tryTake(dataDir, "cloakroom.lock");
    writeFileSync(join(dataDir, "server.pid"), content);
    expect(describeServer(dataDir)).toBe("another Cloakroom process");
    removeServerFile(dataDir);
    expect(describeServer(dataDir)).toBe("another Cloakroom process");
  });
});
