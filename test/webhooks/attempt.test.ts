import { generateKeyPairSync } from "node:crypto";
import { createServer } from "node:net";
import { expect, it } from "vitest";
import { newTenantId, newUuid } from "../../src/base/ids.js";
import { EgressPolicy } from "../../src/egress/egress-policy.js";
import { createGuardedAgents } from "../../src/egress/guarded-agents.js";
import { attemptDelivery } from "../../src/webhooks/attempt.js";
import { newWebhookSecret, type Webhook } from "../../src/webhooks/webhook.js";
import { newTenantKeys } from "../support/tenant-keys.js";
import { STORED_AT, storedEvent } from "./stored-event.js";

it.each(["10.0.0.1", "127.0.0.1", "169.254.169.254", "fd00::1", "93.184.216.34 and 127.0.0.1"])(
  "an event is not sent to a name that resolves to %s",
  async (resolved) => {
    const addresses = resolved.split(" and ");
    let connections = 0;
    const inside = createServer((socket) => {
      connections += 1;
      socket.destroy();
    });
    await new Promise<void>((resolve) => inside.listen(0, "127.0.0.1", resolve));
    const agents = createGuardedAgents(new EgressPolicy({}), { resolve: async () => addresses });
    const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2_048 });
    const keys = newTenantKeys(newTenantId());
    const webhook: Webhook = {
      ...{ id: newUuid(), name: "n", url: "https://inside.example.com/", notifyEmail: undefined, isEnabled: true },
      ...{ events: ["token.created"], secret: newWebhookSecret(), former: undefined },
      ...{ createdBy: newUuid(), createdAt: STORED_AT, modifiedBy: null, modifiedAt: null },
    };
    const parts = { agents, signingKey: { privateKey: async () => privateKey }, clock: { now: () => Date.now() } };
    const delivery = { keys, webhook, row: storedEvent(keys) };
    const result = await attemptDelivery(parts, delivery, new AbortController().signal);
    expect(result).toEqual({ status: undefined, problem: expect.stringContaining("must not be"), isGone: false });
    for (const address of addresses) expect(result.problem).not.toContain(address);
    expect(connections).toBe(0);
    agents.close();
    inside.close();
  },
);
