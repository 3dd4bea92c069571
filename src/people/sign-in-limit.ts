import { Fault } from "../base/fault.js";
import { type SignInAttempt, type SignInLimits, secondsOfLimit } from "../rate-limits/sign-in-limits.js";

const REFUSALS = {
  openid: "Too many people are signing in. Try again in a minute.",
  passkey: "Too many challenges were asked for. Try again in a minute.",
} as const;

type LimitedAttempt = Extract<SignInAttempt, { readonly kind: keyof typeof REFUSALS }>;

/** Counts an attempt. @throws {Fault} rate_limited for one too many. */
export async function requireWithinLimit(limits: SignInLimits, attempt: LimitedAttempt): Promise<void> {
  if (await limits.allows(attempt)) return;
  throw new Fault("rate_limited", REFUSALS[attempt.kind], { retryAfter: secondsOfLimit(attempt.kind) });
}
