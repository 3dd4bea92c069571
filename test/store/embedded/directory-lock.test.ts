import { readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { DirectoryLock, describeHolder, isNeighbour, readHolder } from "../../../src/store/embedded/directory-lock.js";
import { EmbeddedDatabaseError } from "../../../src/store/embedded/embedded-database.js";
import { scratch } from "./support/databases.js";

describe("the lock of a data directory", () => {
  it("is held by one at a time, who says so, and leaves an empty file", () => {
    const dataDir = scratch();
    const first = DirectoryLock.tryTake(dataDir, "server");
    expect(first).toBeDefined();
    expect(DirectoryLock.tryTake(dataDir, "command")).toBeUndefined();
    expect(readHolder(dataDir)).toMatchObject({ pid: process.pid, holding: "server", host: hostname() });
    first?.release();
    first?.release();
    expect(readdirSync(dataDir)).toEqual(["cloakroom.lock"]);
    expect(statSync(join(dataDir, "cloakroom.lock"))).toMatchObject({ size: 0 });
    expect(statSync(join(dataDir, "cloakroom.lock")).mode & 0o777).toBe(0o600);

    const second = DirectoryLock.tryTake(dataDir, "command");
    expect(readHolder(dataDir)).toMatchObject({ holding: "command" });
    second?.release();
  });

  it("stays held when others have tried, and a late release of an old one frees no new one", () => {
    const dataDir = scratch();
    const old = DirectoryLock.tryTake(dataDir, "command");
    old?.release();
    const lock = DirectoryLock.tryTake(dataDir, "server");
    old?.release();
    for (let attempt = 0; attempt < 3; attempt++) expect(DirectoryLock.tryTake(dataDir, "server")).toBeUndefined();
    expect(readHolder(dataDir)).toMatchObject({ holding: "server" });
    lock?.release();
  });

  it("is one per directory", () => {
    const locks = [scratch(), scratch()].map((dataDir) => DirectoryLock.tryTake(dataDir, "server"));
    expect(locks.every((lock) => lock !== undefined)).toBe(true);
    for (const lock of locks) lock?.release();
  });

  it("is not taken where it cannot be, and no link is followed", () => {
    const dataDir = scratch();
    symlinkSync(join(dataDir, "of-somebody-else"), join(dataDir, "cloakroom.lock"));
    for (const directory of [dataDir, join(dataDir, "missing")]) {
      expect(() => DirectoryLock.tryTake(directory, "server")).toThrow(EmbeddedDatabaseError);
      expect(() => DirectoryLock.tryTake(directory, "server")).toThrow(/Cannot lock .*CLOAKROOM_DATA_DIR/);
    }
    expect(readdirSync(dataDir)).toEqual(["cloakroom.lock"]);
  });
});

describe("its holder", () => {
  it("is known by host and pid namespace", () => {
    const dataDir = scratch();
    DirectoryLock.tryTake(dataDir, "command")?.release();
    const lock = DirectoryLock.tryTake(dataDir, "server");
    const holder = readHolder(dataDir);
    lock?.release();
    if (holder === undefined) throw new Error("no holder was written");
    expect(isNeighbour(holder)).toBe(true);
    expect(describeHolder(holder)).toBe(`another Cloakroom server (pid ${process.pid})`);
    expect(describeHolder({ ...holder, holding: "command" })).toBe(`a Cloakroom command (pid ${process.pid})`);
    for (const foreign of [
      { ...holder, host: "elsewhere" },
      { ...holder, pidNamespace: "pid:[1]" },
    ]) {
      expect(isNeighbour(foreign)).toBe(false);
      expect(describeHolder(foreign)).toContain(`in another container or host, ${foreign.host}`);
    }
  });

  it.each(["", "null", "{}", "[1]", '{"pid":1}', '{"pid":"1","holding":"server","host":"h","pidNamespace":""}'])(
    "is nobody when its file says %s",
    (content) => {
      const dataDir = scratch();
      writeFileSync(join(dataDir, "holder.json"), content);
      expect(readHolder(dataDir)).toBeUndefined();
      expect(describeHolder(readHolder(dataDir))).toBe("another Cloakroom process");
      expect(readFileSync(join(dataDir, "holder.json"), "utf8")).toBe(content);
    },
  );
});
