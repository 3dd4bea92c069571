import type { AuditContext } from "../audit/audit-context.js";
import type { Sensitive } from "../crypto/sensitive.js";

/**
 * The cookies of a person's browser: of a sign-in, of a browser that asked for a link, of one at an issuer's page, of one
 * from which a passkey is awaited, of one in which a member has signed in before.
 */
export const COOKIES = ["sign_in", "asking", "openid", "passkey", "known"] as const;
export type CookieName = (typeof COOKIES)[number];

/** The browser of a person, as one request shows it. */
export interface Visit {
  readonly address: string;
  /** The network that the address belongs to, for limits: a /24, for IPv6 a /48. */
  readonly network: string;
  /** Browser and system, such as "Firefox on Linux". */
  readonly client: string;
  /** A request that the page makes by itself. It does not extend the sign-in. */
  readonly isIdle: boolean;
  /** What log rows say of the request. */
  readonly context: AuditContext;
  cookie(name: CookieName): string | undefined;
  /**
   * Checks that a page of the vault's own sent the request.
   * @throws {Fault} permission_denied, and unprocessable if the vault has no address that is safe for cookies.
   */
  requireOwnPage(): void;
}

/** A cookie to set, or without a value to delete. */
export interface NewCookie {
  readonly name: CookieName;
  readonly value: Sensitive<string> | undefined;
  /** Seconds. */
  readonly maxAge: number;
}
