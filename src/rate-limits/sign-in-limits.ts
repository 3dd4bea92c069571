import { createHash } from "node:crypto";
import { RateLimiterRes } from "rate-limiter-flexible";
import { BoundedCounter } from "./bounded-counter.js";
import type { Counter, CounterSettings } from "./counter.js";

/**
 * Limits of requests for a mailed link, of sign-ins at an issuer, and of challenges of passkeys. None of them counts what
 * others can use up for a member: a network counts for itself alone, and so does a known browser.
 */
const LIMITS = {
  /** Of one address from one network. */
  pair: { points: 10, duration: 10 * 60 },
  link: { points: 30, duration: 60 },
  openid: { points: 60, duration: 60 },
  browser: { points: 20, duration: 60 * 60 },
  passkey: { points: 10, duration: 60 },
  device: { points: 60, duration: 60 },
  /** Of all networks, beyond the first of each. */
  vault: { points: 200, duration: 60 },
} as const;

/** In each period of its own limit, a network has this many requests whatever all others have used. */
export const FIRST_OF_NETWORK = 3;

type LimitName = keyof typeof LIMITS;

const ALL = "all";

/** Over how many seconds a limit counts. */
export function secondsOfLimit(name: LimitName): number {
  return LIMITS[name].duration;
}

interface FromNetwork {
  readonly network: string;
  /** A browser in which a member has signed in before. */
  readonly browser?: string | undefined;
}

/** One attempt of a person who is not signed in yet, or of a sign-in that asks for a passkey. */
export type SignInAttempt =
  /** A link to an address of a tenant. */
  | ({ readonly kind: "link"; readonly tenantId: string; readonly email: string } & FromNetwork)
  /** A sign-in at the issuer, which sends no mail. */
  | ({ readonly kind: "openid" } & FromNetwork)
  /** A challenge of a passkey for a sign-in, or for one that waits: each has proved a first factor. */
  | { readonly kind: "passkey"; readonly signInId: string }
  /** Polls the issuer for a device sign-in. The limits on starting one bound the number of ids. */
  | { readonly kind: "device"; readonly id: string };

export interface SignInLimits {
  /** Counts an attempt, and returns whether it may go on. */
  allows(attempt: SignInAttempt): Promise<boolean>;
}

/** Counts in this process. */
export function memorySignInLimits(): SignInLimits {
  return signInLimits((settings) => new BoundedCounter(settings));
}

export function signInLimits(counterFor: (settings: CounterSettings) => Counter): SignInLimits {
  const counter = (name: LimitName) => counterFor({ ...LIMITS[name], keyPrefix: `cloakroom:sign-in:${name}` });
  const pair = counter("pair");
  const link = counter("link");
  const openid = counter("openid");
  const browser = counter("browser");
  const passkey = counter("passkey");
  const device = counter("device");
  const vault = counter("vault");
  /** What the limit of a network refuses does not count for the vault. */
  const isWithinNetwork = async (limit: Counter, network: string) => {
    const used = await usedOf(limit, network);
    return used !== undefined && (used <= FIRST_OF_NETWORK || (await usedOf(vault, ALL)) !== undefined);
  };
  const isKnown = async (known: string | undefined) =>
    known !== undefined && (await usedOf(browser, known)) !== undefined;
  return {
    async allows(attempt) {
      if (attempt.kind === "passkey") return (await usedOf(passkey, attempt.signInId)) !== undefined;
      if (attempt.kind === "device") return (await usedOf(device, attempt.id)) !== undefined;
      if (await isKnown(attempt.browser)) return true;
      if (attempt.kind === "openid") return isWithinNetwork(openid, attempt.network);
      return (
        (await isWithinNetwork(link, attempt.network)) && (await usedOf(pair, linkLimitKey(attempt))) !== undefined
      );
    },
  };
}

/** A hash, because counters of all replicas may be kept outside of the vault, where no address belongs. */
function linkLimitKey({ tenantId, email, network }: Extract<SignInAttempt, { kind: "link" }>): string {
  return createHash("sha256").update(`${tenantId} ${network} ${email.toLowerCase()}`).digest("base64url");
}

/** Counts one. Returns how many are used with it; undefined if it is one too many. */
async function usedOf(counter: Counter, key: string): Promise<number | undefined> {
  try {
    return (await counter.consume(key)).consumedPoints;
  } catch (error) {
    if (error instanceof RateLimiterRes) return undefined;
    throw error;
  }
}
