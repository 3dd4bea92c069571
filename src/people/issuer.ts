import {
  allowInsecureRequests,
  authorizationCodeGrant,
  buildAuthorizationUrl,
  ClientSecretBasic,
  type Configuration,
  calculatePKCECodeChallenge,
  customFetch,
  discovery,
  enableNonRepudiationChecks,
  fetchUserInfo,
  genericGrantRequest,
  initiateDeviceAuthorization,
  ResponseBodyError,
  type TokenEndpointResponse,
  type TokenEndpointResponseHelpers,
} from "openid-client";
import { Fault } from "../base/fault.js";
import type { Sensitive } from "../crypto/sensitive.js";
import { EgressError } from "../egress/egress-error.js";
import type { GuardedAgents } from "../egress/guarded-agents.js";
import { type AcceptedFactors, acceptsFactors, NO_FACTORS, secondFactorAt } from "./issuer-factor.js";
import { issuerFetch } from "./issuer-fetch.js";

/** The operator's registration at an OpenID Connect issuer. */
export interface OpenIdClient {
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: Sensitive<string>;
  readonly secondFactor: AcceptedFactors;
}

/** The values that tie an issuer's response to the request. */
export interface Checks {
  readonly state: string;
  readonly nonce: string;
  readonly verifier: string;
}

interface AuthorizationOptions {
  /** Whether the person must sign in at the issuer again. Default: false. */
  readonly isFresh?: boolean;
}

/** What an issuer says of a person. */
export interface Claims {
  readonly issuer: string;
  readonly subject: string;
  /** Absent unless the issuer says that it verified the address. */
  readonly email: string | undefined;
  readonly firstName: string | undefined;
  readonly lastName: string | undefined;
  /** When the person proved a second factor to the issuer. */
  readonly secondFactorAt: Date | undefined;
}

/** A sign-in that a person confirms on another device (RFC 8628). */
export interface DeviceCodes {
  /** What the vault asks the issuer with. */
  readonly deviceCode: string;
  /** What the person types at {@link page}. */
  readonly userCode: string;
  readonly page: string;
  readonly pageWithCode: string | undefined;
  readonly expiresInSeconds: number;
  readonly intervalSeconds: number;
}

const SCOPE = "openid email profile";
/**
 * How old a sign-in at the issuer may be, in seconds: as old as one at the vault. An issuer that is asked for it must say
 * when the person signed in there (OpenID Connect Core 1.0, 2).
 */
const MAX_AGE_SECONDS = 12 * 60 * 60;
const DEVICE_GRANT = "urn:ietf:params:oauth:grant-type:device_code";
/** Of issuers that name no interval (RFC 8628, 3.2). */
const INTERVAL_SECONDS = 5;

/** An OpenID Connect issuer. It is discovered at the first use: one that is down does not keep the server from starting. */
export class Issuer {
  readonly #client: OpenIdClient;
  readonly #agents: GuardedAgents;
  #configuration: Promise<Configuration> | undefined;

  constructor(client: OpenIdClient, agents: GuardedAgents) {
    this.#client = client;
    this.#agents = agents;
  }

  get name(): string {
    return this.#client.issuer;
  }

  /** Whether the issuer can say that a person proved a second factor. */
  get provesSecondFactor(): boolean {
    return acceptsFactors(this.#client.secondFactor);
  }

  /**
   * The page to send a browser to: code flow with PKCE.
   * @throws {Fault} unavailable while the issuer is.
   */
  async authorizationUrl(
    redirectUri: string,
    { state, nonce, verifier }: Checks,
    { isFresh = false }: AuthorizationOptions = {},
  ): Promise<string> {
    const url = buildAuthorizationUrl(await this.#discovered(), {
      redirect_uri: redirectUri,
      scope: SCOPE,
      state,
      nonce,
      code_challenge: await calculatePKCECodeChallenge(verifier),
      code_challenge_method: "S256",
      ...(isFresh ? { prompt: "login" } : {}),
      ...this.#factorParameters(),
    });
    return url.href;
  }

