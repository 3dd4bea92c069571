import { Fault } from "../base/fault.js";
import type { TenantKeys } from "../crypto/tenant-keys.js";
import { type SignInAttempt, type SignInLimits, secondsOfLimit } from "../rate-limits/sign-in-limits.js";
import { readKnownBrowser } from "./known-browser.js";
import type { Visit } from "./visit.js";

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

/** The beginning of a sign-in at the issuer. @param keys undefined for a tenant that does not exist. */
export function openIdAttempt(keys: TenantKeys | undefined, visit: Pick<Visit, "network" | "cookie">): LimitedAttempt {
  const browser = keys && readKnownBrowser(keys, visit.cookie("known"));
  return { kind: "openid", network: visit.network, browser };
}
