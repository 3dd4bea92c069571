import { describe, expect, it } from "vitest";
import { dateSpan, rangeSpan } from "../../../src/tokens/search/date-span.js";

const shown = (span: ReturnType<typeof dateSpan>) =>
  span &&
  [span.from?.toISOString() ?? "-", span.before?.toISOString() ?? "-"].map((text) => text.replace(/\.000Z$/, "Z"));
const end = (text: string | undefined, isInclusive: boolean) =>
  text === undefined ? undefined : { text, isInclusive };

describe("a date in a search", () => {
  it.each([
    ["2021-12-31", ["2021-12-31T00:00:00Z", "2022-01-01T00:00:00Z"]],
    ["2021-12-31T23:59", ["2021-12-31T23:59:00Z", "2022-01-01T00:00:00Z"]],
    ["2021-12-31T23:59:59Z", ["2021-12-31T23:59:59Z", "2022-01-01T00:00:00Z"]],
    ["2021-12-31T23:59:59", ["2021-12-31T23:59:59Z", "2022-01-01T00:00:00Z"]],
    ["2021-12-31T23:59:59.500Z", ["2021-12-31T23:59:59.500Z", "2021-12-31T23:59:59.501Z"]],
    ["2021-12-31T23:59:59.9999999+00:00", ["2021-12-31T23:59:59.999Z", "2022-01-01T00:00:00Z"]],
    ["2021-12-31T19:00:00-05:00", ["2022-01-01T00:00:00Z", "2022-01-01T00:00:01Z"]],
    ["9999-12-31", ["9999-12-31T00:00:00Z", "-"]],
  ])("%s covers all of its last unit", (text, expected) => {
    expect(shown(dateSpan(text))).toEqual(expected);
  });

  it.each(["2021", "2021-02-30", "yesterday", "2021-01-01x", "12/31/2021", "10000-01-01", "*"])("is not %s", (text) => {
    expect(dateSpan(text)).toBeUndefined();
  });

  it.each<[string, string | undefined, boolean, string | undefined, boolean, readonly string[]]>([
    ["holds its ends", "2021-01-01", true, "2021-12-31", true, ["2021-01-01T00:00:00Z", "2022-01-01T00:00:00Z"]],
    ["holds none", "2021-01-01", false, "2021-12-31", false, ["2021-01-02T00:00:00Z", "2021-12-31T00:00:00Z"]],
    ["has no first", undefined, true, "2022-01-01", false, ["-", "2022-01-01T00:00:00Z"]],
    ["has no last", "2022-01-01T10:00", false, undefined, true, ["2022-01-01T10:01:00Z", "-"]],
    ["has none", undefined, true, undefined, true, ["-", "-"]],
    ["is after all", "9999-12-31", false, undefined, true, ["9999-12-31T23:59:59.999Z", "-"]],
  ])("in a range that %s", (_, from, holdsFrom, to, holdsTo, expected) => {
    expect(shown(rangeSpan(end(from, holdsFrom), end(to, holdsTo)))).toEqual(expected);
  });
});
