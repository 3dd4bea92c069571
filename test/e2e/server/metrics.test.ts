import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { TokenService } from "../../../gen/cloakroom/v1/tokens_pb.js";
import { restClient } from "../../support/rest.js";
import { failureOf, rpcClient } from "../../support/rpc.js";
import { type ServerHere, startServerHere } from "../../support/server-here.js";
import { newTenant, type TestTenant } from "../../support/tenant.js";

const CANARY = "4242424242424242";

describe("/metrics", () => {
  let server: ServerHere;
  let tenant: TestTenant;
  let applicationKey: string;
  let tokenId: string;
  beforeAll(async () => {
    server = await startServerHere({ RATE_LIMITS: "token_search=3" });
    tenant = await newTenant(server.url, server.environment);
    const backEnd = await tenant.backEnd();
    applicationKey = backEnd.key;
    const made = await backEnd("POST", "/tokens", { body: { type: "card", data: { number: CANARY } } });
    tokenId = made.body.id;
    await backEnd("GET", `/tokens/${tokenId}`);
    await backEnd("GET", `/tokens/${CANARY}`);
    await backEnd("GET", `/no/such/path?secret=${CANARY}`);
    await backEnd("GET", `/tokens/%ff${CANARY}`);
    for (let round = 0; round < 5; round += 1) await backEnd("POST", "/tokens/search", { body: { query: CANARY } });
    const tokens = rpcClient(TokenService, "gRPC", { url: server.url, key: backEnd.key });
    await tokens.getToken({ id: tokenId });
    await failureOf(tokens.getToken({ id: "none" }));
    const code = "module.exports = async () => ({ raw: { done: true } });";
    const reactor = await tenant.manage("POST", "/reactors", { body: { name: "R", code } });
    const reacting = await tenant.application({ type: "private", permissions: ["token:use"] });
    await reacting("POST", `/reactors/${reactor.body.id}/react`, { body: { args: {} } });
  });
  afterAll(() => server[Symbol.asyncDispose]());

  const scrape = async (): Promise<string> => {
    const response = await fetch(`${server.adminUrl}/metrics`);
    expect(response.headers.get("content-type")).toMatch(/^text\/plain; version=0\.0\.4/);
    return response.text();
  };
  /** The values of a metric with at least these labels. */
  const valuesOf = (page: string, name: string, labels: Record<string, string>): number[] =>
    page.split("\n").flatMap((line) => {
      const [, metric, inside = "", value] = /^(\w+)(?:\{(.*)\})? (\S+)$/.exec(line) ?? [];
      const fits = Object.entries(labels).every(([label, wanted]) => inside.includes(`${label}="${wanted}"`));
      return metric === name && fits ? [Number(value)] : [];
    });

  it("is not on the main port", async () => {
    expect(await restClient(server.url)("GET", "/metrics")).toMatchObject({ status: 404 });
  });

  it("counts requests by method, route template and status, and calls by method and code", async () => {
    const page = await scrape();
    const requests = (route: string, status: string) =>
      valuesOf(page, "http_server_request_duration_seconds_count", {
        http_route: route,
        http_response_status_code: status,
      });
    expect(requests("/tokens", "201")).toEqual([1]);
    expect(requests("/tokens/{id}", "200")).toEqual([1]);
    expect(requests("/tokens/{id}", "404")).toEqual([1]);
    expect(requests("other", "404")[0]).toBeGreaterThanOrEqual(1);
    expect(requests("other", "400")).toEqual([1]);
    expect(requests("/tokens/search", "400")).toEqual([3]);
    expect(requests("/tokens/search", "429")).toEqual([2]);
    const calls = (code: string) =>
      valuesOf(page, "rpc_server_call_duration_seconds_count", { rpc_method: "GetToken", code });
    expect([calls("ok"), calls("not_found")]).toEqual([[1], [1]]);
    expect(valuesOf(page, "cloakroom_operations_total", { rpc_method: "GetToken", code: "ok" })).toEqual([2]);
    expect(valuesOf(page, "cloakroom_rate_limited_total", { scope: "token_search" })).toEqual([2]);
  });

  it("reports connections, shared transactions, background work, the sandbox, the event loop and the process", async () => {
    const page = await scrape();
    const pool = (name: string) => valuesOf(page, name, { db_client_connection_pool_name: "shared" })[0];
    expect(pool("db_client_connection_max")).toBe(8);
    expect(pool("db_client_connection_count")).toBe(0);
    const transactions = pool("cloakroom_shared_transactions_total");
    const requests = pool("cloakroom_shared_transaction_requests_total");
    expect(transactions).toBeGreaterThan(0);
    expect(requests).toBeGreaterThanOrEqual(transactions ?? 0);
    expect(valuesOf(page, "cloakroom_due_age_seconds", { kind: "token" })).toEqual([0]);
    expect(valuesOf(page, "cloakroom_audit_incidents_total", { reason: "broken" })).toEqual([0]);
    expect(valuesOf(page, "cloakroom_sandbox_runs_total", { outcome: "returned" })).toEqual([1]);
    expect(valuesOf(page, "cloakroom_sandbox_run_duration_seconds_bucket", { le: "+Inf" })).toEqual([1]);
    expect(valuesOf(page, "cloakroom_sandbox_run_duration_seconds_count", {})).toEqual([1]);
    expect(valuesOf(page, "nodejs_eventloop_lag_p99_seconds", {})[0]).toBeGreaterThan(0);
    expect(valuesOf(page, "process_resident_memory_bytes", {})[0]).toBeGreaterThan(1e7);
  });

  it("reports rejected bodies, their memory, and the event loop's longest block", async () => {
    const refused = await restClient(server.url, applicationKey)("POST", "/tokens", { raw: `${"[".repeat(70)}` });
    expect(refused.status).toBe(400);
    const page = await scrape();
    expect(valuesOf(page, "cloakroom_bodies_refused_total", { reason: "structure" })).toEqual([1]);
    expect(valuesOf(page, "cloakroom_bodies_refused_total", { reason: "no_memory" })).toEqual([0]);
    expect(valuesOf(page, "cloakroom_body_memory_free_bytes", { size: "large" })).toEqual([8 * 8 * 5 * 1024 * 1024]);
    const small = ["unproven", "sign_in"].flatMap((size) =>
      valuesOf(page, "cloakroom_body_memory_free_bytes", { size }),
    );
    expect(small).toEqual([4 * 1024 * 1024, 4 * 1024 * 1024]);
    expect(valuesOf(page, "cloakroom_bodies_waiting", { size: "small" })).toEqual([0]);
    expect(valuesOf(page, "cloakroom_event_loop_hold_seconds", {})[0]).toBeGreaterThan(0);
  });

  it("counts the work of jobs", async () => {
    await vi.waitFor(
      async () => {
        const page = await scrape();
        const runs = valuesOf(page, "cloakroom_job_duration_seconds_count", { outcome: "done" });
        expect(runs.length).toBeGreaterThan(0);
        expect(page).toMatch(/^cloakroom_job_duration_seconds_count\{name="\w+",outcome="done"\} /m);
      },
      { interval: 500 },
    );
  });

  it("names no tenant and shows nothing that was sent", async () => {
    const page = await scrape();
    for (const secret of [CANARY, tokenId, tenant.id, applicationKey, tenant.managementKey, "/no/such/path"]) {
      expect(page).not.toContain(secret);
    }
    const labels = new Set([...page.matchAll(/[{,](\w+)="/g)].map(([, name]) => name));
    expect([...labels].sort()).toEqual(
      [
        ...["db_client_connection_state", "name"],
        ...["code", "db_client_connection_pool_name", "http_request_method", "http_response_status_code", "http_route"],
        ...["kind", "le", "major", "minor", "outcome", "patch", "rpc_method", "scope", "space"],
        ...["commit", "node", "reason", "size", "type", "version"],
      ].sort(),
    );
  });
});
