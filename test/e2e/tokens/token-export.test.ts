import fc from "fast-check";
import { beforeAll, describe, expect, it } from "vitest";
import { TokenService } from "../../../gen/cloakroom/v1/tokens_pb.js";
import { MINUTE_MS } from "../../../src/base/clock.js";
import type { RestResponse } from "../../support/rest.js";
import { failureOf, RPC_PROTOCOLS, rpcClient } from "../../support/rpc.js";
import { startServerHere } from "../../support/server-here.js";
import { newTenant, type TestTenant } from "../../support/tenant.js";

type Application = Awaited<ReturnType<TestTenant["application"]>>;

const REVEALED = [{ priority: 1, container: "/", transform: "reveal", permissions: ["token:export", "token:create"] }];
const TOKENS = 230;

async function exporterIn(tenant: TestTenant): Promise<Application> {
  return tenant.application({ type: "private", permissions: ["token:import"], rules: REVEALED });
}

async function fill(exporter: Application, count: number, container = "/pci/a/"): Promise<readonly string[]> {
  const ids: string[] = [];
  for (let position = 1; position <= count; position += 100) {
    const rows = Array.from({ length: Math.min(100, count - position + 1) }, (_, index) => ({
      ...{ type: "token", data: `value ${position + index}`, containers: [container] },
    }));
    const { status, body } = await exporter("POST", "/tokens/import", {
      body: { import_id: container, position, rows },
    });
    expect(status).toBe(200);
    ids.push(...body.results.map(({ id }: { id: string }) => id));
  }
  return ids;
}

const firstOf = <T>(messages: AsyncIterable<T>): Promise<IteratorResult<T>> => messages[Symbol.asyncIterator]().next();

