import { readFileSync } from "node:fs";
import { join } from "node:path";
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { encodeEnvelope } from "@connectrpc/connect/protocol";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import {
  Health,
  HealthCheckRequestSchema,
  HealthCheckResponseSchema,
  HealthCheckResponse_ServingStatus as Status,
} from "../../../gen/health/v1/health_pb.js";
import { restClient } from "../../support/rest.js";
import { failureOf, RPC_PROTOCOLS, rpcClient } from "../../support/rpc.js";
import { type ServerProcess, startServerProcess } from "../../support/server.js";

describe("the health of the server", () => {
  let server: ServerProcess;
  beforeAll(async () => {
    server = await startServerProcess();
  });
  afterAll(() => server[Symbol.asyncDispose]());

  it("is served on the main port and on the operator's, without a key", async () => {
    for (const url of [server.url, server.adminUrl]) {
      const client = restClient(url);
      expect(await client("GET", "/healthz")).toMatchObject({ status: 200, body: { status: "ok" } });
      expect(await client("GET", "/readyz")).toMatchObject({
        status: 200,
        body: { status: "ready", checks: { serving: "ok", database: "ok", keys: "ok", clock: "ok" } },
      });
      expect(await client("HEAD", "/readyz")).toMatchObject({ status: 200, body: "" });
    }
  });

  it.each(RPC_PROTOCOLS)("is served over %s, for the whole and for each service", async (protocol) => {
    const health = rpcClient(Health, protocol, { url: server.url });
    expect(await health.check({})).toMatchObject({ status: Status.SERVING });
    expect(await health.check({ service: "cloakroom.v1.TokenService" })).toMatchObject({ status: Status.SERVING });
    expect(await failureOf(health.check({ service: "cloakroom.v1.Nope" }))).toMatchObject({ code: "NotFound" });
  });

  it.each([
    ["the whole server", "", "0"],
    ["a service", "cloakroom.v1.TokenService", "0"],
    ["a service that does not exist", "cloakroom.v1.Nope", "5"],
    ["a name that is too long", "x".repeat(17_000), "8"],
  ])("is served over gRPC-Web as text: of %s", async (_, service, status) => {
    const message = toBinary(HealthCheckRequestSchema, create(HealthCheckRequestSchema, { service }));
    const { frames, type } = await checkAsText(server.url, Buffer.from(encodeEnvelope(0, message)).toString("base64"));
    expect(type).toBe("application/grpc-web-text+proto");
    const trailer = frames.at(-1);
    expect([trailer?.flags, trailer?.data.toString()]).toEqual([
      128,
      expect.stringMatching(`grpc-status: ${status}\r\n`),
    ]);
    const served = frames.slice(0, -1).map(({ data }) => fromBinary(HealthCheckResponseSchema, data).status);
    expect(served).toEqual(status === "0" ? [Status.SERVING] : []);
  });

  it("rejects what is not base64, over gRPC-Web as text", async () => {
    const { frames } = await checkAsText(server.url, "AAAA*AAA");
    expect(frames.map(({ data }) => data.toString())).toEqual([expect.stringContaining("grpc-status: 3\r\n")]);
  });

  it.each(RPC_PROTOCOLS)("rejects a long service name over %s, without requiring a key", async (protocol) => {
    const health = rpcClient(Health, protocol, { url: server.url });
    const failure = await failureOf(health.check({ service: "x".repeat(17_000) }));
    expect(failure).toMatchObject({ code: "ResourceExhausted" });
  });

  it("is streamed to watchers when it changes, until the server stops", async () => {
    const own = await startServerProcess();
    try {
      const health = rpcClient(Health, "gRPC", { url: own.url });
      const seen: Status[] = [];
      const watching = (async () => {
        for await (const { status } of health.watch({})) {
          seen.push(status);
          if (seen.length === 1) void own.stop();
        }
      })();
      await watching;
      expect(seen).toEqual([Status.SERVING, Status.NOT_SERVING]);
      expect(await own.stop()).toBe(0);
    } finally {
      await own[Symbol.asyncDispose]();
    }
  });

  it("is unknown to a watcher for a service that does not exist", async () => {
    const stop = new AbortController();
    const health = rpcClient(Health, "gRPC", { url: server.url });
    for await (const { status } of health.watch({ service: "cloakroom.v1.Nope" }, { signal: stop.signal })) {
      expect(status).toBe(Status.SERVICE_UNKNOWN);
      break;
    }
    stop.abort();
  });

  it("is not ready while the database does not respond, and alive all the same", async () => {
    const client = restClient(server.url);
    const processes = databaseProcesses(server.environment.CLOAKROOM_DATA_DIR ?? "");
    for (const pid of processes) process.kill(pid, "SIGSTOP");
    try {
      expect(await client("GET", "/readyz")).toMatchObject({
        status: 503,
        body: { status: "not ready", checks: { serving: "ok", database: "does not respond" } },
      });
      expect(await client("GET", "/healthz")).toMatchObject({ status: 200 });
      const health = rpcClient(Health, "gRPC", { url: server.url });
      expect(await health.check({})).toMatchObject({ status: Status.NOT_SERVING });
      // The operator sees which job failed, why, and when it is retried.
      const failures = () => server.said().match(/^.*"a job failed and will be tried again".*$/gm) ?? [];
      await vi.waitFor(() => expect(failures()).not.toEqual([]), { interval: 200 });
      expect(JSON.parse(failures()[0] ?? "{}")).toMatchObject({
        level: 40,
        job: expect.stringMatching(/^[a-z ]+$/),
        cause: expect.stringMatching(/^database [A-Z_]+$/),
        attempt: 1,
        next_at: expect.stringMatching(/^\d{4}-\d{2}-\d{2}T/),
      });
    } finally {
      for (const pid of processes) process.kill(pid, "SIGCONT");
    }
    await vi.waitFor(async () => expect(await client("GET", "/readyz")).toMatchObject({ status: 200 }));
  });
});

/** PostgreSQL and its connection processes. */
function databaseProcesses(dataDir: string): number[] {
  const postmaster = Number(readFileSync(join(dataDir, "pg18", "data", "postmaster.pid"), "utf8").split("\n", 1)[0]);
  const children = readFileSync(`/proc/${postmaster}/task/${postmaster}/children`, "utf8")
    .trim()
    .split(" ")
    .map(Number);
  return [...children, postmaster];
}

/** Sends a health check in gRPC-Web's text form. Each frame of the response may be padded by itself. */
async function checkAsText(url: string, body: string) {
  const response = await fetch(`${url}/grpc.health.v1.Health/Check`, {
    ...{ method: "POST", body, headers: { "content-type": "application/grpc-web-text", "x-grpc-web": "1" } },
  });
  const pieces = (await response.text()).match(/[^=]+=*/g) ?? [];
  const bytes = Buffer.concat(pieces.map((piece) => Buffer.from(piece, "base64")));
  const frames: { flags: number; data: Buffer }[] = [];
  for (let at = 0; at < bytes.length; ) {
    const end = at + 5 + bytes.readUInt32BE(at + 1);
    frames.push({ flags: bytes.readUInt8(at), data: bytes.subarray(at + 5, end) });
    at = end;
  }
  return { frames, type: response.headers.get("content-type") };
}
