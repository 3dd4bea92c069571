import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseExpiry } from "../../src/tokens/parse-expiry.js";
import { faultFields } from "../expressions/faults.js";

const NOW = new Date("2026-06-01T12:00:00.000Z");

describe("an expiry", () => {
  it("is shown as a text that means the same moment, and is shown the same again", () => {
    const time = fc.date({ min: new Date("2026-06-03"), max: new Date("9999-12-30"), noInvalidDate: true });
    const offset = fc.constantFrom("Z", "+00:00", "-00:00", "+05:30", "-07:00", "+0200", "+14:00", "-12:00");
    fc.assert(
      fc.property(time, offset, fc.constantFrom(16, 19, 21, 23), (at, zone, length) => {
        const text = `${at.toISOString().slice(0, length)}${zone}`;
        const expiry = parseExpiry(text, NOW);
        const again = parseExpiry(expiry.text, NOW);
        expect(again).toEqual(expiry);
        expect(expiry.at.getTime()).toBe(new Date(text).getTime());
      }),
    );
  });

  it("in the format of the United States means the same as in ISO 8601, at every hour of the day", () => {
    for (let hour = 0; hour < 24; hour += 1) {
      const expected = new Date(Date.UTC(2030, 7, 5, hour, 7, 9)).toISOString();
      const half = `${hour % 12 === 0 ? 12 : hour % 12}:07:09 ${hour < 12 ? "AM" : "pm"}`;
      expect(parseExpiry(`8/5/2030 ${half}`, NOW).text).toBe(expected);
      expect(parseExpiry(`08/05/2030 ${hour}:07:09`, NOW).text).toBe(expected);
    }
  });

  it.each([
    ["2026-06-01T12:00:00.001Z", true],
    ["2026-06-01T12:00:00.000Z", false],
    ["2026-06-01T14:00:01+02:00", true],
    ["2026-06-01T14:00:00+02:00", false],
    ["2026-06-02", true],
    ["2026-06-01", false],
    ["6/1/2026 12:01 PM", true],
    ["6/1/2026 12:00 PM", false],
  ])("must be in the future: %s is %s", (text, isAccepted) => {
    if (isAccepted) expect(() => parseExpiry(text, NOW)).not.toThrow();
    else expect(faultFields(() => parseExpiry(text, NOW))).toHaveProperty("expires_at");
  });

  it.each([
    ["8/5/2030 25:00", "no such hour"],
    ["8/5/2030 12:60 PM", "no such minute"],
    ["8/5/2030 7 PM", "no minute"],
    ["2030-08-05T07", "no minute"],
    ["8-5-2030", "hyphens"],
    ["5/8/30", "a year of two digits"],
    ["2030-08-05T07:08:09+24:00", "no such offset"],
    ["2030-08-05 +02:00", "an offset without a time"],
  ])("cannot be %s: %s", (text) => {
    expect(faultFields(() => parseExpiry(text, NOW))).toHaveProperty("expires_at");
  });
});
