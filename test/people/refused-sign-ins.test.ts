import { expect, it } from "vitest";
import { EMPTY_CONTEXT } from "../../src/audit/audit-context.js";
import type { RefusedCredential } from "../../src/audit/refused-credentials.js";
import { FAULT_CODES, Fault } from "../../src/base/fault.js";
import { newTenantId, newUuid } from "../../src/base/ids.js";
import { loggingRefusals } from "../../src/people/refused-sign-ins.js";

const LOGGED = {
  link: ["unauthenticated", "permission_denied", "validation_failed"],
  openid: ["unauthenticated", "permission_denied"],
  device: ["unauthenticated", "permission_denied"],
} as const;

it.each(["link", "openid", "device"] as const)(
  "log refusals of a %s, and no fault of server or issuer",
  async (method) => {
    const secret = { tenantId: newTenantId(), id: newUuid(), hash: Buffer.alloc(32, 7) };
    const noted: RefusedCredential[] = [];
    const tried = (fault: Error) =>
      loggingRefusals(
        (refused) => noted.push(refused),
        { method, secret, visit: { context: EMPTY_CONTEXT } },
        () => Promise.reject(fault),
      );
    for (const code of FAULT_CODES)
      await expect(tried(new Fault(code, "typed by the caller"))).rejects.toMatchObject({ code });
    await expect(tried(new Error("a bug"))).rejects.toThrow("a bug");
    expect(noted.map(({ code }) => code).toSorted()).toEqual([...LOGGED[method]].toSorted());
    // Rows have fixed words, never the text of a fault.
    expect(JSON.stringify(noted)).not.toContain("typed");
  },
);
