import { type ClientHttp2Session, connect, type IncomingHttpHeaders } from "node:http2";
import { create, toBinary } from "@bufbuild/protobuf";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ListApplicationsRequestSchema, PermissionService } from "../../gen/cloakroom/v1/applications_pb.js";
import {
  CreateTokenRequestSchema,
  GetTokenRequestSchema,
  UpdateTokenRequestSchema,
} from "../../gen/cloakroom/v1/tokens_pb.js";
import { toValue } from "../../src/services/value.js";
import { type Replica, startReplica } from "../support/replica.js";
import { type ServerProcess, startServerProcess } from "../support/server.js";
import { firstTenant } from "../support/tenant.js";

interface Exchange {
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  readonly trailers: IncomingHttpHeaders;
}

interface Sent {
  readonly path: string;
  readonly body: Buffer;
  readonly headers?: Readonly<Record<string, string>>;
}

const TRACE = { "bt-trace-id": "one-trace" };

/** The same data served twice: with the lane, and by Connect's handlers alone. */
let lane: ServerProcess;
let connectOnly: Replica;
const sessions: ClientHttp2Session[] = [];
let key: string;
let powerless: string;
let token: string;

beforeAll(async () => {
  lane = await startServerProcess({ RATE_LIMITS: "off" });
  const tenant = await firstTenant(lane);
  ({ key } = await tenant.backEnd());
  ({ key: powerless } = await tenant.application({ type: "private", permissions: ["token:read"] }));
  const client = await tenant.backEnd();
  const data = { number: "4242424242424242", expiration_month: 12, expiration_year: 2030 };
  token = (await client("POST", "/tokens", { body: { type: "card", data, metadata: { a: "b" } } })).body.id;
  // A clean stop, then the other on the same data: one database has one server.
});
afterAll(async () => {
  for (const session of sessions) session.destroy();
  await connectOnly?.stop();
  await lane[Symbol.asyncDispose]();
});

function framed(message: Uint8Array, flags = 0): Buffer {
  const prefix = Buffer.alloc(5);
  prefix.writeUInt8(flags, 0);
  prefix.writeUInt32BE(message.length, 1);
  return Buffer.concat([prefix, message]);
}

function exchange(session: ClientHttp2Session, { path, body, headers = {} }: Sent): Promise<Exchange> {
  return new Promise((resolve, reject) => {
    const stream = session.request({
      ":method": "POST",
      ":path": path,
      "content-type": "application/grpc",
      te: "trailers",
      ...headers,
    });
    const chunks: Buffer[] = [];
    let head: IncomingHttpHeaders = {};
    let trailers: IncomingHttpHeaders = {};
    stream.on("response", (received) => (head = received));
    stream.on("trailers", (received) => (trailers = received));
    stream.on("data", (chunk: Buffer) => chunks.push(chunk));
    stream.on("end", () => resolve({ headers: head, trailers, body: Buffer.concat(chunks).toString("hex") }));
    stream.on("error", reject);
    stream.end(body);
  });
}

const get = (id: string) => framed(toBinary(GetTokenRequestSchema, create(GetTokenRequestSchema, { id })));
const createToken = (data: unknown) =>
  framed(
    toBinary(
      CreateTokenRequestSchema,
      create(CreateTokenRequestSchema, { type: "card", data: toValue(JSON.parse(JSON.stringify(data))) }),
    ),
  );

const TOKENS = "/cloakroom.v1.TokenService";

