import { Agent, request as sendHttp1 } from "node:http";
import { type ClientHttp2Session, connect } from "node:http2";
import { create, type DescMessage, type MessageInitShape, toBinary, toJsonString } from "@bufbuild/protobuf";
import { encodeEnvelope } from "@connectrpc/connect/protocol";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  ApplicationService,
  ListApplicationsRequestSchema,
  ListPermissionsRequestSchema,
  PermissionService,
} from "../../../gen/cloakroom/v1/applications_pb.js";
import {
  CreateTokenRequestSchema,
  GetTokenRequestSchema,
  TokenService,
  UpdateTokenRequestSchema,
} from "../../../gen/cloakroom/v1/tokens_pb.js";
import { toValue } from "../../../src/services/value.js";
import { type ServerHere, startServerHere } from "../../support/server-here.js";
import { newTenant } from "../../support/tenant.js";

type Headers = Readonly<Record<string, string>>;

interface Exchange {
  readonly status: number;
  readonly headers: Record<string, unknown>;
  readonly body: string;
  readonly trailers: Record<string, unknown>;
}

interface Sent {
  readonly path: string;
  readonly headers: Headers;
  readonly body: Uint8Array;
}

/** A way to send calls that both the fast path and Connect's handlers serve. */
interface Dialect {
  readonly http: 1 | 2;
  readonly headers: Headers;
  readonly timeout: string;
  readonly encoding: string;
  readonly frames: boolean;
  write<Desc extends DescMessage>(desc: Desc, message: MessageInitShape<Desc>): Uint8Array;
}

const grpc = { timeout: "grpc-timeout", encoding: "grpc-encoding", frames: true } as const;
const connectRpc = { timeout: "connect-timeout-ms", encoding: "content-encoding", frames: false } as const;
const binary: Dialect["write"] = (desc, message) => toBinary(desc, create(desc, message));
const inFrame: Dialect["write"] = (desc, message) => encodeEnvelope(0, toBinary(desc, create(desc, message)));
const json: Dialect["write"] = (desc, message) => Buffer.from(toJsonString(desc, create(desc, message)));

const DIALECTS: readonly (readonly [string, Dialect])[] = [
  ["gRPC", { ...grpc, http: 2, headers: { "content-type": "application/grpc", te: "trailers" }, write: inFrame }],
  [
    "gRPC by its full name",
    { ...grpc, http: 2, headers: { "content-type": "application/grpc+proto", te: "trailers" }, write: inFrame },
  ],
  [
    "gRPC-Web, HTTP/1.1",
    { ...grpc, http: 1, headers: { "content-type": "application/grpc-web+proto" }, write: inFrame },
  ],
  ["gRPC-Web, HTTP/2", { ...grpc, http: 2, headers: { "content-type": "application/grpc-web" }, write: inFrame }],
  ["Connect, HTTP/1.1", { ...connectRpc, http: 1, headers: { "content-type": "application/proto" }, write: binary }],
  ["Connect, HTTP/2", { ...connectRpc, http: 2, headers: { "content-type": "application/proto" }, write: binary }],
  [
    "Connect in JSON",
    {
      ...{ ...connectRpc, http: 1, write: json },
      headers: { "content-type": "application/json", "connect-protocol-version": "1" },
    },
  ],
];

/** The same data served twice: with the fast path, and by Connect's handlers alone. */
let server: ServerHere;
let connectOnly: ServerHere;
let key: string;
let powerless: string;
let token: string;
const sessions: ClientHttp2Session[] = [];
const agent = new Agent({ keepAlive: true });
const responses = { short: new Map<string, Exchange>(), long: new Map<string, Exchange>() };

beforeAll(async () => {
  server = await startServerHere({ RATE_LIMITS: "off" });
  const tenant = await newTenant(server.url, server.environment);
  ({ key } = await tenant.backEnd());
  ({ key: powerless } = await tenant.application({ type: "private", permissions: ["token:read"] }));
  const client = await tenant.backEnd();
  const data = { number: "4242424242424242", expiration_month: 12, expiration_year: 2030 };
  token = (await client("POST", "/tokens", { body: { type: "card", data, metadata: { a: "b" } } })).body.id;
  await record(server.url, responses.short);
  // A clean stop, then the other server on the same data: a database directory has one server.
  await server.stop();
  connectOnly = await startServerHere(
    { DATA_DIR: server.environment.CLOAKROOM_DATA_DIR ?? "" },
    { configure: () => ({ rpcFastPath: false }) },
  );
  await record(connectOnly.url, responses.long);
});
afterAll(async () => {
  for (const session of sessions) session.destroy();
  agent.destroy();
  await connectOnly?.[Symbol.asyncDispose]();
  await server?.[Symbol.asyncDispose]();
});

