import fc from "fast-check";
import { expect, it } from "vitest";
import { startReceiver } from "../../support/receiver.js";
import { openStored } from "../../support/stored.js";
import { newTenant } from "../../support/tenant.js";

const MOVES = ["token", "token", "disable", "enable", "replace"] as const;

it("whatever becomes of a webhook, it gets what happens while it is enabled, and nothing of before", async () => {
  await using receiver = await startReceiver();
  await using stored = await openStored();
  const chains = fc.array(fc.constantFrom(...MOVES), { minLength: 3, maxLength: 12 });
  await fc.assert(
    fc.asyncProperty(chains, async (moves) => {
      const tenant = await newTenant();
      const backEnd = await tenant.backEnd();
      const body = { name: "n", url: receiver.url, events: ["token.created"] };
      const make = async () => String((await tenant.manage("POST", "/webhooks", { body })).body.id);
      let id = await make();
      let isEnabled = true;
      const never: string[] = [];
      let expected: string[] = [];
      const setStatus = async (status: string) => {
        expect((await tenant.manage("PUT", `/webhooks/${id}`, { body: { ...body, status } })).status).toBe(200);
        isEnabled = status === "enabled";
      };
      const received = () => receiver.received.map((request) => JSON.parse(request.body).event.data?.token?.id);
      for (const move of [...moves, "enable", "token"] as const) {
        if (move === "token") {
          const { body: token } = await backEnd("POST", "/tokens", { body: { type: "token", data: "x" } });
          (isEnabled ? expected : never).push(token.id);
        } else if (move === "replace") {
          expect((await tenant.manage("DELETE", `/webhooks/${id}`)).status).toBe(204);
          id = await make();
          isEnabled = true;
          expected = [];
        } else {
          if (move === "disable" && isEnabled) expected = [];
          await setStatus(`${move}d`);
        }
      }
      await expect.poll(received).toEqual(expect.arrayContaining(expected));
      expect(received().filter((token) => never.includes(token))).toEqual([]);
      const waiting = async () => (await tenant.manage("GET", `/webhooks/${id}/deliveries?state=waiting`)).body.data;
      await expect.poll(waiting).toEqual([]);
      const { total_items: own } = (await tenant.manage("GET", `/webhooks/${id}/deliveries`)).body.pagination;
      // None is left of the webhooks that are gone.
      await expect.poll(async () => (await stored.left(tenant.id)).webhook_deliveries).toBe(own);
    }),
    { numRuns: 12 },
  );
});
