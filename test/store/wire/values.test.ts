import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Uuid } from "../../../src/base/ids.js";
import {
  bigint,
  boolean,
  bytes,
  date,
  integer,
  json,
  text,
  texts,
  time,
  uuid,
} from "../../../src/store/statements/parameter.js";
import { startDatabase, type TestDatabase } from "../../support/databases.js";
import { openSession, type WireSession } from "./support/wire-session.js";

let database: TestDatabase;
let session: WireSession;
beforeAll(async () => {
  database = await startDatabase();
  session = await openSession(database.address);
});
afterAll(async () => {
  session?.connection.end();
  await database?.[Symbol.asyncDispose]();
});

/** PostgreSQL stores no zero byte in a text, and half of a surrogate pair is not a character. */
const storable = fc.string({ unit: "binary" }).filter((value) => !value.includes("\0") && value.isWellFormed());

const times = fc.date({
  min: new Date("0001-01-01T00:00:00Z"),
  max: new Date("9999-12-31T23:59:59.999Z"),
  noInvalidDate: true,
});

describe("values", () => {
  it("return unchanged in every type", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.record({
          text: fc.option(storable),
          bytes: fc.option(fc.uint8Array({ maxLength: 300 })),
          integer: fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 }),
          bigint: fc.maxSafeInteger(),
          boolean: fc.boolean(),
          time: fc.option(times),
          texts: fc.array(storable, { maxLength: 5 }),
          object: fc.dictionary(storable, storable, { noNullPrototype: true }),
        }),
        async (value) => {
          type Value = typeof value;
          const [row] = await session.run(
            "select $1::text, $2::bytea, $3::int, $4::bigint, $5::bool, $6::timestamptz, $7::text[], $8::jsonb",
            [
              text<Value>((of) => of.text),
              bytes<Value>((of) => of.bytes),
              integer<Value>((of) => of.integer),
              bigint<Value>((of) => of.bigint),
              boolean<Value>((of) => of.boolean),
              time<Value>((of) => of.time),
              texts<Value>((of) => of.texts),
              json<Value>((of) => of.object),
            ],
            value,
            (column) => ({
              text: column.textOrNull(),
              bytes: column.bytesOrNull(),
              integer: column.integer(),
              bigint: column.integer(),
              boolean: column.boolean(),
              time: column.timeOrNull(),
              texts: column.texts(),
              object: column.jsonObject(),
            }),
          );
          const expected = value.bytes && Buffer.from(value.bytes);
          expect(row).toEqual({ ...value, bytes: expected });
        },
      ),
      { numRuns: 150 },
    );
  });

  it("are rounded down to the millisecond if they are times before 2000 or with microseconds", async () => {
    const read = async (written: string) => {
      const [row] = await session.run("select $1::text::timestamptz", [text<string>((of) => of)], written, (column) =>
        column.time(),
      );
      return row?.toISOString();
    };
    expect(await read("1999-12-31T23:59:59.999999Z")).toBe("1999-12-31T23:59:59.999Z");
    expect(await read("2026-01-01T00:00:00.000999Z")).toBe("2026-01-01T00:00:00.000Z");
    expect(await read("0001-01-01T00:00:00Z")).toBe("0001-01-01T00:00:00.000Z");
  });

  it("are sent as text if they are days or uuids", async () => {
    const given: { readonly day: string; readonly id: Uuid | null } = { day: "2026-02-28", id: null };
    const [row] = await session.run(
      "select $1::date::text, $2::uuid",
      [date<typeof given>(({ day }) => day), uuid<typeof given>(({ id }) => id)],
      given,
      (column) => [column.text(), column.uuidOrNull()],
    );
    expect(row).toEqual(["2026-02-28", null]);
  });

  it("larger than a packet arrive whole", async () => {
    const large = Buffer.alloc(3_000_000, 9);
    const [row] = await session.run("select $1::bytea", [bytes<Buffer>((of) => of)], large, (column) => column.bytes());
    expect(row?.equals(large)).toBe(true);
  });

  it.each<[string, () => Promise<unknown>]>([
    [
      "an invalid time",
      () => session.run("select $1::timestamptz", [time<Date>((of) => of)], new Date(Number.NaN), () => 0),
    ],
    [
      "a bigint that is not a safe integer",
      () => session.run("select $1::bigint", [bigint<number>((of) => of)], 2 ** 60, () => 0),
    ],
  ])("leave nothing behind if they cannot be sent: %s", async (_, run) => {
    await expect(run()).rejects.toThrow(RangeError);
    expect(await session.run("select 1", [], undefined, (column) => column.integer())).toEqual([1]);
  });

  it.each<[string, string, string]>([
    ["of another type than is read", "select 1::int", "unreadable"],
    ["that are too few", "select 'a'::bytea", "unreadable"],
  ])("%s are reported, and the session continues", async (_, statement) => {
    const reading = session.run(statement, [], undefined, (column) => [column.bytes(), column.bytes()]);
    await expect(reading).rejects.toThrow(/columns are read of/);
    expect(await session.run("select 1", [], undefined, (column) => column.integer())).toEqual([1]);
  });

  it("fail without quoting the row if they are null in a not-null column", async () => {
    const reading = session.run("select null::text, '4242'::text", [], undefined, (column) => [
      column.text(),
      column.text(),
    ]);
    await expect(reading).rejects.toThrow("a row cannot be read");
    expect(await session.run("select 1", [], undefined, (column) => column.integer())).toEqual([1]);
  });
});
