import { RateLimiterMemory, RateLimiterRes } from "rate-limiter-flexible";

const HOUR_SECONDS = 60 * 60;

/**
 * Limits of mailed links, of sign-ins at an issuer, and of challenges of passkeys. No account is ever locked: otherwise an
 * attacker could lock members out.
 */
const LIMITS = {
  address: { points: 5, duration: HOUR_SECONDS },
  network: { points: 20, duration: HOUR_SECONDS },
  openId: { points: 30, duration: 60 },
  passkey: { points: 10, duration: 60 },
  devicePoll: { points: 60, duration: 60 },
  vault: { points: 200, duration: 60 },
} as const;

const ALL = "all";

/** Counts the sign-ins that people begin. Each process counts by itself. */
export class SignInLimits {
  readonly #address = new RateLimiterMemory({ ...LIMITS.address, keyPrefix: "address" });
  readonly #network = new RateLimiterMemory({ ...LIMITS.network, keyPrefix: "network" });
  readonly #openId = new RateLimiterMemory({ ...LIMITS.openId, keyPrefix: "openid" });
  readonly #passkey = new RateLimiterMemory({ ...LIMITS.passkey, keyPrefix: "passkey" });
  readonly #devicePoll = new RateLimiterMemory({ ...LIMITS.devicePoll, keyPrefix: "device" });
  readonly #vault = new RateLimiterMemory({ ...LIMITS.vault, keyPrefix: "vault" });

  /** Counts a link, and returns whether it may be sent. */
  async allowsLink(tenantId: string, email: string, network: string): Promise<boolean> {
    const isWithinNetwork = await this.#isWithinNetwork(this.#network, network);
    return isWithinNetwork && isWithin(this.#address, `${tenantId} ${email.toLowerCase()}`);
  }

  /** Counts a sign-in at the issuer, which sends no mail. */
  allowsOpenId(network: string): Promise<boolean> {
    return this.#isWithinNetwork(this.#openId, network);
  }

  /** Counts a challenge of a passkey for a sign-in, or for one that waits: each has proved a first factor. */
  allowsPasskey(signInId: string): Promise<boolean> {
    return isWithin(this.#passkey, signInId);
  }

  /**
   * Counts a question to the issuer whether a device sign-in was confirmed. The limits of their beginnings bound the number
   * of ids.
   */
  allowsDevicePoll(id: string): Promise<boolean> {
    return isWithin(this.#devicePoll, id);
  }

  /**
   * The vault's own limit bounds the networks that are remembered. It counts what a network's limit lets through:
   * otherwise one network could use it up, and keep all others from signing in.
   */
  async #isWithinNetwork(limiter: RateLimiterMemory, network: string): Promise<boolean> {
    const vault = await this.#vault.get(ALL);
    if (vault && vault.remainingPoints <= 0) return false;
    return (await isWithin(limiter, network)) && isWithin(this.#vault, ALL);
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
