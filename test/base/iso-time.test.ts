import { describe, expect, it } from "vitest";
import { parseIsoTime } from "../../src/base/iso-time.js";

describe("a time as ISO 8601", () => {
  it.each([
    ["0001-01-01", "0001-01-01T00:00:00.000Z"],
    ["0001-01-01T00:00:00Z", "0001-01-01T00:00:00.000Z"],
    ["0000-12-31T23:30:00-01:00", "0001-01-01T00:30:00.000Z"],
    ["9999-12-31T23:59:59.999Z", "9999-12-31T23:59:59.999Z"],
    ["9999-12-31T23:59:59+01:00", "9999-12-31T22:59:59.000Z"],
    ["2030-08-26 19:23", "2030-08-26T19:23:00.000Z"],
  ])("%s is %s", (text, time) => {
    expect(parseIsoTime(text)?.toISOString()).toBe(time);
  });

  // Neither PostgreSQL nor protobuf has a year 0, and four digits end with 9999.
  it.each([
    "0000-01-01",
    "0000-12-31T23:59:59Z",
    "0001-01-01T00:00:00+01:00",
    "9999-12-31T23:59:59-01:00",
    "9999-12-31T24:00:00Z",
    "2030-02-30",
    "+12030-01-01",
  ])("rejects %s", (text) => {
    expect(parseIsoTime(text)).toBeUndefined();
  });
});