describe("a stream of tokens", () => {
  let tenant: TestTenant;
  let exporter: Application;
  let ids: readonly string[];
  beforeAll(async () => {
    tenant = await newTenant();
    exporter = await exporterIn(tenant);
    ids = await fill(exporter, TOKENS);
    await fill(exporter, 3, "/other/");
  });
  const client = (protocol: (typeof RPC_PROTOCOLS)[number] = "gRPC", key = exporter.key) =>
    rpcClient(TokenService, protocol, { key });

  it.each(RPC_PROTOCOLS)("has each token of a container once, and ends by itself, over %s", async (protocol) => {
    const found: string[] = [];
    const cursors: (string | undefined)[] = [];
    for await (const { data, cursor } of client(protocol).exportTokens({ container: "/pci/" })) {
      found.push(...data.map(({ id }) => id));
      cursors.push(cursor);
    }
    expect(found.toSorted()).toEqual(ids.toSorted());
    expect(cursors.map((cursor) => cursor !== undefined)).toEqual([true, true, false]);
  });

  it("continues with a cursor after any message, and repeats and leaves out nothing", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.integer({ min: 1, max: 3 }), { maxLength: 3 }), async (stops) => {
        const found: string[] = [];
        let start: string | undefined;
        for (const messages of [...stops, Number.POSITIVE_INFINITY]) {
          let taken = 0;
          for await (const { data, cursor } of client().exportTokens({ container: "/pci/", ...(start && { start }) })) {
            found.push(...data.map(({ id }) => id));
            start = cursor;
            taken += 1;
            if (taken === messages) break;
          }
          if (start === undefined) break;
        }
        expect(found.toSorted()).toEqual(ids.toSorted());
      }),
      { numRuns: 5 },
    );
  });

  it("takes a search in place of a container", async () => {
    const found: string[] = [];
    for await (const { data } of client().exportTokens({ query: "container:/other/" })) {
      found.push(...data.map(({ id }) => id));
    }
    expect(found).toHaveLength(3);
    const both = await failureOf(firstOf(client().exportTokens({ query: "type:token", type: "token" })));
    expect(both).toMatchObject({ reason: "validation_failed", fields: ["query"] });
  });

  it.each(["data:1111", "fingerprint:x", "container:/other/ AND data:1111"])("finds no value by %s", async (query) => {
    const body = { query, without_data: true };
    const refused = await exporter("POST", "/tokens/export", { body });
    expect([refused.status, refused.body.errors]).toEqual([
      400,
      { query: [expect.stringContaining("/v2/tokens/search")] },
    ]);
    expect((await failureOf(firstOf(client().exportTokens({ query })))).reason).toBe("validation_failed");
  });

  it("has large tokens, however many of them are neighbours, on as many pages as they need", async () => {
    const own = await newTenant();
    const reader = await exporterIn(own);
    const large = "x".repeat(3_000_000);
    for (let position = 1; position <= 401; position += 100) {
      const rows = [
        { type: "token", data: large },
        ...Array.from({ length: 99 }, () => ({ type: "token", data: "small" })),
      ];
      const batch = { import_id: "large", position, rows: position === 401 ? rows.slice(0, 1) : rows };
      expect((await reader("POST", "/tokens/import", { body: batch })).status).toBe(200);
    }
    const lengths: number[] = [];
    const streamed: number[] = [];
    for (let start: string | undefined = ""; start !== undefined; ) {
      const page: RestResponse = await reader("POST", "/tokens/export", { body: { size: 500, start } });
      const { status, body } = page;
      expect(status).toBe(200);
      lengths.push(...body.data.map(({ data }: { data: string }) => data.length));
      start = body.pagination.next;
    }
    for await (const { data } of client("gRPC", reader.key).exportTokens({})) streamed.push(data.length);
    expect(lengths.filter((length) => length === large.length)).toHaveLength(5);
    expect(lengths).toHaveLength(401);
    expect(streamed.reduce((sum, count) => sum + count, 0)).toBe(401);
  });

  it("has no data and leaves no rows of reads without data", async () => {
    const own = await newTenant();
    const reader = await exporterIn(own);
    await fill(reader, 2);
    for await (const { data } of client("gRPC", reader.key).exportTokens({ withoutData: true })) {
      expect(data.map((token) => token.data)).toEqual([undefined, undefined]);
    }
    const { body: log } = await own.manage("GET", "/logs?size=50");
    const operations = log.data.map(({ operation }: { operation: string }) => operation);
    expect(operations.filter((name: string) => name === "export")).toHaveLength(1);
    expect(operations).not.toContain("read");
  });

  it("shows nothing more in the clear once the rule that revealed it masks", async () => {
    const own = await newTenant();
    const reader = await exporterIn(own);
    // Its caller takes nothing for a while: the server reads no further than buffers go.
    const [batches, long] = [10, "x".repeat(10_000)];
    for (let batch = 0; batch < batches; batch += 1) {
      const rows = Array.from({ length: 100 }, () => ({ type: "token", data: long }));
      const body = { import_id: "long", position: batch * 100 + 1, rows };
      expect((await reader("POST", "/tokens/import", { body })).status).toBe(200);
    }
    const messages = client("gRPC", reader.key).exportTokens({})[Symbol.asyncIterator]();
    const first = await messages.next();
    expect(first.value?.data[0]?.data).toBeDefined();
    const rules = REVEALED.map((rule) => ({ ...rule, transform: "mask" }));
    const body = { name: "Export", type: "private", permissions: ["token:import"], rules };
    expect((await own.manage("PUT", `/applications/${reader.id}`, { body })).status).toBe(200);
    const shown: boolean[] = [];
    for (let next = await messages.next(); !next.done; next = await messages.next()) {
      shown.push(next.value.data.some(({ data }) => data !== undefined));
    }
    expect(shown).toHaveLength(batches - 1);
    expect(shown.at(-1)).toBe(false);
  });

  it("shows a caller that takes its time nothing that has expired meanwhile, or that its key may not see any more", async () => {
    let ahead = 0;
    await using server = await startServerHere({ LOG_LEVEL: "error" }, { clock: { now: () => Date.now() + ahead } });
    const own = await newTenant(server.url, server.environment);
    const reader = await exporterIn(own);
    const expires_at = new Date(Date.now() + 10 * MINUTE_MS).toISOString();
    // Larger than buffers: the server makes no message before its caller takes the one before.
    const row = { type: "token", data: "x".repeat(10_000), expires_at };
    for (let batch = 0; batch < 5; batch += 1) {
      const body = { import_id: "long", position: batch * 100 + 1, rows: Array.from({ length: 100 }, () => row) };
      expect((await reader("POST", "/tokens/import", { body })).status).toBe(200);
    }
    const begin = async () => {
      const stream = rpcClient(TokenService, "gRPC", { url: server.url, key: reader.key }).exportTokens({});
      const messages = stream[Symbol.asyncIterator]();
      expect((await messages.next()).value?.data).toHaveLength(100);
      return messages;
    };
    const countRest = async (messages: Awaited<ReturnType<typeof begin>>) => {
      let tokens = 0;
      for (let next = await messages.next(); !next.done; next = await messages.next()) tokens += next.value.data.length;
      return tokens;
    };
    const [expiring, revoked] = [await begin(), await begin()];
    ahead = 11 * MINUTE_MS;
    expect(await countRest(expiring)).toBeLessThanOrEqual(200);
    expect((await own.manage("DELETE", `/applications/${reader.id}`)).status).toBe(204);
    expect((await failureOf(countRest(revoked))).reason).toBe("unauthenticated");
  });

  it("is refused without token:export, and to a key that is revoked before it continues", async () => {
    const reader = await tenant.application({ type: "private", permissions: ["token:read"] });
    const refused = await failureOf(firstOf(client("gRPC", reader.key).exportTokens({})));
    expect(refused.reason).toBe("permission_denied");
    const doomed = await exporterIn(tenant);
    const { value } = await firstOf(client("gRPC", doomed.key).exportTokens({}));
    await tenant.manage("DELETE", `/applications/${doomed.id}`);
    const start = value?.cursor ?? "";
    const ended = await failureOf(firstOf(client("gRPC", doomed.key).exportTokens({ start })));
    expect(ended.reason).toBe("unauthenticated");
  });
});

describe("a stream of large tokens", () => {
  it("holds memory for the page that is under way, and for no other", async () => {
    await using server = await startServerHere({ LOG_LEVEL: "error" });
    const own = await newTenant(server.url, server.environment);
    const reader = await exporterIn(own);
    for (let position = 1; position <= 1_101; position += 100) {
      const rows = Array.from({ length: 100 }, (_, index) => ({
        ...{ type: "token", data: index === 0 ? "x".repeat(3_000_000) : "small" },
      }));
      const body = { import_id: "large", position, rows };
      expect((await reader("POST", "/tokens/import", { body })).status).toBe(200);
    }
    const free = async () => {
      const metrics = await (await fetch(`${server.adminUrl}/metrics`)).text();
      return Number(/^cloakroom_body_memory_free_bytes\{.*size="large".*\} (\S+)$/m.exec(metrics)?.[1]);
    };
    await expect.poll(free).toBeGreaterThan(0);
    const before = await free();
    const tokens: number[] = [];
    const messages = rpcClient(TokenService, "gRPC", { url: server.url, key: reader.key }).exportTokens({});
    for await (const { data } of messages) {
      // The server has read the next page, and waits for its caller to take it.
      if (tokens.length === 0) await expect.poll(free).toBeLessThan(before);
      tokens.push(data.length);
    }
    expect(tokens.reduce((sum, count) => sum + count, 0)).toBe(1_200);
    await expect.poll(free).toBe(before);
  });
});