function overHttp2(session: ClientHttp2Session, { path, headers, body }: Sent): Promise<Exchange> {
  return new Promise((resolve, reject) => {
    const stream = session.request({ ":method": "POST", ":path": path, ...headers });
    const chunks: Buffer[] = [];
    let head: Record<string, unknown> = {};
    let trailers: Record<string, unknown> = {};
    stream.on("response", (received) => (head = { ...received }));
    stream.on("trailers", (received) => (trailers = { ...received }));
    stream.on("data", (chunk: Buffer) => chunks.push(chunk));
    stream.on("end", () =>
      resolve({
        status: Number(head[":status"]),
        headers: head,
        trailers,
        body: Buffer.concat(chunks).toString("latin1"),
      }),
    );
    stream.on("error", reject);
    stream.end(body);
  });
}

function overHttp1(url: string, { path, headers, body }: Sent): Promise<Exchange> {
  return new Promise((resolve, reject) => {
    const request = sendHttp1(new URL(path, url), { method: "POST", agent, headers }, (response) => {
      const chunks: Buffer[] = [];
      response.on("data", (chunk: Buffer) => chunks.push(chunk));
      response.on("end", () =>
        resolve({
          status: response.statusCode ?? 0,
          headers: { ...response.headers },
          trailers: { ...response.trailers },
          body: Buffer.concat(chunks).toString("latin1"),
        }),
      );
    });
    request.on("error", reject);
    request.end(body);
  });
}

const pathOf = ({ typeName }: { readonly typeName: string }, method: string) => `/${typeName}/${method}`;

