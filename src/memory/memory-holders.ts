import type { Holder } from "./memory-pool.js";
import type { Proof } from "./request-memory.js";

/** From the widest to the most specific holder; requests queue by the latter. */
export function memoryHolders(client: string, proof: Exclude<Proof, { kind: "sign_in" }>): readonly Holder[] {
  const address = { name: `client ${client}`, share: 1, mayStart: true };
  const tenant = { name: `tenant ${proof.tenantId}`, share: 1, mayStart: false };
  if (proof.kind === "address") {
    return [address, tenant, { name: `address ${proof.name}`, share: 1 / 8, mayStart: true }];
  }
  const application = { name: `application ${proof.applicationId}`, share: 1 / 2, mayStart: true };
  if (proof.sessionId === undefined) return [address, tenant, application];
  return [address, tenant, application, { name: `session ${proof.sessionId}`, share: 1 / 4, mayStart: true }];
}
