import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { systemClock } from "../../../src/base/clock.js";
import { newTenantId, newUuid } from "../../../src/base/ids.js";
import { RootKeyUnreachable } from "../../../src/crypto/root-key.js";
import { Connectors } from "../../../src/payments/connections/connectors.js";
import { InboundCallbacks } from "../../../src/payments/reconciliation/inbound-callbacks.js";
import { encodeSignedPath, type SignedPathKind } from "../../../src/payments/signed-path.js";
import { SimulatedApprovals } from "../../../src/payments/simulator/approve.js";
import { SimulatorStore } from "../../../src/payments/simulator/simulator-store.js";
import { SimulatedChallenges } from "../../../src/payments/three-ds/challenges.js";
import { simulatedDirectory } from "../../../src/payments/three-ds/directory.js";
import { Keyring } from "../../../src/tenancy/keyring.js";
import { Tenants } from "../../../src/tenancy/tenants.js";
import { Payer } from "../faults/payer.js";

let payer: Payer;
beforeAll(async () => {
  payer = await Payer.open();
});
afterAll(() => payer?.[Symbol.asyncDispose]());

/** What answers at the signed addresses of payments, with the keys of a keyring. */
function addressesWith(
  keyring: Keyring,
): readonly (readonly [SignedPathKind, (address: string) => Promise<unknown>])[] {
  const { database } = payer.vault;
  const tenants = new Tenants(database, keyring);
  const connectors = new Connectors([], () => () => Promise.reject(new Error("nothing is sent")), systemClock);
  const incoming = new InboundCallbacks({
    ...{ tenants, connectors, clock: systemClock, returnUrl: () => "" },
    onDefect: () => {},
  });
  const approvals = new SimulatedApprovals(new SimulatorStore(database), tenants, systemClock, () => {});
  const challenges = new SimulatedChallenges(tenants, simulatedDirectory);
  return [
    ["payment-webhook", (address) => incoming.endpoint(address)],
    ["payment-return", (address) => incoming.approval(address, new URLSearchParams())],
    ["simulator-approval", (address) => approvals.get(address)],
    ["three-ds-challenge", (address) => challenges.get(address)],
  ];
}

describe("addresses of payments", () => {
  it("are unavailable, and not unknown, while the holder of the root key is", async () => {
    const { database, keyring } = payer.vault;
    const keys = await keyring.of(payer.tenantId);
    const locked = new Keyring(database, { find: () => Promise.reject(new RootKeyUnreachable("away")) });
    for (const [kind, respond] of addressesWith(locked)) {
      const address = encodeSignedPath(keys, kind, newUuid());
      await expect(respond(address), kind).rejects.toMatchObject({ code: "unavailable" });
    }
  });

  it("are unknown for a tenant that does not exist", async () => {
    const { keyring } = payer.vault;
    const keys = await keyring.of(payer.tenantId);
    for (const [kind, respond] of addressesWith(keyring)) {
      expect(
        await respond(encodeSignedPath({ ...keys, tenantId: newTenantId() }, kind, newUuid())),
        kind,
      ).toBeUndefined();
    }
  });
});
