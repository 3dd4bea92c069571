import { existsSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { lastFailure, openLog, truncateLog } from "../../../src/store/embedded/server-log.js";
import { scratch } from "./support/databases.js";

describe("PostgreSQL's log file", () => {
  it("grows to the limit, then keeps its newest part in a second file and continues in the same one", async () => {
    const path = join(scratch(), "postgres.log");
    const server = await openLog(path);
    try {
      await server.write(`${"a".repeat(80)}${"b".repeat(20)}`);
      await truncateLog(path, 100);
      expect(existsSync(`${path}.1`)).toBe(false);
      await server.write("c");
      await truncateLog(path, 100);
      expect(readFileSync(`${path}.1`, "utf8")).toBe(`${"a".repeat(79)}${"b".repeat(20)}c`);
      await server.write("after");
      expect(readFileSync(path, "utf8")).toBe("after");
      await server.write("x".repeat(200));
      await truncateLog(path, 100);
      expect(statSync(`${path}.1`).size).toBe(100);
      expect(statSync(path).size).toBe(0);
    } finally {
      await server.close();
    }
    for (const file of [path, `${path}.1`]) expect(statSync(file).mode & 0o777).toBe(0o600);
  });

  it.each([
    { lines: "", since: 0, failure: undefined },
    { lines: "2026 UTC [1] LOG:  ready\n", since: 0, failure: undefined },
    {
      lines: "2026 UTC [1] FATAL:  first\n2026 UTC [1] PANIC:  second\n2026 UTC [1] LOG:  bye\n",
      since: 0,
      failure: "second",
    },
    { lines: "2026 UTC [1] FATAL:  of an earlier start\n2026 UTC [2] LOG:  ready\n", since: 44, failure: undefined },
    {
      lines: "postgres: could not find the database system\nExpected to find it in the directory\n",
      since: 0,
      failure: "could not find the database system",
    },
    {
      lines:
        "FATAL:  pre-existing shared memory block (key 1, ID 2) is still in use\nHINT:  Terminate any old server processes.\nFATAL:  terminating connection due to unexpected postmaster exit\n",
      since: 0,
      failure: "pre-existing shared memory block (key 1, ID 2) is still in use",
    },
  ])("shows why a start failed: $failure", async ({ lines, since, failure }) => {
    const path = join(scratch(), "postgres.log");
    writeFileSync(path, lines);
    expect(await lastFailure(path, since)).toBe(failure);
  });

  it("is never written through a link", async () => {
    const directory = scratch();
    writeFileSync(join(directory, "elsewhere"), "");
    symlinkSync(join(directory, "elsewhere"), join(directory, "postgres.log"));
    await expect(openLog(join(directory, "postgres.log"))).rejects.toMatchObject({ code: "ELOOP" });
  });
});
