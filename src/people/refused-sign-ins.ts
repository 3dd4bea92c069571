import type { PresentedSecret } from "../access/secret-text.js";
import type { RefusedCredential } from "../audit/refused-credentials.js";
import { Fault, type FaultCode } from "../base/fault.js";
import type { Tenants } from "../tenancy/tenants.js";
import type { Visit } from "./visit.js";

export interface SignInParts {
  readonly tenants: Tenants;
  readonly onRefused: (refused: RefusedCredential) => void;
}

/** What log rows say of a refusal. Other faults, such as that of an issuer that is away, are no refusals. */
const REMARKS = {
  link: {
    validation_failed: "link expired, used or not valid",
    permission_denied: "another browser",
    unauthenticated: "no member any more",
  },
  openid: { permission_denied: "by way of the issuer", unauthenticated: "no member any more" },
  device: { permission_denied: "from a terminal", unauthenticated: "no member any more" },
} as const satisfies Record<string, Partial<Record<FaultCode, string>>>;

interface Attempt {
  readonly method: keyof typeof REMARKS;
  /** What the person, or the browser, presented: it names the tenant, and anybody can make it up. */
  readonly secret: PresentedSecret;
  readonly visit: Pick<Visit, "context">;
}

/** Tries to sign in. A refusal becomes a row of the tenant's log, within the caps of refused keys. */
export async function loggingRefusals<T>(
  onRefused: SignInParts["onRefused"],
  { method, secret: { tenantId, hash }, visit: { context } }: Attempt,
  tried: () => Promise<T>,
): Promise<T> {
  try {
    return await tried();
  } catch (error) {
    if (error instanceof Fault) {
      const { code } = error;
      const remarks: Partial<Record<FaultCode, string>> = REMARKS[method];
      const remark = remarks[code];
      if (remark !== undefined) onRefused({ tenantId, hash, context, code, remark });
    }
    throw error;
  }
}
