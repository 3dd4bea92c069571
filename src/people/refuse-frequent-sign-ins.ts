import type { ServedTenant } from "../audit/tenant-database.js";
import { Fault } from "../base/fault.js";
import { type SignInAttempt, type SignInLimits, secondsOfLimit } from "../rate-limits/sign-in-limits.js";
import { findKnownBrowser } from "./known-browser.js";
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

/** The beginning of a sign-in at the issuer. @param tenant undefined for one that does not exist. */
export async function openIdAttempt(
  tenant: ServedTenant | undefined,
  visit: Pick<Visit, "network" | "cookie">,
): Promise<LimitedAttempt> {
  const browser = tenant && (await findKnownBrowser(tenant, visit.cookie("known")));
  return { kind: "openid", network: visit.network, browser };
}
