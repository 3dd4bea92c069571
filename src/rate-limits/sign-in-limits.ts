import { createHash } from "node:crypto";
import { RateLimiterMemory, RateLimiterRes } from "rate-limiter-flexible";
import type { Counter, CounterSettings } from "./counter.js";

const HOUR_SECONDS = 60 * 60;

/**
 * Limits of mailed links, of sign-ins at an issuer, and of challenges of passkeys. No account is ever locked: otherwise an
 * attacker could lock members out.
 */
const LIMITS = {
  address: { points: 5, duration: HOUR_SECONDS },
  network: { points: 20, duration: HOUR_SECONDS },
  openid: { points: 30, duration: 60 },
  passkey: { points: 10, duration: 60 },
  device: { points: 60, duration: 60 },
  vault: { points: 200, duration: 60 },
} as const;

type LimitName = keyof typeof LIMITS;

const ALL = "all";

/** Over how many seconds a limit counts. */
export function secondsOfLimit(name: LimitName): number {
  return LIMITS[name].duration;
}

/** One attempt of a person who is not signed in yet, or of a sign-in that asks for a passkey. */
export type SignInAttempt =
  /** A link to an address of a tenant. */
  | { readonly kind: "link"; readonly tenantId: string; readonly email: string; readonly network: string }
  /** A sign-in at the issuer, which sends no mail. */
  | { readonly kind: "openid"; readonly network: string }
  /** A challenge of a passkey for a sign-in, or for one that waits: each has proved a first factor. */
  | { readonly kind: "passkey"; readonly signInId: string }
  /** Polls the issuer for a device sign-in. The limits on starting one bound the number of ids. */
  | { readonly kind: "device"; readonly id: string };

/** Counts the sign-ins that people begin. */
export interface SignInLimits {
  /** Counts an attempt, and returns whether it may go on. */
  allows(attempt: SignInAttempt): Promise<boolean>;
}

/** Counts in this process. */
export function memorySignInLimits(): SignInLimits {
  return signInLimits((settings) => new RateLimiterMemory(settings));
}

export function signInLimits(counterFor: (settings: CounterSettings) => Counter): SignInLimits {
  const counter = (name: LimitName) => counterFor({ ...LIMITS[name], keyPrefix: `cloakroom:sign-in:${name}` });
  const [address, network, openid] = [counter("address"), counter("network"), counter("openid")];
  const [passkey, device, vault] = [counter("passkey"), counter("device"), counter("vault")];
  /**
   * The vault's own limit bounds the networks that are remembered. It counts what a network's limit lets through:
   * otherwise one network could use it up, and keep all others from signing in.
   */
  const isWithinNetwork = async (limit: Counter, key: string) => {
    const all = await vault.get(ALL);
    if (all && all.remainingPoints <= 0) return false;
    return (await isWithin(limit, key)) && isWithin(vault, ALL);
  };
  return {
    async allows(attempt) {
      if (attempt.kind === "passkey") return isWithin(passkey, attempt.signInId);
      if (attempt.kind === "device") return isWithin(device, attempt.id);
      if (attempt.kind === "openid") return isWithinNetwork(openid, attempt.network);
      return (await isWithinNetwork(network, attempt.network)) && isWithin(address, keyOf(attempt));
    },
  };
}

/** A hash, because counters of all replicas may be kept outside of the vault, where no address belongs. */
function keyOf({ tenantId, email }: Extract<SignInAttempt, { kind: "link" }>): string {
  return createHash("sha256").update(`${tenantId} ${email.toLowerCase()}`).digest("base64url");
}

async function isWithin(counter: Counter, key: string): Promise<boolean> {
  try {
    await counter.consume(key);
    return true;
  } catch (error) {
    if (error instanceof RateLimiterRes) return false;
    throw error;
  }
}