/** Requests that change nothing, so that both servers can be asked the same. */
function recorded(): readonly (readonly [string, Sent])[] {
  const auth = { ...TRACE, "bt-api-key": key };
  const path = `${TOKENS}/GetToken`;
  const listing = framed(toBinary(ListApplicationsRequestSchema, create(ListApplicationsRequestSchema, { size: 2 })));
  return [
    ["an answer", { path, headers: auth, body: get(token) }],
    [
      "the full content type",
      { path, headers: { ...auth, "content-type": "application/grpc+proto" }, body: get(token) },
    ],
    ["a deadline", { path, headers: { ...auth, "grpc-timeout": "5S" }, body: get(token) }],
    ["a binary header", { path, headers: { ...auth, "extra-bin": "AAEC" }, body: get(token) }],
    ["an origin", { path, headers: { ...auth, origin: "https://shop.example.com" }, body: get(token) }],
    [
      "an empty message",
      { path: `/${PermissionService.typeName}/ListPermissions`, headers: auth, body: framed(Buffer.alloc(0)) },
    ],
    ["an empty message where fields are needed", { path, headers: auth, body: framed(Buffer.alloc(0)) }],
    ["a token that is not there", { path, headers: auth, body: get("00000000-0000-4000-8000-000000000000") }],
    ["a wrong id", { path, headers: auth, body: get("?") }],
    ["wrong card data", { path: `${TOKENS}/CreateToken`, headers: auth, body: createToken({ number: "4242" }) }],
    [
      "an empty mask",
      {
        path: `${TOKENS}/UpdateToken`,
        headers: auth,
        body: framed(toBinary(UpdateTokenRequestSchema, create(UpdateTokenRequestSchema, { id: token }))),
      },
    ],
    ["no key", { path, headers: TRACE, body: get(token) }],
    ["a malformed key", { path, headers: { ...TRACE, "bt-api-key": "key_nonsense" }, body: get(token) }],
    [
      "too few rights",
      { path: `${TOKENS}/CreateToken`, headers: { ...TRACE, "bt-api-key": powerless }, body: createToken({}) },
    ],
    [
      "rights for none of it",
      { path: "/cloakroom.v1.ApplicationService/ListApplications", headers: auth, body: listing },
    ],
    ["no message", { path, headers: auth, body: Buffer.alloc(0) }],
    ["two messages", { path, headers: auth, body: Buffer.concat([get(token), get(token)]) }],
    ["a cut prefix", { path, headers: auth, body: get(token).subarray(0, 3) }],
    ["a cut message", { path, headers: auth, body: get(token).subarray(0, 20) }],
    ["a message that is none", { path, headers: auth, body: framed(Buffer.from([255, 255, 255])) }],
    ["a flag of compression", { path, headers: auth, body: framed(Buffer.from([1]), 1) }],
    ["a length above the limit", { path, headers: auth, body: Buffer.from([0, 127, 255, 255, 255, 1]) }],
    ["a message above the limit", { path, headers: auth, body: framed(Buffer.alloc(5 * 1024 * 1024 + 1)) }],
    ["a compression that is unknown", { path, headers: { ...auth, "grpc-encoding": "lzma" }, body: get(token) }],
    ["a deadline that is none", { path, headers: { ...auth, "grpc-timeout": "soon" }, body: get(token) }],
    [
      "JSON",
      {
        path,
        headers: { ...auth, "content-type": "application/grpc+json" },
        body: framed(Buffer.from(JSON.stringify({ id: token }))),
      },
    ],
    ["a method that is none", { path: `${TOKENS}/Nothing`, headers: auth, body: get(token) }],
  ];
}

async function record(url: string): Promise<Map<string, Exchange>> {
  const session = connect(url);
  sessions.push(session);
  const answers = new Map<string, Exchange>();
  for (const [name, sent] of recorded()) {
    const { headers, ...rest } = await exchange(session, sent);
    const { date: _, ...stable } = headers;
    answers.set(name, { ...rest, headers: stable });
  }
  return answers;
}

describe("the unary lane", () => {
  it("answers as Connect's handlers do, byte for byte", async () => {
    const short = await record(lane.url);
    await lane.stop();
    connectOnly = await startReplica({
      ...lane.environment,
      CLOAKROOM_PORT: "0",
      CLOAKROOM_ADMIN_PORT: "0",
      CLOAKROOM_RPC_LANE: "off",
    });
    const long = await record(connectOnly.url);
    expect(Object.fromEntries(short)).toEqual(Object.fromEntries(long));
    expect(short.get("an answer")?.trailers["grpc-status"]).toBe("0");
    expect(short.get("no key")?.trailers["grpc-status"]).toBe("16");
  });
});
