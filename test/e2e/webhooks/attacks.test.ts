import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { isTenantId } from "../../../src/base/ids.js";
import { connect, type Sql } from "../../../src/store/postgres/connect.js";
import { asTenant } from "../../support/databases.js";
import { type Mailbox, newMailbox } from "../../support/mail.js";
import { startReceiver } from "../../support/receiver.js";
import { type ServerHere, startServerHere } from "../../support/server-here.js";
import { newTenant, type TestTenant } from "../../support/tenant.js";

const DAY = 86_400_000;

let ahead = 0;
let server: ServerHere;
let mailbox: Mailbox;
let sql: Sql;
let tenant: TestTenant;

beforeAll(async () => {
  mailbox = await newMailbox();
  await mailbox.open();
  const settings = { EGRESS_ALLOW: "127.0.0.1", LOG_LEVEL: "error", SMTP_URL: mailbox.url };
  server = await startServerHere(settings, { clock: { now: () => Date.now() + ahead } });
  sql = connect(server.vault.ownerAddress, { connections: 2, statementTimeout: 20_000 });
  tenant = await newTenant(server.url, server.environment);
});
afterAll(async () => {
  await sql?.end({ timeout: 5 });
  await server?.[Symbol.asyncDispose]();
  await mailbox?.[Symbol.asyncDispose]();
});

const inDatabase = (statement: string) => {
  if (!isTenantId(tenant.id)) throw new Error("this is no tenant");
  return asTenant<{ n: number }>(sql, tenant.id, statement);
};

async function webhook(url: string, more: object = {}): Promise<string> {
  const body = { name: "n", url, events: ["token.created"], ...more };
  const made = await tenant.manage("POST", "/webhooks", { body });
  expect(made.status, JSON.stringify(made.body)).toBe(201);
  return made.body.id;
}
const deliveriesOf = async (id: string) => (await tenant.manage("GET", `/webhooks/${id}/deliveries`)).body.data;
const remove = (id: string) => tenant.manage("DELETE", `/webhooks/${id}`);

describe("a webhook", () => {
  it("takes a response whose body has no end, and reads little of it", async () => {
    let written = 0;
    const endless: Server = createServer((request, response) => {
      request.resume();
      response.writeHead(200);
      const more = () => {
        while (!response.destroyed && response.write(Buffer.alloc(65_536))) written += 65_536;
      };
      response.on("drain", more);
      more();
    });
    await new Promise<void>((resolve) => endless.listen(0, "127.0.0.1", resolve));
    const { port }: AddressInfo = Object(endless.address());
    const closed = new Promise<void>((resolve) => {
      endless.on("connection", (socket) => socket.once("close", () => resolve()));
    });
    const id = await webhook(`http://127.0.0.1:${port}`);
    await tenant.manage("POST", `/webhooks/${id}/test`, { body: {} });
    await vi.waitFor(async () => expect((await deliveriesOf(id))[0]).toMatchObject({ state: "delivered" }));
    await closed;
    // What the buffers of both sockets hold.
    expect(written).toBeLessThan(50_000_000);
    await remove(id);
    endless.closeAllConnections();
    endless.close();
  });

  it.each(["https://10.0.0.1/hook", "https://[::1]/hook", "https://169.254.169.254/latest", "http://8.8.8.8/hook"])(
    "has no private or plain address: %s",
    async (url) => {
      const body = { name: "n", url, events: ["token.created"] };
      const { status, body: refused } = await tenant.manage("POST", "/webhooks", { body });
      expect([status, Object.keys(refused.errors ?? {})]).toEqual([400, ["url"]]);
    },
  );

  it("is disabled after the last attempt of three days, and a mail says so", async () => {
    await using receiver = await startReceiver(Array.from({ length: 5 }, () => 500));
    const id = await webhook(receiver.url, { notify_email: "ops@example.com" });
    await (await tenant.backEnd())("POST", "/tokens", { body: { type: "token", data: "x" } });
    await vi.waitFor(async () => expect((await deliveriesOf(id))[0]).toMatchObject({ attempts: 1 }));
    // All waits but the last are over.
    await inDatabase(`update webhook_deliveries set attempts = 14, due_at = created_at where webhook_id = '${id}'`);
    ahead = 3 * DAY;
    await vi.waitFor(async () => expect((await tenant.manage("GET", `/webhooks/${id}`)).body.status).toBe("disabled"), {
      interval: 500,
    });
    expect((await deliveriesOf(id))[0]).toMatchObject({ state: "failed" });
    await vi.waitFor(() => expect(mailbox.mails.map(({ to }) => to)).toEqual([["ops@example.com"]]));
    expect(mailbox.mails[0]?.text).not.toContain(receiver.url);
    await remove(id);
  });
});

describe("an event", () => {
  it("is gone after 30 days, delivered or not", async () => {
    await using receiver = await startReceiver();
    const id = await webhook(receiver.url);
    await (await tenant.backEnd())("POST", "/tokens", { body: { type: "token", data: "x" } });
    await vi.waitFor(async () => expect((await deliveriesOf(id))[0]).toMatchObject({ state: "delivered" }));
    const left = async () => (await inDatabase("select count(*)::int as n from webhook_deliveries"))[0]?.n;
    ahead += 29 * DAY;
    await tenant.manage("POST", `/webhooks/${id}/test`, { body: {} });
    await vi.waitFor(async () => expect(await deliveriesOf(id)).toHaveLength(2));
    ahead += 2 * DAY;
    await expect.poll(left, { interval: 500 }).toBe(1);
    ahead += 30 * DAY;
    await expect.poll(left, { interval: 500 }).toBe(0);
  });
});
