import { randomNonce, randomPKCECodeVerifier, randomState } from "openid-client";
import { newSecret, type PresentedSecret, parseSecret } from "../access/secret-text.js";
import type { OrdinaryTenantTransaction } from "../audit/tenant-transaction.js";
import { Fault, notFound } from "../base/fault.js";
import { newUuid, type TenantId } from "../base/ids.js";
import type { JsonObject } from "../base/json.js";
import type { Sensitive } from "../crypto/sensitive.js";
import type { SignInLimits } from "../rate-limits/sign-in-limits.js";
import { consumeSignInRequest } from "../store/people/sign-in-requests.js";
import { readTenant } from "../store/tenancy/tenants.js";
import type { SignInStep } from "./finish-first-factor.js";
import type { Checks, Issuer } from "./issuer.js";
import { signInAs } from "./issuer-sign-in.js";
import { openIdAttempt, requireWithinLimit } from "./refuse-frequent-sign-ins.js";
import { loggingRefusals, type SignInParts } from "./refused-sign-ins.js";
import { beginSignIn, openDetails } from "./sign-in-request.js";
import type { Visit } from "./visit.js";

/** The path to which the issuer sends browsers back. */
export const OPENID_PATH = "/sign-in/openid";

interface OpenIdParts extends SignInParts {
  readonly issuer: Issuer;
  readonly limits: SignInLimits;
  /** The address under which people reach the server, without a slash at the end. */
  address(): string;
}

interface OpenIdStart extends Pick<Visit, "network" | "cookie"> {
  /** Whether the person must sign in at the issuer again. */
  readonly isFresh: boolean;
}

/** Sign-in at the operator's OpenID Connect issuer. */
export class OpenIdSignIn {
  readonly #parts: OpenIdParts;

  constructor(parts: OpenIdParts) {
    this.#parts = parts;
  }

  get issuer(): string {
    return this.#parts.issuer.name;
  }

  /** Whether the issuer can say that a person proved a second factor. */
  get provesSecondFactor(): boolean {
    return this.#parts.issuer.provesSecondFactor;
  }

  /**
   * Begins a sign-in. The cookie ties its end to the same browser.
   * @throws {Fault} rate_limited for too many from one network.
   */
  async begin(
    tenantId: TenantId,
    { isFresh, ...visit }: OpenIdStart,
  ): Promise<{ readonly url: string; readonly cookie: Sensitive<string> }> {
    const { tenants, issuer, limits } = this.#parts;
    const tenant = await tenants.find(tenantId);
    await requireWithinLimit(limits, await openIdAttempt(tenant, visit));
    const checks: Checks = { state: randomState(), nonce: randomNonce(), verifier: randomPKCECodeVerifier() };
    const url = await issuer.authorizationUrl(this.#redirectUri(), checks, { isFresh });
    if (!tenant) throw notFound("tenant");
    const id = newUuid();
    const { text: cookie, hash } = newSecret("oid", tenantId, id);
    await tenant.ordinary(async (tx) => {
      if (!(await tx.query(readTenant, tenantId))) throw notFound("tenant");
      beginSignIn(tx, { method: "openid", id, browserHash: hash }, { ...checks });
    });
    return { url, cookie };
  }

  /**
   * Ends a sign-in with the issuer's response. The response can be used once.
   * @param query the query of the address to which the issuer sent the browser, without its question mark.
   * @throws {Fault} permission_denied if the response is wrong, or its person is neither a member nor invited.
   */
  async end(query: string, visit: Visit): Promise<SignInStep> {
    const cookie = parseSecret("oid", visit.cookie("openid") ?? "");
    if (!cookie) throw notBegunHere();
    const attempt = { method: "openid", secret: cookie, visit } as const;
    return loggingRefusals(this.#parts.onRefused, attempt, () => this.#end(query, cookie, visit));
  }

  async #end(query: string, cookie: PresentedSecret, visit: Visit): Promise<SignInStep> {
    const { tenants, issuer } = this.#parts;
    const tenant = await tenants.find(cookie.tenantId);
    if (!tenant) throw notFound("tenant");
    const checks = await tenant.ordinary((tx) => useRequest(tx, cookie));
    if (!checks) throw notBegunHere();
    // Proxies in front of the server change scheme and host of the request, and the issuer compares the address.
    const claims = await issuer.claimsOf(new URL(`${this.#redirectUri()}?${query}`), checks);
    return tenant.ordinary((tx) => signInAs(tx, claims, "openid", visit));
  }

  #redirectUri(): string {
    return `${this.#parts.address()}${OPENID_PATH}`;
  }
}

async function useRequest(tx: OrdinaryTenantTransaction, { id, hash }: PresentedSecret): Promise<Checks | undefined> {
  const row = await tx.query(consumeSignInRequest, id);
  if (row?.method !== "openid" || !row.browser_hash?.equals(hash)) return undefined;
  return checksIn(openDetails(tx.keys, row));
}

function checksIn({ state, nonce, verifier }: JsonObject): Checks {
  return { state: String(state), nonce: String(nonce), verifier: String(verifier) };
}

function notBegunHere(): Fault {
  return new Fault("permission_denied", "This sign-in was not started in this browser, or has expired. Start again.");
}
