import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { connectOnce, type OneConnection } from "../../../src/store/postgres/one-connection.js";
import { readArrayText, toArrayText } from "../../../src/store/wire/array-text.js";
import { startDatabase, type TestDatabase } from "../../support/databases.js";

let database: TestDatabase;
let connection: OneConnection;
beforeAll(async () => {
  database = await startDatabase();
  connection = connectOnce(database.address, { statementTimeout: 5_000 });
});
afterAll(async () => {
  await connection?.end(1);
  await database?.[Symbol.asyncDispose]();
});

/** Every character except the one that PostgreSQL cannot store. */
const texts = fc.array(
  fc.oneof(
    fc.string({ unit: "binary" }).map((text) => text.replaceAll("\0", "")),
    fc.string({ unit: fc.constantFrom(..."{}[]()\"\\', \n\tNULn") }),
    fc.constantFrom("", "NULL", "null", "{}", '"', "\\", "a,b", " ", "ünïcode 💳"),
  ),
);

describe("arrays of texts", () => {
  it("are parsed as they were written", () => {
    fc.assert(
      fc.property(texts, (items) => {
        expect(readArrayText(toArrayText(items))).toEqual(items);
      }),
    );
  });

  it("return unchanged from the database, with as many items as it counts", async () => {
    await fc.assert(
      fc.asyncProperty(texts, async (items) => {
        const [row] = await connection.sql<{ texts: string[]; n: number }[]>`
          select ${items}::text[] as texts, cardinality(${items}::text[]) as n`;
        expect(row).toEqual({ texts: items, n: items.length });
      }),
      { numRuns: 200 },
    );
  });

  it("work next to arrays of names, dates and ids", async () => {
    const id = "01a1ffb0-3fae-7000-b492-b121fab8efbb";
    const [row] = await connection.sql<{ isName: boolean; names: string[]; dates: string[]; ids: string[] }[]>`
      select rolname = any(${["another", "cloakroom_app"]}) as "isName", ${["a name"]}::name[] as names,
        ${["2026-11-01"]}::date[] as dates, ${[id]}::uuid[] as ids
      from pg_roles where rolname = 'cloakroom_app'`;
    expect(row).toEqual({ isName: true, names: ["a name"], dates: ["2026-11-01"], ids: [id] });
  });
});
