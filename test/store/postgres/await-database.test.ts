import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { awaitDatabase } from "../../../src/store/postgres/await-database.js";
import { startDatabase, type TestDatabase } from "../../support/databases.js";
import { PostgresProxy } from "../../support/postgres-proxy.js";

let database: TestDatabase;
let proxy: PostgresProxy;
beforeAll(async () => {
  database = await startDatabase();
  proxy = await PostgresProxy.before(database.address);
});
afterAll(async () => {
  await proxy?.[Symbol.asyncDispose]();
  await database?.[Symbol.asyncDispose]();
});

describe("a database that is starting up", () => {
  it("is waited for, with one message", async () => {
    const said: string[] = [];
    proxy.refuseWith("57P03");
    const before = proxy.opened;
    const waiting = awaitDatabase(proxy.address, "DATABASE_URL", {
      waitMs: 20_000,
      announce: (line) => {
        said.push(line);
      },
    });
    await expect.poll(() => proxy.opened).toBeGreaterThan(before + 2);
    proxy.comeBack();
    expect(await waiting).toBe(database.address.username);
    expect(said).toEqual(["The database that DATABASE_URL names is starting up. Waiting for it."]);
  });

  it("is waited for until the time-out, and by a command not at all", async () => {
    proxy.refuseWith("57P03");
    const before = proxy.opened;
    await expect(awaitDatabase(proxy.address, "DATABASE_URL")).rejects.toMatchObject({
      name: "DatabaseSetupError",
      message: "The database that DATABASE_URL names does not respond (57P03).",
    });
    expect(proxy.opened).toBe(before + 1);
    proxy.comeBack();
  });
});

describe("an address", () => {
  it.each([
    ["mysql://vault:secret@127.0.0.1/vault", "DATABASE_URL must begin with postgres://"],
    ["HTTPS://example.com", "DATABASE_URL must begin with postgres://"],
    ["localhost", "DATABASE_URL must be an address such as postgres://user:password@host:5432/database."],
  ])("%s is rejected in one line, without its contents", async (url, message) => {
    await expect(awaitDatabase({ url }, "DATABASE_URL")).rejects.toMatchObject({ name: "DatabaseSetupError", message });
  });
});
