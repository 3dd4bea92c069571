import { Fault } from "../base/fault.js";
import type { Uuid } from "../base/ids.js";
import type { SignInLimits } from "../rate-limits/sign-in-limits.js";
import type { LinkParts } from "./sign-in-link.js";

export interface PasskeyParts extends LinkParts {
  readonly limits: SignInLimits;
  /** The address under which people reach the server, without a slash at the end. */
  address(): string;
}

/** What a browser is asked to answer. */
export interface ShownChallenge {
  readonly challengeId: Uuid;
  /** JSON text. */
  readonly options: string;
}

/** @throws {Fault} rate_limited for a sign-in that asks for too many challenges. */
export async function requireWithinLimit({ limits }: PasskeyParts, signInId: Uuid): Promise<void> {
  if (await limits.allows({ kind: "passkey", signInId })) return;
  throw new Fault("rate_limited", "Too many challenges were asked for. Try again in a minute.", { retryAfter: 60 });
}