/** Requests that change nothing, so both servers can get the same. */
function recorded({ write, headers, timeout, encoding, frames }: Dialect): readonly (readonly [string, Sent])[] {
  const accepting = frames ? "grpc-accept-encoding" : "accept-encoding";
  const trace = { ...headers, "bt-trace-id": "one-trace" };
  const auth = { ...trace, "bt-api-key": key };
  const path = pathOf(TokenService, "GetToken");
  const createToken = pathOf(TokenService, "CreateToken");
  const get = (id: string) => write(GetTokenRequestSchema, { id });
  const card = (data: unknown) =>
    write(CreateTokenRequestSchema, { type: "card", data: toValue(JSON.parse(JSON.stringify(data))) });
  const all: (readonly [string, Sent])[] = [
    ["a response", { path, headers: auth, body: get(token) }],
    ["a deadline", { path, headers: { ...auth, [timeout]: frames ? "20S" : "20000" }, body: get(token) }],
    ["a response that may be compressed", { path, headers: { ...auth, [accepting]: "gzip, br" }, body: get(token) }],
    [
      "a long refusal that may be compressed",
      {
        path: createToken,
        headers: { ...auth, [accepting]: "gzip" },
        body: card(Object.fromEntries(Array.from({ length: 30 }, (_, index) => [`unknown_${index}`, 1]))),
      },
    ],
    ["a deadline above ours", { path, headers: { ...auth, [timeout]: frames ? "1H" : "3600000" }, body: get(token) }],
    ["a binary header", { path, headers: { ...auth, "extra-bin": "AAEC" }, body: get(token) }],
    ["an origin", { path, headers: { ...auth, origin: "https://shop.example.com" }, body: get(token) }],
    [
      "an empty message",
      {
        path: pathOf(PermissionService, "ListPermissions"),
        headers: auth,
        body: write(ListPermissionsRequestSchema, {}),
      },
    ],
    ["an empty message where fields are needed", { path, headers: auth, body: write(GetTokenRequestSchema, {}) }],
    ["a token that is not there", { path, headers: auth, body: get("00000000-0000-4000-8000-000000000000") }],
    ["a wrong id", { path, headers: auth, body: get("?") }],
    ["wrong card data", { path: createToken, headers: auth, body: card({ number: "4242" }) }],
    [
      "an empty mask",
      {
        path: pathOf(TokenService, "UpdateToken"),
        headers: auth,
        body: write(UpdateTokenRequestSchema, { id: token }),
      },
    ],
    ["no key", { path, headers: trace, body: get(token) }],
    ["a malformed key", { path, headers: { ...trace, "bt-api-key": "key_nonsense" }, body: get(token) }],
    ["missing permissions", { path: createToken, headers: { ...trace, "bt-api-key": powerless }, body: card({}) }],
    [
      "no permission for any of it",
      {
        path: pathOf(ApplicationService, "ListApplications"),
        headers: auth,
        body: write(ListApplicationsRequestSchema, { size: 2 }),
      },
    ],
    ["no body", { path, headers: auth, body: Buffer.alloc(0) }],
    ["a compression that is unknown", { path, headers: { ...auth, [encoding]: "lzma" }, body: get(token) }],
    ["an invalid deadline", { path, headers: { ...auth, [timeout]: "soon" }, body: get(token) }],
    ["an invalid method", { path: pathOf(TokenService, "Nothing"), headers: auth, body: get(token) }],
    ["bytes that are not a message", { path, headers: auth, body: Buffer.from([255, 255, 255]) }],
    ["JSON of another type", { path, headers: auth, body: Buffer.from('{"id":7}') }],
    ["a number that a double does not keep", { path, headers: auth, body: Buffer.from('{"id":1e400}') }],
    ["a body above the limit", { path, headers: auth, body: Buffer.alloc(5 * 1024 * 1024 + 6, " ") }],
  ];
  if (!frames) return all;
  const framesOnly: [string, Uint8Array][] = [
    ["two messages", Buffer.concat([get(token), get(token)])],
    ["two messages, the first none", Buffer.concat([encodeEnvelope(0, Buffer.from([255])), get(token)])],
    ["two messages, the second none", Buffer.concat([get(token), encodeEnvelope(0, Buffer.from([255]))])],
    ["two messages, the second compressed", Buffer.concat([get(token), encodeEnvelope(1, Buffer.from([1]))])],
    ["two messages, the second cut", Buffer.concat([get(token), get(token).subarray(0, 20)])],
    ["more than a message", Buffer.concat([get(token), Buffer.from([0])])],
    ["a flag that means nothing", encodeEnvelope(2, get(token).subarray(5))],
    ["a message and trailers", Buffer.concat([get(token), encodeEnvelope(0x80, Buffer.from("a: b\r\n"))])],
    ["trailers alone", encodeEnvelope(0x80, Buffer.from("a: b\r\n"))],
    ["a cut prefix", get(token).subarray(0, 3)],
    ["a cut message", get(token).subarray(0, 20)],
    ["an invalid message", encodeEnvelope(0, Buffer.from([255, 255, 255]))],
    ["a flag of compression", encodeEnvelope(1, Buffer.from([1]))],
    ["a length above the limit", Buffer.from([0, 127, 255, 255, 255, 1])],
  ];
  return [...all, ...framesOnly.map(([name, body]) => [name, { path, headers: auth, body }] as const)];
}

/** Connection headers and chunk boundaries are not part of the protocol. */
const OF_THE_CONNECTION = ["date", "transfer-encoding", "content-length", "keep-alive"];

async function record(url: string, into: Map<string, Exchange>): Promise<void> {
  const session = connect(url);
  sessions.push(session);
  for (const [dialectName, dialect] of DIALECTS) {
    for (const [name, sent] of recorded(dialect)) {
      const exchange = await (dialect.http === 2 ? overHttp2(session, sent) : overHttp1(url, sent));
      const headers = Object.fromEntries(
        Object.entries(exchange.headers).filter(([header]) => !OF_THE_CONNECTION.includes(header)),
      );
      into.set(`${dialectName}: ${name}`, { ...exchange, headers });
    }
  }
}

describe("the unary fast path answers as Connect's handlers do, byte for byte", () => {
  it.each(DIALECTS)("%s", (dialect) => {
    const of = (all: ReadonlyMap<string, Exchange>) =>
      Object.fromEntries([...all].filter(([name]) => name.startsWith(`${dialect}: `)));
    expect(of(responses.short)).toEqual(of(responses.long));
    expect(Object.keys(of(responses.short)).length).toBeGreaterThan(20);
  });

  it("gives the expected responses", () => {
    expect(responses.short.get("gRPC: a response")?.trailers["grpc-status"]).toBe("0");
    expect(responses.short.get("gRPC: no key")?.trailers["grpc-status"]).toBe("16");
    expect(responses.short.get("gRPC-Web, HTTP/1.1: a response")?.body).toContain(token);
    expect(responses.short.get("Connect in JSON: no key")).toMatchObject({ status: 401 });
    expect(JSON.parse(responses.short.get("Connect in JSON: a response")?.body ?? "")).toMatchObject({ id: token });
  });
});
