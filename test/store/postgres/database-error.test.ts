import { inspect } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { systemClock } from "../../../src/base/clock.js";
import { newTenantId, newUuid } from "../../../src/base/ids.js";
import { insertApplicationKey } from "../../../src/store/access/application-keys.js";
import { ConnectionSlot } from "../../../src/store/postgres/connection-slot.js";
import { classifyFailure } from "../../../src/store/postgres/database-error.js";
import { defineStatement } from "../../../src/store/statements/statement.js";
import { SHARED_LIMITS } from "../../../src/store/transactions/batch-limits.js";
import { TransactionBatcher } from "../../../src/store/transactions/transaction-batcher.js";
import { startDatabase, type TestDatabase } from "../../support/databases.js";
import { openFixture, together, transactionsOf } from "../support/batcher-fixture.js";
import { namedRowExists } from "../support/named-rows.js";

let database: TestDatabase;
beforeAll(async () => {
  database = await startDatabase();
});
afterAll(() => database?.[Symbol.asyncDispose]());

const failed = (properties: object) => Object.assign(new Error("failed"), properties);

describe("an error that does not come from PostgreSQL", () => {
  it.each([
    ["the network is down", failed({ code: "ENETDOWN", syscall: "read" })],
    ["no way leads there", failed({ code: "ENETUNREACH", syscall: "write" })],
    ["no descriptor is left", failed({ code: "EMFILE", syscall: "connect" })],
    ["the name service fails", failed({ code: "EAI_FAIL", syscall: "getaddrinfo" })],
    ["no address of a name responds", Object.assign(new AggregateError([]), { code: "ENETUNREACH" })],
    ["a record of TLS is broken", failed({ code: "ERR_SSL_DECRYPTION_FAILED_OR_BAD_RECORD_MAC" })],
    ["the certificate has another name", failed({ code: "ERR_TLS_CERT_ALTNAME_INVALID" })],
    ["the certificate is too old", failed({ code: "CERT_HAS_EXPIRED" })],
    ["the certificate is missing", failed({ code: "DEPTH_ZERO_SELF_SIGNED_CERT" })],
    ["the client ended the connection", failed({ code: "CONNECTION_DESTROYED" })],
  ])("is a connection error if %s", (_, error) => {
    expect(classifyFailure(error)).toBe("connection");
  });

  it.each([
    ["the client cannot make a statement", failed({ code: "UNDEFINED_VALUE" })],
    ["a result cannot be read", new RangeError("too large")],
    ["the thrown value is not an error", "thrown"],
  ])("is not a connection error if %s", (_, error) => {
    expect(classifyFailure(error)).toBe("other");
  });
});

describe("a database that rejects our login", () => {
  it.each([
    ["by its password", { password: "another" }, "28P01"],
    ["by the name of the database", { database: "another" }, "3D000"],
  ])("%s is a 503, with the code in the operator's log", async (_, wrong, code) => {
    const slot = new ConnectionSlot(
      { ...database.address, ...wrong },
      { role: "cloakroom_app", statementTimeout: 5_000 },
    );
    const batcher = new TransactionBatcher([slot], SHARED_LIMITS, systemClock, {
      wasCommitted: () => Promise.reject(new Error("not asked")),
      waitsForStandby: () => Promise.resolve(false),
    });
    const reading = batcher.run(newTenantId(), undefined, (tx) => tx.query(namedRowExists, "any"));
    await expect(reading).rejects.toMatchObject({
      ...{ name: "Fault", code: "unavailable", retryAfter: 1 },
      cause: { message: `database ${code}` },
    });
    await batcher.close();
  });
});

describe("a row whose owner was deleted meanwhile", () => {
  it("is retried, so its request finds that", async () => {
    await using fixture = await openFixture(database, { connections: 1 });
    const key = {
      id: newUuid(),
      application_id: newUuid(),
      key_hash: Buffer.alloc(32),
      proof: Buffer.alloc(0),
      details: null,
      expires_at: null,
      created_by: newUuid(),
    };
    const [outcome] = await together(fixture, [async (tx) => tx.enqueue(insertApplicationKey, key)]);
    expect(outcome).toMatchObject({ status: "rejected", reason: { code: "unavailable", retryAfter: 1 } });
    expect(transactionsOf(fixture).length).toBeGreaterThan(1);
  });
});

describe("an unreadable result", () => {
  it("is reported without the statement and its values", async () => {
    await using fixture = await openFixture(database, { connections: 1 });
    const tooMuch = defineStatement<string, number, { readonly n: number }>({
      ...{ table: "due", kind: "read", sortKey: (value) => value },
      queries: (sql, _tenantId, [value = ""]) => [sql`select 9007199254740993::bigint as n where ${value} <> ''`],
      outputs: ([rows = []]) => rows.map(({ n }) => n),
    });
    const [outcome] = await together(fixture, [(tx) => tx.query(tooMuch, "4242")]);
    expect(outcome).toMatchObject({ status: "rejected", reason: { name: "Fault", code: "internal" } });
    expect(inspect(outcome, { depth: 10, showHidden: true })).not.toMatch(/4242|select/);
    await fixture.insert("afterwards");
    expect(await fixture.names()).toEqual(["afterwards"]);
  });
});
