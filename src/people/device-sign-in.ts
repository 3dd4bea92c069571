import { newSecret, type PresentedSecret, parseSecret } from "../access/secret-text.js";
import type { OrdinaryTenantTransaction } from "../audit/tenant-transaction.js";
import { Fault, notFound } from "../base/fault.js";
import { newUuid, type TenantId } from "../base/ids.js";
import { Sensitive } from "../crypto/sensitive.js";
import type { SignInLimits } from "../rate-limits/sign-in-limits.js";
import { consumeSignInRequest, readSignInRequest } from "../store/people/sign-in-requests.js";
import { readTenant } from "../store/tenancy/tenants.js";
import type { DeviceCodes, Issuer } from "./issuer.js";
import { signInAs } from "./issuer-sign-in.js";
import { openIdAttempt, requireWithinLimit } from "./refuse-frequent-sign-ins.js";
import { loggingRefusals, type SignInParts } from "./refused-sign-ins.js";
import type { StartedSignIn } from "./sign-in.js";
import { beginSignIn, openDetails, REQUEST_SECONDS } from "./sign-in-request.js";
import type { Visit } from "./visit.js";

interface DeviceParts extends SignInParts {
  readonly issuer: Issuer;
  readonly limits: SignInLimits;
}

/** What the program shows the person, and the cookie by which it alone can end the sign-in. */
export interface BegunDeviceSignIn extends Omit<DeviceCodes, "deviceCode"> {
  readonly cookie: Sensitive<string>;
}

type DeviceSignInState = StartedSignIn | { readonly waitSeconds: number };

/** The longest pause that an issuer can ask for. */
const MAX_PAUSE_SECONDS = 60;
/** RFC 8628, 3.5. */
const SLOWER_BY_SECONDS = 5;

/**
 * Sign-in from a program without a browser, at the operator's issuer (RFC 8628). The vault is the issuer's client: the
 * program never has the device code, and a code of another client is refused.
 */
export class DeviceSignIn {
  readonly #parts: DeviceParts;

  constructor(parts: DeviceParts) {
    this.#parts = parts;
  }

  /** @throws {Fault} rate_limited; unprocessable if the issuer does not offer the device flow to this server. */
  async begin(tenantId: TenantId, visit: Pick<Visit, "network" | "cookie">): Promise<BegunDeviceSignIn> {
    const { tenants, issuer, limits } = this.#parts;
    const tenant = await tenants.find(tenantId);
    await requireWithinLimit(limits, await openIdAttempt(tenant, visit));
    if (!tenant) throw notFound("tenant");
    const { deviceCode, ...shown } = await issuer.beginDevice();
    const intervalSeconds = pauseOf(shown.intervalSeconds);
    const id = newUuid();
    const { text: cookie, hash } = newSecret("oid", tenantId, id);
    await tenant.ordinary(async (tx) => {
      if (!(await tx.query(readTenant, tenantId))) throw notFound("tenant");
      beginSignIn(tx, { method: "device", id, browserHash: hash }, { deviceCode, intervalSeconds });
    });
    const expiresInSeconds = Math.min(shown.expiresInSeconds, REQUEST_SECONDS);
    return { ...shown, intervalSeconds, expiresInSeconds, cookie };
  }

  /**
   * Ends a sign-in that the person has confirmed, once. Until then returns the seconds to wait before the next call.
   * @throws {Fault} permission_denied if the person refused, the code is over, the person is neither member nor invited, or
   * has a passkey, which a program without a browser cannot ask for; rate_limited for calls without the pause.
   */
  async end(visit: Visit): Promise<DeviceSignInState> {
    const cookie = parseSecret("oid", visit.cookie("openid") ?? "");
    if (!cookie) throw notBegunHere();
    const attempt = { method: "device", secret: cookie, visit } as const;
    return loggingRefusals(this.#parts.onRefused, attempt, () => this.#end(cookie, visit));
  }

  async #end(cookie: PresentedSecret, visit: Visit): Promise<DeviceSignInState> {
    const { tenants, issuer, limits } = this.#parts;
    const { id } = cookie;
    const tenant = await tenants.find(cookie.tenantId);
    if (!tenant) throw notFound("tenant");
    const begun = await tenant.ordinary((tx) => readBegun(tx, cookie));
    if (!begun) throw notBegunHere();
    if (!(await limits.allows({ kind: "device", id }))) {
      throw new Fault("rate_limited", "Wait before asking again.", { retryAfter: begun.intervalSeconds });
    }
    const claims = await issuer.deviceClaims(begun.deviceCode);
    if (claims === "pending") return { waitSeconds: begun.intervalSeconds };
    if (claims === "slow_down") return { waitSeconds: pauseOf(begun.intervalSeconds + SLOWER_BY_SECONDS) };
    return tenant.ordinary(async (tx) => {
      if (!(await tx.query(consumeSignInRequest, id))) throw notBegunHere();
      const step = await signInAs(tx, claims, "device", visit);
      if (step.kind === "passkey_awaited") throw needsBrowser();
      return step;
    });
  }
}

async function readBegun(tx: OrdinaryTenantTransaction, { id, hash }: PresentedSecret) {
  const row = await tx.query(readSignInRequest, id);
  if (row?.method !== "device" || !row.browser_hash?.equals(hash)) return undefined;
  const { deviceCode, intervalSeconds } = openDetails(tx.keys, row);
  return { deviceCode: new Sensitive(String(deviceCode)), intervalSeconds: Number(intervalSeconds) };
}

function pauseOf(seconds: number): number {
  return Math.min(Math.max(1, Math.ceil(seconds)), MAX_PAUSE_SECONDS);
}

function notBegunHere(): Fault {
  return new Fault("permission_denied", "This sign-in was not started by this program, or has expired. Start again.");
}

function needsBrowser(): Fault {
  const text =
    "You have a passkey, and a terminal cannot ask for it. Sign in to the console, or use an application's key.";
  return new Fault("permission_denied", text);
}
