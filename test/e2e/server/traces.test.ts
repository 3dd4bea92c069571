import { once } from "node:events";
import { rmSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { TenantService } from "../../../gen/cloakroom/v1/tenants_pb.js";
import { copyMigratedData } from "../../support/migrated-data.js";
import { newDirectory } from "../../support/new-directory.js";
import { startReplica } from "../../support/replica.js";
import { restClient } from "../../support/rest.js";
import { failureOf, RPC_PROTOCOLS, rpcClient } from "../../support/rpc.js";

interface Span {
  readonly name: string;
  readonly traceId: string;
  readonly parentSpanId?: string;
  readonly traceState?: string;
  readonly attributes: readonly { readonly key: string; readonly value: { readonly stringValue: string } }[];
}

const KEY = "key_prod_pvt_not-a-key";
const PARENT_SPAN = "00f067aa0ba902b7";
/** A trace of the caller's for each way to call, distinguished by its number. */
const traceOf = (number: number) => `4bf92f3577b34da6a3ce929d0e0e47${number.toString(16).padStart(2, "0")}`;
const parentOf = (number: number, flags = "01") => `00-${traceOf(number)}-${PARENT_SPAN}-${flags}`;

describe("traces", () => {
  const received: string[] = [];
  let spans: readonly Span[];
  const under = (number: number) => spans.filter(({ traceId }) => traceId === traceOf(number));

  beforeAll(async () => {
    const collector = createServer(async (request, response) => {
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk);
      if (request.url === "/v1/traces") received.push(Buffer.concat(chunks).toString());
      response.setHeader("content-type", "application/json").end("{}");
    }).listen(0, "127.0.0.1");
    await once(collector, "listening");
    const address = collector.address();
    const port = typeof address === "object" ? address?.port : undefined;
    const directory = newDirectory();
    try {
      const server = await startReplica({
        CLOAKROOM_DATA_DIR: copyMigratedData(join(directory, "data")),
        OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}`,
        OTEL_EXPORTER_OTLP_PROTOCOL: "http/json",
      });
      const client = restClient(server.url, KEY);
      const withParent = (traceparent: string, more = {}) => ({ headers: { traceparent, ...more } });
      await client("GET", "/tokens/4242424242424242?secret=value");
      await client("GET", "/applications", withParent(parentOf(1), { tracestate: "shop=1" }));
      await client("GET", "/proxies", withParent(parentOf(2, "00")));
      await client("GET", "/reactors", withParent("00-nonsense-01"));
      await client("POST", "/proxy", withParent(parentOf(3)));
      for (const [index, protocol] of RPC_PROTOCOLS.entries()) {
        const headers = { traceparent: parentOf(16 + index) };
        await failureOf(rpcClient(TenantService, protocol, { url: server.url, key: KEY, headers }).getTenant({}));
      }
      // What is left is sent before the server exits.
      expect(await server.stop()).toBe(0);
      spans = received.flatMap((text) => JSON.parse(text).resourceSpans[0].scopeSpans[0].spans);
    } finally {
      collector.close();
      rmSync(directory, { recursive: true, force: true });
    }
  });

  it("go to the collector in OTEL_EXPORTER_OTLP_ENDPOINT, without request contents", () => {
    const [span] = spans.filter(({ name }) => name === "GetToken");
    const attributes = span?.attributes.map(({ key, value }) => [key, value.stringValue]) ?? [];
    expect(Object.fromEntries(attributes)).toEqual({
      "rpc.method": "GetToken",
      "http.route": "/tokens/{id}",
      "cloakroom.code": "unauthenticated",
    });
    for (const secret of ["4242424242424242", "secret=value", KEY]) expect(received.join()).not.toContain(secret);
  });

  it("continue the caller's span, over every protocol", () => {
    expect(under(1)).toEqual([
      expect.objectContaining({ name: "ListApplications", parentSpanId: PARENT_SPAN, traceState: "shop=1" }),
    ]);
    expect(under(3)).toEqual([expect.objectContaining({ name: "InvokeProxy", parentSpanId: PARENT_SPAN })]);
    for (const index of RPC_PROTOCOLS.keys()) {
      expect(under(16 + index)).toEqual([expect.objectContaining({ name: "GetTenant", parentSpanId: PARENT_SPAN })]);
    }
  });

  it("omit what the caller does not sample, and start new if it names no span", () => {
    expect(spans.filter(({ name }) => name === "ListProxies")).toEqual([]);
    const [own] = spans.filter(({ name }) => name === "ListReactors");
    expect(own?.traceId).toMatch(/^[0-9a-f]{32}$/);
    expect(own?.parentSpanId ?? "").toBe("");
  });
});
