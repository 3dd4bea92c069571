import { randomNonce, randomPKCECodeVerifier, randomState } from "openid-client";
import { newSecret, type PresentedSecret, parseSecret } from "../access/secret-text.js";
import { Fault, notFound } from "../base/fault.js";
import { newUuid, type TenantId } from "../base/ids.js";
import type { JsonObject } from "../base/json.js";
import type { Sensitive } from "../crypto/sensitive.js";
import type { TenantKeys } from "../crypto/tenant-keys.js";
import type { SignInLimits } from "../rate-limits/sign-in-limits.js";
import { consumeSignInRequest } from "../store/people/sign-in-requests.js";
import { readTenant } from "../store/tenancy/tenants.js";
import type { OrdinaryTransaction } from "../store/transactions/transaction.js";
import type { SignInStep } from "./finish-first-factor.js";
import type { Checks, Issuer } from "./issuer.js";
import { signInAs } from "./issuer-sign-in.js";
import { requireWithinLimit } from "./sign-in-limit.js";
import type { LinkParts } from "./sign-in-link.js";
import { beginSignIn, openDetails } from "./sign-in-request.js";
import type { Visit } from "./visit.js";

/** The path to which the issuer sends browsers back. */
export const OPENID_PATH = "/sign-in/openid";

interface OpenIdParts extends LinkParts {
  readonly issuer: Issuer;
  readonly limits: SignInLimits;
  /** The address under which people reach the server, without a slash at the end. */
  address(): string;
}

/** How a sign-in begins. */
interface OpenIdStart extends Pick<Visit, "network"> {
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
    { network, isFresh }: OpenIdStart,
  ): Promise<{ readonly url: string; readonly cookie: Sensitive<string> }> {
    const { database, keyring, issuer, limits } = this.#parts;
    await requireWithinLimit(limits, { kind: "openid", network });
    const checks: Checks = { state: randomState(), nonce: randomNonce(), verifier: randomPKCECodeVerifier() };
    const url = await issuer.authorizationUrl(this.#redirectUri(), checks, { isFresh });
    const keys = await keyring.find(tenantId);
    if (!keys) throw notFound("tenant");
    const id = newUuid();
    const { text: cookie, hash } = newSecret("oid", tenantId, id);
    await database.ordinary.run(tenantId, "unguarded", async (tx) => {
      if (!(await tx.query(readTenant, tenantId))) throw notFound("tenant");
      beginSignIn(tx, keys, "openid", hash, { ...checks }, { id });
    });
    return { url, cookie };
  }

  /**
   * Ends a sign-in with the issuer's response. The response can be used once.
   * @param query the query of the address to which the issuer sent the browser, without its question mark.
   * @throws {Fault} permission_denied if the response is wrong, or its person is neither a member nor invited.
   */
  async end(query: string, visit: Visit): Promise<SignInStep> {
    const { database, keyring, issuer } = this.#parts;
    const cookie = parseSecret("oid", visit.cookie("openid") ?? "");
    if (!cookie) throw notBegunHere();
    const { tenantId } = cookie;
    const keys = await keyring.find(tenantId);
    if (!keys) throw notFound("tenant");
    const checks = await database.ordinary.run(tenantId, "unguarded", (tx) => useRequest(tx, keys, cookie));
    if (!checks) throw notBegunHere();
    // Proxies in front of the server change scheme and host of the request, and the issuer compares the address.
    const claims = await issuer.claimsOf(new URL(`${this.#redirectUri()}?${query}`), checks);
    return database.ordinary.run(tenantId, "unguarded", async (tx) => {
      return signInAs(tx, keys, claims, "openid", visit);
    });
  }

  #redirectUri(): string {
    return `${this.#parts.address()}${OPENID_PATH}`;
  }
}

async function useRequest(
  tx: OrdinaryTransaction,
  keys: TenantKeys,
  { id, hash }: PresentedSecret,
): Promise<Checks | undefined> {
  const row = await tx.query(consumeSignInRequest, id);
  if (row?.method !== "openid" || !row.browser_hash?.equals(hash)) return undefined;
  return checksIn(openDetails(keys, tx.tenantId, row));
}

function checksIn({ state, nonce, verifier }: JsonObject): Checks {
  return { state: String(state), nonce: String(nonce), verifier: String(verifier) };
}

function notBegunHere(): Fault {
  return new Fault("permission_denied", "This sign-in was not started in this browser, or has expired. Start again.");
}
