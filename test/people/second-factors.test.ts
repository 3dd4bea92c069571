import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type AcceptedFactors, acceptsFactors, NO_FACTORS, secondFactorAt } from "../../src/people/issuer-factor.js";
import { secondFactorUntil } from "../../src/people/second-factor-time.js";

const MINUTE = 60_000;
const NOW = new Date(Date.UTC(2026, 10, 22, 12));
const ago = (ms: number) => new Date(NOW.getTime() - ms);
const seconds = (time: Date) => time.getTime() / 1_000;

describe("a proof of a second factor", () => {
  it.each([
    ["just now", ago(0), 5],
    ["four minutes ago", ago(4 * MINUTE), 1],
    ["a millisecond less than five minutes ago", ago(5 * MINUTE - 1), 1 / MINUTE],
  ])("still counts if it was given %s", (_, provenAt, minutes) => {
    expect(secondFactorUntil(provenAt, NOW)).toEqual(new Date(NOW.getTime() + minutes * MINUTE));
  });

  it.each([
    ["never", null],
    ["five minutes ago", ago(5 * MINUTE)],
    ["a day ago", ago(24 * 60 * MINUTE)],
  ])("counts no longer if it was given %s", (_, provenAt) => {
    expect(secondFactorUntil(provenAt, NOW)).toBeUndefined();
  });
});

describe("the second factor that an issuer states", () => {
  const MFA: AcceptedFactors = { amr: ["mfa", "hwk"], acr: ["phr"] };
  const auth_time = seconds(ago(MINUTE));

  it.each<[string, Parameters<typeof secondFactorAt>[0], Date | undefined]>([
    ["an accepted method", { amr: ["pwd", "mfa"], auth_time }, ago(MINUTE)],
    ["another accepted method", { amr: ["hwk"], auth_time }, ago(MINUTE)],
    ["an accepted context", { acr: "phr", auth_time }, ago(MINUTE)],
    ["both", { amr: ["mfa"], acr: "phr", auth_time }, ago(MINUTE)],
    ["methods that are not accepted", { amr: ["pwd", "otp"], auth_time }, undefined],
    ["a context in place of a method", { acr: "mfa", auth_time }, undefined],
    ["a method in place of a context", { amr: ["phr"], auth_time }, undefined],
    ["a method as a text", { amr: "mfa", auth_time }, undefined],
    ["a method that contains an accepted one", { amr: ["mfa2"], auth_time }, undefined],
    ["no time", { amr: ["mfa"] }, undefined],
    ["a time as a text", { amr: ["mfa"], auth_time: String(auth_time) }, undefined],
    ["a time that is no number", { amr: ["mfa"], auth_time: Number.NaN }, undefined],
    ["an endless time", { amr: ["mfa"], auth_time: Number.POSITIVE_INFINITY }, undefined],
    ["nothing", {}, undefined],
  ])("counts from when it was proved: %s", (_, claims, provenAt) => {
    expect(secondFactorAt(claims, MFA, NOW)).toEqual(provenAt);
  });

  it("never lasts longer because the issuer's clock is ahead", () => {
    expect(secondFactorAt({ amr: ["mfa"], auth_time: seconds(NOW) + 3_600 }, MFA, NOW)).toEqual(NOW);
    fc.assert(
      fc.property(fc.double({ noNaN: true, min: 0, max: 1e11 }), (time) => {
        const provenAt = secondFactorAt({ acr: "phr", auth_time: time }, MFA, NOW);
        expect(provenAt && provenAt <= NOW).toBe(true);
      }),
    );
  });

  it("counts for nothing where no values are accepted", () => {
    expect(secondFactorAt({ amr: ["mfa"], acr: "phr", auth_time }, NO_FACTORS, NOW)).toBeUndefined();
    expect([NO_FACTORS, MFA, { amr: [], acr: ["phr"] }].map(acceptsFactors)).toEqual([false, true, true]);
  });
});
