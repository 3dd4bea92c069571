import fc from "fast-check";
import { beforeAll, describe, expect, it } from "vitest";
import { TokenService } from "../../../gen/cloakroom/v1/tokens_pb.js";
import { memberWithPasskey } from "../../support/passkeys.js";
import { failureOf, RPC_PROTOCOLS, rpcClient } from "../../support/rpc.js";
import { openStored } from "../../support/stored.js";
import { newTenant, type TestTenant } from "../../support/tenant.js";
import type { TestBrowser } from "../../support/test-browser.js";

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

describe("an export that two people must agree to", () => {
  let tenant: TestTenant;
  let exporter: Application;
  let asks: TestBrowser;
  let approves: TestBrowser;
  beforeAll(async () => {
    tenant = await newTenant();
    exporter = await exporterIn(tenant);
    await fill(exporter, 2);
    ({ browser: asks } = await memberWithPasskey(tenant, "OWNER"));
    ({ browser: approves } = await memberWithPasskey(tenant, "OWNER"));
    await settle();
    const name = (await tenant.manage("GET", "/tenants/self")).body.name;
    const settings = { require_export_approval: "true" };
    expect((await tenant.manage("PUT", "/tenants/self", { body: { name, settings } })).status).toBe(200);
  });
  /** Makes all members a week old. */
  const settle = async () => {
    await using stored = await openStored();
    await stored.change(tenant.id, "update members set created_at = created_at - interval '7 days'");
  };
  const exported = async (body: object = {}) => (await exporter("POST", "/tokens/export", { body })).status;
  const request = (browser: TestBrowser, fields: object = {}) =>
    browser.call("TokenExportService/RequestTokenExport", {
      ...{ applicationId: exporter.id, reason: "moving out" },
      ...fields,
    });
  const approve = (browser: TestBrowser, id: string) => browser.call("TokenExportService/ApproveTokenExport", { id });
  const remove = (id: string) => asks.call("TokenExportService/DeleteTokenExport", { id });

  it("is refused before, works after the approval of another OWNER, and ends with it", async () => {
    expect(await exported()).toBe(403);
    const stream = rpcClient(TokenService, "gRPC", { key: exporter.key }).exportTokens({});
    expect((await failureOf(firstOf(stream))).reason).toBe("permission_denied");
    const { body: denials } = await tenant.manage("GET", "/logs?entity_type=token_export");
    expect(denials.data.map(({ outcome }: { outcome: string }) => outcome)).toEqual(["denied", "denied"]);
    expect(await exported({ without_data: true })).toBe(200);
    const { body: asked } = await request(asks);
    expect(asked).toMatchObject({ state: "waiting", applicationId: exporter.id, reason: "moving out" });
    expect(await exported()).toBe(403);
    expect(await approve(asks, asked.id)).toMatchObject({ status: 403 });
    expect((await approve(approves, asked.id)).body.state).toBe("approved");
    expect(await exported()).toBe(200);
    expect((await approve(approves, asked.id)).status).toBe(409);
    const { body: list } = await asks.call("TokenExportService/ListTokenExports", {});
    expect(list.data.map(({ id }: { id: string }) => id)).toEqual([asked.id]);
    expect((await remove(asked.id)).status).toBe(200);
    expect(await exported()).toBe(403);
    const { body: log } = await tenant.manage("GET", `/logs?entity_type=token_export&entity_id=${asked.id}`);
    const row = ({ actor_type: by, operation }: { actor_type: string; operation: string }) => `${by} ${operation}`;
    expect(log.data.map(row)).toEqual(["user delete", "user approve", "user create"]);
  });

  it("reads no more than was approved", async () => {
    const { body: asked } = await request(asks, { container: "/pci/", type: "token" });
    await approve(approves, asked.id);
    expect(await exported()).toBe(403);
    expect(await exported({ container: "/pci/" })).toBe(403);
    expect(await exported({ container: "/", type: "token" })).toBe(403);
    expect(await exported({ container: "/pci/a/", type: "token" })).toBe(200);
    expect(await exported({ query: "container:/pci/" })).toBe(403);
    const other = await exporterIn(tenant);
    expect((await other("POST", "/tokens/export", { body: { container: "/pci/", type: "token" } })).status).toBe(403);
    await remove(asked.id);
  });

  it("ends after an hour, as a request does", async () => {
    const { body: asked } = await request(asks);
    await using stored = await openStored();
    await stored.change(tenant.id, `update token_exports set expires_at = now() - interval '1 second'`);
    expect((await approve(approves, asked.id)).status).toBe(404);
    const { body: list } = await asks.call("TokenExportService/ListTokenExports", {});
    expect(list.data ?? []).toEqual([]);
  });

  it("is not approved by a change of its row in the database", async () => {
    const { body: asked } = await request(asks);
    await using stored = await openStored();
    await stored.change(tenant.id, `update token_exports set approved_by = '${crypto.randomUUID()}'`);
    expect(await exported()).toBeGreaterThanOrEqual(403);
    await stored.change(tenant.id, `update token_exports set expires_at = now() + interval '9 days'`);
    expect(await exported()).toBeGreaterThanOrEqual(403);
    await remove(asked.id);
  });

  it("is approved neither by a new OWNER nor by another role", async () => {
    const { browser: newcomer } = await memberWithPasskey(tenant, "OWNER");
    const { browser: admin } = await memberWithPasskey(tenant, "ADMIN");
    const { body: asked } = await request(asks);
    expect((await approve(newcomer, asked.id)).body.message).toContain("24 hours");
    expect((await approve(admin, asked.id)).status).toBe(403);
    expect((await request(admin)).status).toBe(403);
    expect(await exported()).toBe(403);
    await remove(asked.id);
  });

  it("is asked for until an operator decides otherwise", async () => {
    const { body } = await tenant.manage("GET", "/tenants/self");
    const settings = { require_export_approval: "false" };
    const off = await tenant.manage("PUT", "/tenants/self", { body: { name: body.name, settings } });
    expect([off.status, off.body.detail]).toEqual([403, expect.stringContaining("--stop-export-approval")]);
  });
});
