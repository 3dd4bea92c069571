import { constants, createHmac, verify } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { beforeAll, describe, expect, inject, it, vi } from "vitest";
import { stableJson } from "../../../src/webhooks/stable-json.js";
import { type Receiver, startReceiver } from "../../support/receiver.js";
import { newTenant, type TestTenant } from "../../support/tenant.js";

type Application = Awaited<ReturnType<TestTenant["backEnd"]>>;

/** A vault on a cluster refuses them: test/engine/cluster.test.ts. */
const hasWebhooks = !inject("isCluster");

let tenant: TestTenant;
let backEnd: Application;

beforeAll(async () => {
  tenant = await newTenant();
  backEnd = await tenant.backEnd();
});

async function webhook(url: string, events: readonly string[], more: object = {}) {
  const response = await tenant.manage("POST", "/webhooks", { body: { name: "orders", url, events, ...more } });
  expect(response.status, JSON.stringify(response.body)).toBe(201);
  return response.body;
}

const remove = async (id: string) => expect((await tenant.manage("DELETE", `/webhooks/${id}`)).status).toBe(204);

const eventsAt = ({ received }: Receiver) => received.map(({ body }) => JSON.parse(body).event);

describe("a webhook", () => {
  it.runIf(hasWebhooks)("is created, read, listed, replaced and deleted", async () => {
    const made = await webhook("https://shop.example.com/hook", ["token.created"], { notify_email: "ops@example.com" });
    expect(made).toMatchObject({ status: "enabled", name: "orders", events: ["token.created"], tenant_id: tenant.id });
    expect(made.secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
    const path = `/webhooks/${made.id}`;
    const { secret: _, ...shown } = made;
    expect((await tenant.manage("GET", path)).body).toEqual(shown);
    expect((await tenant.manage("GET", "/webhooks")).body).toEqual({
      pagination: { page_size: expect.any(Number) },
      data: [shown],
    });
    const replaced = await tenant.manage("PUT", path, {
      body: {
        name: "o2",
        url: "https://shop.example.com/2",
        events: ["token.read", "token.deleted"],
        status: "disabled",
      },
    });
    expect(replaced.body).toMatchObject({ name: "o2", status: "disabled", events: ["token.deleted", "token.read"] });
    expect(replaced.body).not.toHaveProperty("secret");
    await remove(made.id);
    expect((await tenant.manage("GET", path)).status).toBe(404);
  });

  it.each<[string, object, string]>([
    ["an unknown event", { events: ["token:created"] }, "events[0]"],
    ["no event", { events: [] }, "events"],
    ["plain http", { url: "http://shop.example.com/" }, "url"],
    ["a password in the address", { url: "https://me:secret@shop.example.com/" }, "url"],
    ["a private address", { url: "https://10.0.0.1/" }, "url"],
    ["no address at all", { url: "shop" }, "url"],
    ["a name before the e-mail address", { notify_email: "Ops <ops@example.com>" }, "notify_email"],
  ])("is refused with %s", async (_, wrong, field) => {
    const body = { name: "n", url: "https://shop.example.com/", events: ["token.created"], ...wrong };
    const response = await tenant.manage("POST", "/webhooks", { body });
    expect(response.status).toBe(400);
    expect(Object.keys(response.body.errors)).toEqual([field]);
    expect(JSON.stringify(response.body)).not.toContain("me:secret");
  });

  it.runIf(hasWebhooks)("is the fifth at most, also of a hundred that are asked for at once", async () => {
    const own = await newTenant();
    const body = { name: "n", url: "https://shop.example.com/", events: ["token.created"] };
    const ask = async () => {
      while (true) {
        const response = await own.manage("POST", "/webhooks", { body });
        // Each webhook changes what callers know of the tenant: who meets five changes in a row is asked to try again.
        if (response.status !== 503 && response.status !== 409) return response;
      }
    };
    const made = await Promise.all(Array.from({ length: 100 }, ask));
    const statuses = Map.groupBy(made, ({ status }) => status);
    expect([...statuses.keys()].toSorted()).toEqual([201, 422]);
    expect(statuses.get(201)).toHaveLength(5);
    expect((await own.manage("GET", "/webhooks")).body.data).toHaveLength(5);
  });

  it("needs its permissions", async () => {
    expect((await backEnd("GET", "/webhooks")).status).toBe(403);
    expect((await backEnd("GET", "/webhooks/event-types")).status).toBe(403);
    const { body } = await tenant.manage("GET", "/webhooks/event-types");
    expect(body).toContain("token.created");
    expect(body).not.toContain("http.request");
  });
});

describe.runIf(hasWebhooks)("events", () => {
  it("arrive once, signed in both ways, in the order of one token's effects, without its data", async () => {
    await using receiver = await startReceiver();
    const made = await webhook(`${receiver.url}/hook`, [
      "token.created",
      "token.updated",
      "token.read",
      "token.deleted",
    ]);
    const { body: token } = await backEnd("POST", "/tokens", {
      body: { type: "token", data: "in the clear", metadata: { order: "7" }, containers: ["/a/"] },
    });
    const path = `/tokens/${token.id}`;
    await backEnd("PATCH", path, {
      body: { metadata: { order: "8" } },
      headers: { "Content-Type": "application/merge-patch+json" },
    });
    await backEnd("GET", path);
    await backEnd("DELETE", path);
    await vi.waitFor(() => expect(receiver.received).toHaveLength(4), { interval: 100 });
    const events = eventsAt(receiver);
    expect(events.map(({ type }) => type)).toEqual(["token.created", "token.updated", "token.read", "token.deleted"]);
    expect(events[0].data).toEqual({
      token: expect.objectContaining({ id: token.id, type: "token", metadata: { order: "7" }, containers: ["/a/"] }),
      actor: { id: backEnd.id, type: "application" },
    });
    expect(events[1].data.token).toMatchObject({ id: token.id, metadata: { order: "8" }, modified_by: backEnd.id });
    expect(events[3].data.token).toEqual({ id: token.id });
    for (const { body } of receiver.received) expect(body).not.toContain("in the clear");
    const { body: log } = await tenant.manage("GET", `/logs?entity_type=token&entity_id=${token.id}`);
    expect(log.data.map(({ operation }: { operation: string }) => operation)).toHaveLength(4);

    const pem = await (await fetch(`${tenant.url}/.well-known/webhooks.v1.key`)).text();
    for (const { body, headers } of receiver.received) {
      expect(body).toBe(stableJson(JSON.parse(body)));
      const signature = Buffer.from(String(headers["bt-signature"]), "base64");
      const key = { key: pem, padding: constants.RSA_PKCS1_PSS_PADDING };
      expect(verify("sha256", Buffer.from(body), key, signature)).toBe(true);
      expect(headers["bt-signature-version"]).toBe("v1");
      expect(headers["webhook-signature"]).toBe(standardSignature(made.secret, headers, body));
      expect(headers["webhook-id"]).toBe(JSON.parse(body).event.id);
    }
    await remove(made.id);
  });

  it("are signed with both secrets while one is rotated", async () => {
    await using receiver = await startReceiver();
    const made = await webhook(receiver.url, ["token.created"]);
    const { body: rotated } = await tenant.manage("POST", `/webhooks/${made.id}/secret/rotate`, { body: {} });
    expect(rotated.former_secret_expires_at).toBeDefined();
    await tenant.manage("POST", `/webhooks/${made.id}/test`, { body: {} });
    await vi.waitFor(() => expect(receiver.received).toHaveLength(1), { interval: 100 });
    for (const { headers, body } of receiver.received) {
      const both = [rotated.secret, made.secret].map((secret) => standardSignature(secret, headers, body));
      expect(headers["webhook-signature"]).toBe(both.join(" "));
      expect(JSON.parse(body).event).toMatchObject({ type: "webhook.test", data: { webhook: { id: made.id } } });
    }
    await remove(made.id);
  });

  it("are signed with both secrets if one is rotated while they wait", async () => {
    await using receiver = await startReceiver([500]);
    const made = await webhook(receiver.url, ["token.created"]);
    await backEnd("POST", "/tokens", { body: { type: "token", data: "x" } });
    const deliveries = `/webhooks/${made.id}/deliveries`;
    const first = async () => (await tenant.manage("GET", deliveries)).body.data[0];
    await vi.waitFor(async () => expect(await first()).toMatchObject({ state: "waiting", attempts: 1 }), {
      interval: 200,
    });
    const { body: rotated } = await tenant.manage("POST", `/webhooks/${made.id}/secret/rotate`, { body: {} });
    const { event_id: id } = await first();
    expect((await tenant.manage("POST", `${deliveries}/${id}/replay`, { body: {} })).status).toBe(202);
    await vi.waitFor(() => expect(receiver.received).toHaveLength(2), { interval: 100 });
    const signatures = receiver.received.map(({ headers, body }) => {
      const by = (secret: string) => standardSignature(secret, headers, body);
      return [headers["webhook-signature"], by(made.secret), [by(rotated.secret), by(made.secret)].join(" ")];
    });
    expect(signatures.map(([sent]) => sent)).toEqual([signatures[0]?.[1], signatures[1]?.[2]]);
    expect(new Set(eventsAt(receiver).map((event) => event.id))).toEqual(new Set([id]));
    await remove(made.id);
  });

  it("are tried again after a failure and a redirect, and replayed under the same id", async () => {
    await using receiver = await startReceiver([302]);
    const made = await webhook(receiver.url, ["token.created"]);
    await backEnd("POST", "/tokens", { body: { type: "token", data: "x" } });
    const deliveries = `/webhooks/${made.id}/deliveries`;
    await vi.waitFor(
      async () => expect((await tenant.manage("GET", deliveries)).body.data[0]).toMatchObject({ attempts: 1 }),
      { interval: 200 },
    );
    const [failed] = (await tenant.manage("GET", `${deliveries}?state=waiting`)).body.data;
    expect(failed).toMatchObject({ response_status: 302, problem: "The receiver responded 302." });
    const replayed = await tenant.manage("POST", `${deliveries}/${failed.event_id}/replay`, { body: {} });
    expect(replayed.status).toBe(202);
    await vi.waitFor(() => expect(receiver.received).toHaveLength(2), { interval: 200 });
    expect(new Set(eventsAt(receiver).map(({ id }) => id))).toEqual(new Set([failed.event_id]));
    await vi.waitFor(
      async () => {
        const { body } = await tenant.manage("GET", `${deliveries}/${failed.event_id}`);
        expect(body).toMatchObject({ state: "delivered", response_status: 200, event: { type: "token.created" } });
      },
      { interval: 200 },
    );
    await remove(made.id);
  });

  it("end when the receiver responds that it is gone", async () => {
    await using receiver = await startReceiver([410]);
    const made = await webhook(receiver.url, ["token.created"]);
    await backEnd("POST", "/tokens", { body: { type: "token", data: "x" } });
    await vi.waitFor(
      async () => expect((await tenant.manage("GET", `/webhooks/${made.id}`)).body.status).toBe("disabled"),
      { interval: 200 },
    );
    const { body } = await tenant.manage("GET", `/webhooks/${made.id}/deliveries`);
    expect(body.data).toEqual([expect.objectContaining({ state: "failed" })]);
    expect((await tenant.manage("POST", `/webhooks/${made.id}/test`, { body: {} })).status).toBe(422);
    await remove(made.id);
  });

  it("go on to a new address when the former one responds late that it is gone", async () => {
    await using receiver = await startReceiver();
    const asked = Promise.withResolvers<void>();
    const replaced = Promise.withResolvers<void>();
    const former = createServer((request, response) => {
      request.resume().on("end", () => {
        asked.resolve();
        void replaced.promise.then(() => response.writeHead(410).end());
      });
    });
    await new Promise<void>((resolve) => former.listen(0, "127.0.0.1", resolve));
    const { port }: AddressInfo = Object(former.address());
    try {
      const made = await webhook(`http://127.0.0.1:${port}`, ["token.created"]);
      await backEnd("POST", "/tokens", { body: { type: "token", data: "x" } });
      await asked.promise;
      const body = { name: "n", url: receiver.url, events: ["token.created"] };
      expect((await tenant.manage("PUT", `/webhooks/${made.id}`, { body })).status).toBe(200);
      replaced.resolve();
      await vi.waitFor(() => expect(eventsAt(receiver)).toHaveLength(1), { interval: 200 });
      expect((await tenant.manage("GET", `/webhooks/${made.id}`)).body.status).toBe("enabled");
      await remove(made.id);
    } finally {
      replaced.resolve();
      former.closeAllConnections();
      former.close();
    }
  });
});

function standardSignature(secret: string, headers: Receiver["received"][number]["headers"], body: string): string {
  const key = Buffer.from(secret.replace("whsec_", ""), "base64");
  const text = `${headers["webhook-id"]}.${headers["webhook-timestamp"]}.${body}`;
  return `v1,${createHmac("sha256", key).update(text).digest("base64")}`;
}
