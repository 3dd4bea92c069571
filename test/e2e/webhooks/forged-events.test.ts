import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { newUuid } from "../../../src/base/ids.js";
import { type Receiver, startReceiver } from "../../support/receiver.js";
import { openStored, type Stored } from "../../support/stored.js";
import { newTenant } from "../../support/tenant.js";

/** Statements of the database's owner about the delivered event of a token. All send it again. */
const AGAIN = "state = 'waiting', due_at = created_at, attempts = 0";
const FORGERIES: readonly ((whose: string) => string)[] = [
  ...["event_type = 'token.deleted'", "event_type = 'webhook.test'", "entity_type = 'application'", "entity_id = 'x'"],
  ...[`actor_id = '${newUuid()}'`, "actor_type = 'user'", "actor_id = null", `trace_id = '${newUuid()}'`],
  ...["created_at = created_at + interval '1 minute'", `event_id = '${newUuid()}'`, "content = ''"],
  "content = (select content from webhook_deliveries d where d.entity_id <> webhook_deliveries.entity_id limit 1)",
].map((change) => (whose) => `update webhook_deliveries set ${change}, ${AGAIN} ${whose}`);

let receiver: Receiver;
let stored: Stored;
beforeAll(async () => {
  receiver = await startReceiver();
  stored = await openStored();
});
afterAll(async () => {
  await stored?.[Symbol.asyncDispose]();
  await receiver?.[Symbol.asyncDispose]();
});

it("the owner of the database has no event signed that did not happen, and holds up none that did", async () => {
  const tenant = await newTenant();
  const backEnd = await tenant.backEnd();
  const events = ["token.created", "token.deleted", "token.updated"];
  const { body: webhook } = await tenant.manage("POST", "/webhooks", {
    body: { name: "n", url: receiver.url, events },
  });
  const create = async (): Promise<string> =>
    (await backEnd("POST", "/tokens", { body: { type: "token", data: "x" } })).body.id;
  const tokens = await Promise.all(FORGERIES.map(create));
  const eventsSent = () => receiver.received.map(({ body }) => JSON.parse(body).event);
  await vi.waitFor(() => expect(eventsSent()).toHaveLength(tokens.length), { interval: 50 });
  const genuine = new Set(eventsSent().map((event) => JSON.stringify(event)));

  const path = `/webhooks/${webhook.id}/deliveries`;
  await vi.waitFor(async () => {
    const { body } = await tenant.manage("GET", `${path}?size=100`);
    expect(body.data.filter(({ state }: { state: string }) => state === "delivered")).toHaveLength(tokens.length);
  });
  for (const [index, forge] of FORGERIES.entries()) {
    await stored.change(tenant.id, forge(`where entity_id = '${tokens[index]}' and webhook_id = '${webhook.id}'`));
  }
  // Later events of the same tokens wait for the forged ones, which end at their first attempt.
  for (const id of tokens) expect((await backEnd("DELETE", `/tokens/${id}`)).status).toBe(204);
  const deleted = () => eventsSent().filter(({ type }) => type === "token.deleted");
  await vi.waitFor(() => expect(deleted()).toHaveLength(tokens.length), { interval: 50 });

  expect(
    deleted()
      .map(({ data }) => data.token.id)
      .toSorted(),
  ).toEqual(tokens.toSorted());
  const others = eventsSent().filter(({ type }) => type !== "token.deleted");
  for (const event of others) expect(genuine).toContain(JSON.stringify(event));
  const { body } = await tenant.manage("GET", `${path}?state=failed&size=100`);
  expect(body.data).toHaveLength(FORGERIES.length);
  const problems = body.data.map(({ problem }: { problem: string }) => problem);
  expect(new Set(problems)).toEqual(new Set(["The event is not as the vault wrote it."]));
  expect((await tenant.manage("GET", `/webhooks/${webhook.id}`)).body.status).toBe("enabled");
});
