/** What an issuer must say of a sign-in for it to have a second factor: one of these values. Empty: nothing suffices. */
export interface AcceptedFactors {
  /** Authentication methods (RFC 8176), such as `mfa`. */
  readonly amr: readonly string[];
  /** Authentication context classes. */
  readonly acr: readonly string[];
}

/** Nothing that an issuer says suffices. */
export const NO_FACTORS: AcceptedFactors = { amr: [], acr: [] };

/** The claims of an ID token about how its person was authenticated. */
interface FactorClaims {
  readonly amr?: unknown;
  readonly acr?: unknown;
  readonly auth_time?: unknown;
}

export function acceptsFactors({ amr, acr }: AcceptedFactors): boolean {
  return amr.length + acr.length > 0;
}

/**
 * When the person proved a second factor to the issuer; undefined if the issuer does not say so, or not when. A session at
 * the issuer may be hours old, and its factor counts from its own time.
 */
export function secondFactorAt(claims: FactorClaims, accepted: AcceptedFactors, now: Date): Date | undefined {
  const methods: readonly unknown[] = Array.isArray(claims.amr) ? claims.amr : [];
  const isAccepted =
    accepted.amr.some((method) => methods.includes(method)) || accepted.acr.some((context) => context === claims.acr);
  if (!isAccepted || typeof claims.auth_time !== "number" || !Number.isFinite(claims.auth_time)) return undefined;
  // An issuer whose clock is ahead makes no factor last longer.
  return new Date(Math.min(claims.auth_time * 1_000, now.getTime()));
}
