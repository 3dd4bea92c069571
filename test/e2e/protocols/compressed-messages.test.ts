import { randomBytes } from "node:crypto";
import { constants, gzipSync } from "node:zlib";
import { create, toBinary } from "@bufbuild/protobuf";
import { encodeEnvelope } from "@connectrpc/connect/protocol";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { CreateTokenRequestSchema } from "../../../gen/cloakroom/v1/tokens_pb.js";
import { toValue } from "../../../src/services/value.js";
import { ServerCounters } from "../../support/counters.js";
import { type ServerProcess, startServerProcess } from "../../support/server.js";
import { firstTenant } from "../../support/tenant.js";

const MB = 1024 * 1024;
/** The largest message, less what surrounds its data. */
const LARGEST = 5 * MB - 100;
const MAX_MEMORY_MB = 600;

let server: ServerProcess;
let counters: ServerCounters;
let applicationKey: string;
let sessionKey: string;
let freeMemory: number;

const free = () => counters.metric("cloakroom_body_memory_free_bytes");

beforeAll(async () => {
  server = await startServerProcess();
  counters = new ServerCounters(server);
  const tenant = await firstTenant(server);
  const backEnd = await tenant.backEnd();
  const page = await tenant.application({ type: "public", permissions: ["token:create"] });
  const { body: session } = await page("POST", "/sessions");
  await backEnd("POST", "/sessions/authorize", { body: { nonce: session.nonce, permissions: ["token:create"] } });
  [applicationKey, sessionKey] = [backEnd.key, String(session.session_key)];
  freeMemory = await free();
});
afterAll(() => server?.[Symbol.asyncDispose]());

/** Text of which gzip saves a quarter. */
const incompressible = (size: number) => randomBytes(Math.floor((size * 3) / 4)).toString("base64");

function packed(data: string): Buffer<ArrayBuffer> {
  const request = create(CreateTokenRequestSchema, { type: "token", data: toValue(data) });
  return gzipSync(toBinary(CreateTokenRequestSchema, request), { level: constants.Z_BEST_SPEED });
}

/** Creates a token over Connect, whose bodies announce their length, or gRPC-Web, whose bodies do not. */
async function createToken(key: string, message: Buffer<ArrayBuffer>, protocol: "Connect" | "gRPC-Web") {
  const isConnect = protocol === "Connect";
  const response = await fetch(`${server.url}/cloakroom.v1.TokenService/CreateToken`, {
    ...{ method: "POST", duplex: "half" },
    headers: {
      "bt-api-key": key,
      "content-type": isConnect ? "application/proto" : "application/grpc-web+proto",
      [isConnect ? "content-encoding" : "grpc-encoding"]: "gzip",
    },
    body: isConnect ? message : new Blob([encodeEnvelope(1, message)]).stream(),
  });
  const text = Buffer.from(await response.arrayBuffer()).toString("latin1");
  return isConnect ? `status ${response.status}` : /grpc-status: ?\d+/.exec(`${text}${statusIn(response)}`)?.[0];
}

function statusIn({ headers }: Response): string {
  return `grpc-status: ${headers.get("grpc-status")}`;
}

describe.each([
  ["Connect", "status 200"],
  ["gRPC-Web", "grpc-status: 0"],
] as const)("compressed messages over %s", (protocol, success) => {
  it.each([
    ["64 KB and more", 70_000],
    ["a megabyte", MB],
    ["5 MB", LARGEST],
  ])("are served to a session at %s, whether they compress well or not", async (_, size) => {
    expect(await createToken(sessionKey, packed("x".repeat(size)), protocol)).toBe(success);
    expect(await createToken(sessionKey, packed(incompressible(size)), protocol)).toBe(success);
    await expect.poll(free).toBe(freeMemory);
  });

  it("wait for each other's memory, of a session and of an application, and are all served", async () => {
    const messages = [packed("x".repeat(LARGEST)), packed(incompressible(LARGEST))];
    const sent = [sessionKey, applicationKey].flatMap((key) =>
      Array.from({ length: 3 }, () => messages.map((message) => createToken(key, message, protocol))).flat(),
    );
    expect(new Set(await Promise.all(sent))).toEqual(new Set([success]));
    await expect.poll(free).toBe(freeMemory);
    expect(counters.peakMemory()).toBeLessThan(MAX_MEMORY_MB);
  });
});