  /**
   * Exchanges the code in the address to which the issuer sent a browser, and checks the ID token: signature, issuer,
   * audience, nonce, time. The tokens are not kept.
   * @throws {Fault} unavailable while the issuer is; permission_denied for any other response.
   */
  async claimsOf(callback: URL, { state, nonce, verifier }: Checks): Promise<Claims> {
    const configuration = await this.#discovered();
    const checks = {
      pkceCodeVerifier: verifier,
      expectedState: state,
      expectedNonce: nonce,
      idTokenExpected: true,
      ...(this.provesSecondFactor ? { maxAge: MAX_AGE_SECONDS } : {}),
    };
    const tokens = await authorizationCodeGrant(configuration, callback, checks).catch(refused);
    return claimsIn(configuration, tokens, this.#client.secondFactor);
  }

  /** Begins the device flow. @throws {Fault} unprocessable if the issuer does not offer it to this server. */
  async beginDevice(): Promise<DeviceCodes> {
    const configuration = await this.#discovered();
    if (!configuration.serverMetadata().device_authorization_endpoint) throw noDeviceFlow();
    const begun = await initiateDeviceAuthorization(configuration, { scope: SCOPE }).catch((error: unknown) => {
      if (error instanceof ResponseBodyError) throw noDeviceFlow(error);
      return refused(error);
    });
    return {
      deviceCode: begun.device_code,
      userCode: begun.user_code,
      page: webAddress(begun.verification_uri),
      pageWithCode: begun.verification_uri_complete && webAddress(begun.verification_uri_complete),
      expiresInSeconds: begun.expires_in,
      intervalSeconds: begun.interval ?? INTERVAL_SECONDS,
    };
  }

  /**
   * Asks once whether the person has confirmed the code.
   * @throws {Fault} unavailable while the issuer is; permission_denied if the person refused, the code is over, or for any
   * other response.
   */
  async deviceClaims(deviceCode: Sensitive<string>): Promise<Claims | "pending" | "slow_down"> {
    const configuration = await this.#discovered();
    try {
      const tokens = await genericGrantRequest(configuration, DEVICE_GRANT, { device_code: deviceCode.reveal() });
      // Device codes can be phished: the person who confirms one may not be at this terminal, so the issuer's second factor
      // counts for nothing here.
      return await claimsIn(configuration, tokens, NO_FACTORS);
    } catch (error) {
      if (error instanceof Fault) throw error;
      const code = error instanceof ResponseBodyError ? error.error : undefined;
      if (code === "authorization_pending") return "pending";
      if (code === "slow_down") return "slow_down";
      if (code === "access_denied") throw new Fault("permission_denied", "The sign-in was refused at the issuer.");
      if (code === "expired_token") throw new Fault("permission_denied", "The code has expired. Start again.");
      return refused(error);
    }
  }

  #factorParameters(): Record<string, string> {
    if (!this.provesSecondFactor) return {};
    const { acr } = this.#client.secondFactor;
    return { max_age: String(MAX_AGE_SECONDS), ...(acr.length > 0 ? { acr_values: acr.join(" ") } : {}) };
  }

  #discovered(): Promise<Configuration> {
    this.#configuration ??= this.#discover().catch((error: unknown) => {
      this.#configuration = undefined;
      throw unreachable(error);
    });
    return this.#configuration;
  }

  #discover(): Promise<Configuration> {
    const { issuer, clientId, clientSecret } = this.#client;
    const secret = clientSecret.reveal();
    const url = new URL(issuer);
    // The setting allows http on loopback only.
    const insecure = url.protocol === "http:" ? [allowInsecureRequests] : [];
    return discovery(url, clientId, secret, ClientSecretBasic(secret), {
      timeout: 10,
      execute: [enableNonRepudiationChecks, ...insecure],
      [customFetch]: issuerFetch(this.#agents),
    });
  }
}

/** What a valid ID token, or else the issuer's user info, says of the person. */
async function claimsIn(
  configuration: Configuration,
  tokens: TokenEndpointResponse & TokenEndpointResponseHelpers,
  accepted: AcceptedFactors,
): Promise<Claims> {
  const identity = tokens.claims();
  if (!identity) throw new Fault("permission_denied", "The issuer sent no ID token. Sign in again.");
  // Issuers may leave the address out of the ID token (OpenID Connect Core 1.0, 5.4).
  const hasAddress = identity.email !== undefined || !configuration.serverMetadata().userinfo_endpoint;
  const claims = hasAddress
    ? identity
    : await fetchUserInfo(configuration, tokens.access_token, identity.sub).catch(refused);
  const text = (value: unknown) => (typeof value === "string" && value !== "" ? value : undefined);
  return {
    issuer: identity.iss,
    subject: identity.sub,
    // Some issuers send the text "true", which says nothing about how careful they are.
    email: claims.email_verified === true ? text(claims.email) : undefined,
    firstName: text(claims.given_name),
    lastName: text(claims.family_name),
    // Of the ID token alone: its signature and time are checked.
    secondFactorAt: secondFactorAt(identity, accepted, new Date()),
  };
}

/** The page of an issuer, which people open. @throws {Fault} permission_denied for another kind of address. */
function webAddress(text: string): string {
  const url = URL.parse(text);
  if (url && ["https:", "http:"].includes(url.protocol)) return url.href;
  return refused(new Error("the issuer's page for codes has no web address"));
}

function noDeviceFlow(cause?: unknown): Fault {
  const text = "The issuer offers this server no sign-in by device code. The operator can enable it at the issuer.";
  return new Fault("unprocessable", text, { cause });
}

function refused(error: unknown): never {
  if (isUnreachable(error)) throw unreachable(error);
  throw new Fault("permission_denied", "The issuer's response is not valid. Sign in again.", { cause: error });
}

function unreachable(cause: unknown): Fault {
  const text = "The issuer cannot be reached. Try again, or ask for a link by mail.";
  return new Fault("unavailable", text, { cause, retryAfter: 5 });
}

/** Whether a call to the issuer failed, other than by a response of the issuer. */
function isUnreachable(error: unknown): boolean {
  if (error instanceof EgressError) return true;
  return error instanceof Error && error.cause !== undefined && isUnreachable(error.cause);
}
