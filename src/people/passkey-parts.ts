import type { Uuid } from "../base/ids.js";
import type { SignInLimits } from "../rate-limits/sign-in-limits.js";
import type { LinkParts } from "./sign-in-link.js";

export interface PasskeyParts extends LinkParts {
  readonly limits: SignInLimits;
  /** The address under which people reach the server, without a slash at the end. */
  address(): string;
}

/** What a browser signs with a passkey. */
export interface ShownChallenge {
  readonly challengeId: Uuid;
  /** JSON text. */
  readonly options: string;
}
