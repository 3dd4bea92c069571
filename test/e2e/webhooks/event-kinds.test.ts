import { beforeAll, describe, expect, it, vi } from "vitest";
import { openShop } from "../../support/payments.js";
import { type Receiver, startReceiver } from "../../support/receiver.js";
import { type ServerProcess, startServerProcess } from "../../support/server.js";
import { firstTenant, type TestTenant } from "../../support/tenant.js";

let tenant: TestTenant;
let receiver: Receiver;

beforeAll(async () => {
  const server: ServerProcess = await startServerProcess({ EGRESS_ALLOW: "127.0.0.1" });
  tenant = await firstTenant(server);
  receiver = await startReceiver();
  const events = ["reactor.completed", "reactor.failed", "refund.created", "refund.updated", "transaction.updated"];
  const { status } = await tenant.manage("POST", "/webhooks", { body: { name: "n", url: receiver.url, events } });
  expect(status).toBe(201);
  return async () => {
    await receiver[Symbol.asyncDispose]();
    await server[Symbol.asyncDispose]();
  };
});

/** The events about one entity, in the order in which they arrived. */
const eventsOf = (wrapper: string, id: string) =>
  receiver.received.map(({ body }) => JSON.parse(body).event).filter(({ data }) => data[wrapper]?.id === id);

describe("an asynchronous run of a reactor", () => {
  it.each([
    ["reactor.completed", "module.exports = async () => ({ raw: 'secret' });"],
    ["reactor.failed", "module.exports = async () => { throw new Error('secret'); };"],
  ])("ends with the event %s, which names its result and nothing of it", async (type, code) => {
    const caller = await tenant.backEnd();
    const { body: reactor } = await tenant.manage("POST", "/reactors", { body: { name: "R", code } });
    const { body: started } = await caller("POST", `/reactors/${reactor.id}/react-async`, { body: { args: {} } });
    await vi.waitFor(() => expect(eventsOf("reactor", reactor.id)).toHaveLength(1), { interval: 100 });
    const [event] = eventsOf("reactor", reactor.id);
    expect(event).toMatchObject({ type, data: { actor: { id: caller.id, type: "application" } } });
    expect(event.data.reactor).toEqual({ id: reactor.id, request_id: started.asyncReactorRequestId });
    expect(JSON.stringify(receiver.received)).not.toContain("secret");
  });
});

describe("a refund", () => {
  it("has an event when it is asked for, and one when it has ended", async () => {
    const shop = await openShop([], tenant);
    const { body: paid } = await shop.pay();
    await shop.backEnd("POST", `/orchestration/transactions/${paid.id}/capture`, { body: {} });
    await shop.until(paid.id, "capture_succeeded");
    const { body: refund } = await shop.backEnd("POST", `/orchestration/transactions/${paid.id}/refunds`, {
      body: { amount: 100 },
    });
    await vi.waitFor(() => expect(eventsOf("refund", refund.id)).toHaveLength(2), { interval: 100 });
    expect(eventsOf("refund", refund.id).map(({ type }) => type)).toEqual(["refund.created", "refund.updated"]);
  });
});
