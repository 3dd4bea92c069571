// Computes: 10 s
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import fc from "fast-check";
import { describe, expect, it, vi } from "vitest";
import { EVENT_TYPES } from "../../../src/audit/event-types.js";
import { type Receiver, startReceiver } from "../../support/receiver.js";
import { startReplica } from "../../support/replica.js";
import type { RestClient } from "../../support/rest.js";
import { startServerProcess } from "../../support/server.js";
import { firstTenant, newTenant, type TestTenant } from "../../support/tenant.js";

const MERGE_PATCH = { "Content-Type": "application/merge-patch+json" };
const TOKEN_TYPES = EVENT_TYPES.filter((type) => type.startsWith("token."));

const eventsAt = ({ received }: Receiver) => received.map(({ body }) => JSON.parse(body).event);

async function webhook({ manage }: TestTenant, url: string, events: readonly string[]): Promise<string> {
  const { status, body } = await manage("POST", "/webhooks", { body: { name: "n", url, events } });
  expect(status, JSON.stringify(body)).toBe(201);
  return body.id;
}

const newToken = async (client: RestClient): Promise<string> =>
  (await client("POST", "/tokens", { body: { type: "token", data: "x" } })).body.id;

describe("events", () => {
  it("survive the server that is killed between their effects and their delivery", async () => {
    await using receiver = await startReceiver();
    const own = await startServerProcess({ EGRESS_ALLOW: "127.0.0.1" });
    try {
      const tenant = await firstTenant(own);
      const client = await tenant.backEnd();
      await webhook(tenant, receiver.url, ["token.created"]);
      const ids = await Promise.all(Array.from({ length: 30 }, () => newToken(client)));
      await own.stop("SIGKILL");
      await using _second = await startReplica({
        ...own.environment,
        CLOAKROOM_PORT: "0",
        CLOAKROOM_ADMIN_PORT: "0",
      });
      const tokens = () => new Set(eventsAt(receiver).map(({ data }) => data.token.id));
      await vi.waitFor(() => expect(tokens()).toEqual(new Set(ids)), { interval: 200 });
      // Duplicates, if any, have equal ids.
      expect(new Set(eventsAt(receiver).map(({ id }) => id)).size).toBe(ids.length);
    } finally {
      await own[Symbol.asyncDispose]();
    }
  });

  it("are the effects in the log, in order for each token, and another address that hangs delays none", async () => {
    await using hanging = await startHanging();
    await using receiver = await startReceiver();
    const tenant = await newTenant();
    const client = await tenant.backEnd();
    await webhook(tenant, hanging.url, TOKEN_TYPES);
    await webhook(tenant, receiver.url, TOKEN_TYPES);
    const step = fc.record({
      operation: fc.constantFrom("create", "patch", "read", "delete", "duplicate", "missing"),
      which: fc.nat(4),
    });
    const [steps = []] = fc.sample(fc.array(step, { minLength: 60, maxLength: 60 }), 1);
    const tokens: string[] = [];
    for (const { operation, which } of steps) {
      const id = tokens[which % Math.max(tokens.length, 1)];
      if (operation === "create" || id === undefined) tokens.push(await newToken(client));
      else if (operation === "patch") {
        await client("PATCH", `/tokens/${id}`, { body: { metadata: { n: String(which) } }, headers: MERGE_PATCH });
      } else if (operation === "read") await client("GET", `/tokens/${id}`);
      else if (operation === "delete") await client("DELETE", `/tokens/${id}`);
      else if (operation === "duplicate") {
        await client("POST", "/tokens", { body: { id, type: "token", data: "x" } });
      } else await client("GET", `/tokens/${id}-missing`);
    }
    const effects: { id: string; entity_id: string; operation: string }[] = [];
    for (const id of new Set(tokens)) {
      const { body } = await tenant.manage("GET", `/logs?entity_type=token&entity_id=${id}&size=100`);
      effects.push(...body.data.toReversed());
    }
    const VERBS: Readonly<Record<string, string>> = {
      "token.created": "create",
      "token.updated": "update",
      "token.read": "read",
      "token.deleted": "delete",
    };
    await vi.waitFor(() => expect(receiver.received.length).toBeGreaterThanOrEqual(effects.length), { interval: 200 });
    for (const id of new Set(tokens)) {
      const of = eventsAt(receiver).filter(({ data }) => data.token.id === id);
      expect(of.map(({ type }) => VERBS[type])).toEqual(
        effects.filter(({ entity_id }) => entity_id === id).map(({ operation }) => operation),
      );
    }
    expect(receiver.received).toHaveLength(effects.length);
    expect(hanging.answered()).toBe(0);
  });
});

/** A server that takes requests and never responds. */
async function startHanging() {
  let answered = 0;
  const server = createServer((request, response) => {
    request.resume();
    response.once("finish", () => {
      answered += 1;
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port }: AddressInfo = Object(server.address());
  return {
    url: `http://127.0.0.1:${port}`,
    answered: () => answered,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
