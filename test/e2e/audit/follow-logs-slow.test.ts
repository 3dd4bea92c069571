import { Code, createClient } from "@connectrpc/connect";
import { encodeEnvelope } from "@connectrpc/connect/protocol";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { Cloakroom } from "../../../clients/typescript/src/node.js";
import { type FollowLogsResponse, LogService } from "../../../gen/cloakroom/v1/logs_pb.js";
import { ErrorInfoSchema } from "../../../gen/google/rpc/error_details_pb.js";
import { sendMessage } from "../../support/raw-rpc.js";
import { rpcClient } from "../../support/rpc.js";
import { openStored, type Stored } from "../../support/stored.js";
import { newTenant, type TestTenant } from "../../support/tenant.js";

const METHOD = "cloakroom.v1.LogService/FollowLogs";

let tenant: TestTenant;
let stored: Stored;
const ending = new AbortController();
/** The first two messages of a stream whose filter nothing matches. The second comes after 15 s, while other tests run. */
let quiet: Promise<readonly { readonly data: readonly unknown[]; readonly cursor: string }[]>;
beforeAll(async () => {
  tenant = await newTenant();
  stored = await openStored();
  quiet = firstMessages(2);
});
afterAll(async () => {
  ending.abort();
  await stored?.[Symbol.asyncDispose]();
});

async function firstMessages(count: number) {
  const logs = createClient(LogService, createGrpcTransport({ baseUrl: tenant.url }));
  const headers = { "bt-api-key": tenant.managementKey };
  const messages: FollowLogsResponse[] = [];
  for await (const message of logs.followLogs({ entityId: "nobody" }, { headers, signal: ending.signal })) {
    if (messages.push(message) === count) break;
  }
  return messages;
}

const insert = (count: number) =>
  stored.change(
    tenant.id,
    `insert into audit_logs (tenant_id, created_at, id, entity_type, entity_id, operation, message, outcome)
     select '${tenant.id}', clock_timestamp(), gen_random_uuid(), 'proxy', 'busy', 'use', repeat('x', 900) || n, 'allowed'
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
    await vi.waitFor(() => expect(slow.cursor !== undefined && fast.cursor !== undefined).toBe(true));
    for (let count = 0; count < 6_000; count += 1_000) await insert(1_000);
    await quickly;
    expect(taken).toHaveLength(1);
    readOn();
    await slowly;
    expect(new Set(taken).size).toBe(6_000);
    expect([...taken].sort()).toEqual([...seen].sort());
  });
});

describe("a stream's request", () => {
  it.each(["gRPC binary", "gRPC JSON", "gRPC-Web binary", "gRPC-Web JSON"] as const)(
    "that is unreadable is refused over %s",
    async (encoding) => {
      const call = { key: tenant.managementKey };
      const unreadable = await sendMessage(encoding, METHOD, "\xff\xff{", call);
      expect(unreadable?.code).toBe(Code.InvalidArgument);
      expect(unreadable?.findDetails(ErrorInfoSchema)[0]).toMatchObject({ reason: "malformed_body" });
      const oversized = await sendMessage(encoding, METHOD, Buffer.alloc(20_000), call);
      expect(oversized?.code).toBe(Code.ResourceExhausted);
      expect(oversized?.findDetails(ErrorInfoSchema)[0]).toMatchObject({ reason: "body_too_large" });
    },
  );

  it.each(["json", "proto"])("is refused over Connect in %s if it is unreadable", async (codec) => {
    const response = await fetch(`${tenant.url}/${METHOD}`, {
      method: "POST",
      headers: { "content-type": `application/connect+${codec}`, "bt-api-key": tenant.managementKey },
      body: encodeEnvelope(0, Buffer.from("\xff\xff{nonsense")),
    });
    const body = Buffer.from(await response.arrayBuffer());
    const debug = expect.objectContaining({ reason: "malformed_body", metadata: { trace_id: expect.any(String) } });
    const details = expect.arrayContaining([expect.objectContaining({ debug })]);
    expect(body.readUInt8(0)).toBe(2);
    expect(JSON.parse(body.subarray(5).toString())).toMatchObject({ error: { code: "invalid_argument", details } });
  });

  it.each(["gRPC", "Connect binary"] as const)(
    "may have a deadline that is longer than a stream lives, over %s",
    async (protocol) => {
      const logs = rpcClient(LogService, protocol, { key: tenant.managementKey });
      const options = { timeoutMs: 3_600_000, signal: AbortSignal.timeout(20_000) };
      for await (const { cursor } of logs.followLogs({ entityId: "nobody" }, options)) {
        expect(cursor).toMatch(/./);
        break;
      }
      expect.assertions(1);
    },
  );
});

it("sends a message without rows while nothing matches", async () => {
  expect(await quiet).toEqual(Array(2).fill(expect.objectContaining({ data: [], cursor: expect.stringMatching(/./) })));
});
