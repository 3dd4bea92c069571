import { RateLimiterMemory, RateLimiterRes } from "rate-limiter-flexible";

const HOUR_SECONDS = 60 * 60;

/** Limits of mailed links. No account is ever locked: otherwise an attacker could lock members out. */
const LIMITS = {
  address: { points: 5, duration: HOUR_SECONDS },
  network: { points: 20, duration: HOUR_SECONDS },
  vault: { points: 200, duration: 60 },
} as const;

/** Counts the links that people ask for. Each process counts by itself. */
export class SignInLimits {
  readonly #address = new RateLimiterMemory({ ...LIMITS.address, keyPrefix: "address" });
  readonly #network = new RateLimiterMemory({ ...LIMITS.network, keyPrefix: "network" });
  readonly #vault = new RateLimiterMemory({ ...LIMITS.vault, keyPrefix: "vault" });

  /** Counts a link, and returns whether it may be sent. */
  async allowsLink(tenantId: string, email: string, network: string): Promise<boolean> {
    return (
      (await isWithin(this.#vault, "all")) &&
      (await isWithin(this.#network, network)) &&
      (await isWithin(this.#address, `${tenantId} ${email.toLowerCase()}`))
    );
  }

  /** Counts a sign-in at the issuer, which sends no mail. */
  allowsOpenId(): Promise<boolean> {
    return isWithin(this.#vault, "all");
  }
}

async function isWithin(limiter: RateLimiterMemory, key: string): Promise<boolean> {
  try {
    await limiter.consume(key);
    return true;
  } catch (error) {
    if (error instanceof RateLimiterRes) return false;
    throw error;
  }
}
