import { Code } from "@connectrpc/connect";
import { encodeEnvelope } from "@connectrpc/connect/protocol";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { Cloakroom } from "../../clients/typescript/src/node.js";
import { sendMessage } from "../support/raw-rpc.js";
import { openStored, type Stored } from "../support/stored.js";
import { newTenant, type TestTenant } from "../support/tenant.js";

const METHOD = "cloakroom.v1.LogService/FollowLogs";

let tenant: TestTenant;
let stored: Stored;
beforeAll(async () => {
  tenant = await newTenant();
  stored = await openStored();
});
afterAll(() => stored?.[Symbol.asyncDispose]());

const insert = (count: number) =>
  stored.change(
    tenant.id,
    `insert into audit_logs (tenant_id, created_at, id, entity_type, entity_id, operation, message)
     select '${tenant.id}', clock_timestamp(), gen_random_uuid(), 'proxy', 'busy', 'use', repeat('x', 900) || n
     from generate_series(1, ${count}) n`,
  );

describe("a follower that stops reading", () => {
  it("does not delay others, and gets every row once when it reads on", async () => {
    await using client = new Cloakroom({ baseUrl: tenant.url, apiKey: tenant.managementKey });
    await using other = new Cloakroom({ baseUrl: tenant.url, apiKey: tenant.managementKey });
    const [slow, fast] = [client, other].map(({ logs }) => logs.follow({ entityType: "proxy", entityId: "busy" }));
    if (!slow || !fast) throw new Error("two streams were opened");
    const taken: string[] = [];
    let readOn = () => {};
    const others = new Promise<void>((resolve) => {
      readOn = resolve;
    });
    const slowly = (async () => {
      for await (const { id } of slow) {
        if (taken.push(id) === 1) await others;
        if (taken.length === 6_000) break;
      }
    })();
    const seen: string[] = [];
    const quickly = (async () => {
      for await (const { id } of fast) if (seen.push(id) === 6_000) break;
    })();
    await vi.waitFor(() => expect(slow.cursor !== undefined && fast.cursor !== undefined).toBe(true), 10_000);
    for (let count = 0; count < 6_000; count += 1_000) await insert(1_000);
    await quickly;
    expect(taken).toHaveLength(1);
    readOn();
    await slowly;
    expect(new Set(taken).size).toBe(6_000);
    expect([...taken].sort()).toEqual([...seen].sort());
  }, 60_000);
});

describe("a stream's request", () => {
  it.each(["gRPC binary", "gRPC JSON", "gRPC-Web binary", "gRPC-Web JSON"] as const)(
    "that is unreadable is refused over %s",
    async (encoding) => {
      // Connect's own code for a message in the binary format.
      const code = encoding.endsWith("binary") ? Code.Internal : Code.InvalidArgument;
      const call = { key: tenant.managementKey };
      const unreadable = await sendMessage(encoding, METHOD, "\xff\xff{", call);
      expect(unreadable?.code).toBe(code);
      const oversized = await sendMessage(encoding, METHOD, Buffer.alloc(20_000), call);
      expect(oversized?.code).toBe(Code.ResourceExhausted);
    },
  );

  it("that is unreadable is refused over Connect", async () => {
    const response = await fetch(`${tenant.url}/${METHOD}`, {
      method: "POST",
      headers: { "content-type": "application/connect+json", "bt-api-key": tenant.managementKey },
      body: encodeEnvelope(0, Buffer.from("{nonsense")),
    });
    const body = Buffer.from(await response.arrayBuffer());
    expect(JSON.parse(body.subarray(5).toString())).toMatchObject({ error: { code: "invalid_argument" } });
  });
});
