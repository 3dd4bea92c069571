import { connect } from "node:http2";
import { create, type DescMessage, type MessageInitShape, toBinary, toJsonString } from "@bufbuild/protobuf";
import { encodeEnvelope } from "@connectrpc/connect/protocol";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { CreateTokenRequestSchema, GetTokenRequestSchema, TokenSchema } from "../../../gen/cloakroom/v1/tokens_pb.js";
import { readBinaryMessage } from "../../../src/api/rpc/read-message.js";
import { toValue } from "../../../src/services/value.js";
import { newTenant, type TestTenant } from "../../support/tenant.js";

let tenant: TestTenant;
let backEnd: Awaited<ReturnType<TestTenant["backEnd"]>>;
let session: ReturnType<typeof connect>;
beforeAll(async () => {
  tenant = await newTenant();
  backEnd = await tenant.backEnd();
  session = connect(inject("serverUrl"));
});
afterAll(() => session.destroy());

interface Exchange {
  readonly headers: Record<string, unknown>;
  readonly trailers: Record<string, unknown>;
  readonly body: Buffer;
}

function send(method: string, body: Uint8Array | string, headers: Record<string, string>): Promise<Exchange> {
  return new Promise((resolve, reject) => {
    const stream = session.request({ ":method": "POST", ":path": `/cloakroom.v1.${method}`, ...headers });
    const chunks: Buffer[] = [];
    let head: Record<string, unknown> = {};
    let trailers: Record<string, unknown> = {};
    stream.on("response", (received) => (head = { ...received }));
    stream.on("trailers", (received) => (trailers = { ...received }));
    stream.on("data", (chunk: Buffer) => chunks.push(chunk));
    stream.on("end", () => resolve({ headers: head, trailers, body: Buffer.concat(chunks) }));
    stream.on("error", reject);
    stream.end(body);
  });
}

/** The frames of a response: flags and content. */
function framesOf(body: Buffer): [number, Buffer][] {
  const frames: [number, Buffer][] = [];
  for (let at = 0; at < body.length; at += 5 + body.readUInt32BE(at + 1)) {
    frames.push([body.readUInt8(at), body.subarray(at + 5, at + 5 + body.readUInt32BE(at + 1))]);
  }
  return frames;
}

const frameOf = <Desc extends DescMessage>(desc: Desc, message: MessageInitShape<Desc>) =>
  Buffer.from(encodeEnvelope(0, toBinary(desc, create(desc, message))));

describe("a call of a method that does not exist", () => {
  const MISSING = ["TokenService/Nope", "NopeService/GetToken", "TokenService"];

  it.each(MISSING)("is unimplemented over gRPC: %s", async (method) => {
    for (const type of ["application/grpc", "application/grpc+proto", "application/grpc+json"]) {
      const response = await send(method, encodeEnvelope(0, Buffer.alloc(0)), {
        "content-type": type,
        te: "trailers",
      });
      const { headers, trailers, body } = response;
      expect(headers).toMatchObject({ ":status": 200, "content-type": type });
      expect(trailers).toMatchObject({ "grpc-status": "12" });
      expect(decodeURIComponent(String(trailers["grpc-message"]))).toBe("There is no such method.");
      expect(trailers).toHaveProperty("grpc-status-details-bin");
      expect(body.length).toBe(0);
    }
  });

  it.each(MISSING)("is unimplemented over gRPC-Web: %s", async (method) => {
    for (const type of ["application/grpc-web", "application/grpc-web+proto", "application/grpc-web-text"]) {
      const { headers, body } = await send(method, "", { "content-type": type });
      expect(headers).toMatchObject({ ":status": 200, "content-type": type });
      const bytes = type.endsWith("text") ? Buffer.from(body.toString(), "base64") : body;
      const [[flags, trailer] = []] = framesOf(bytes);
      expect([flags, trailer?.toString()]).toEqual([128, expect.stringContaining("grpc-status: 12\r\n")]);
    }
  });

  it.each(MISSING)("is unimplemented over Connect: %s", async (method) => {
    for (const headers of [
      { "content-type": "application/proto" },
      { "content-type": "application/json", "connect-protocol-version": "1" },
    ]) {
      const response = await send(method, "", headers);
      expect(response.headers[":status"]).toBe(501);
      expect(JSON.parse(response.body.toString())).toMatchObject({ code: "unimplemented" });
    }
  });
});

describe("a call whose deadline has already passed", () => {
  const request = { type: "token", data: toValue(1), metadata: { late: "yes" } };
  const binary = frameOf(CreateTokenRequestSchema, request);
  const json = Buffer.from(toJsonString(CreateTokenRequestSchema, create(CreateTokenRequestSchema, request)));

  // The second of each pair is one that Connect's own handlers serve.
  it.each<[string, string, Record<string, string>, Uint8Array]>([
    ["gRPC", "application/grpc", { "grpc-timeout": "1n", te: "trailers" }, binary],
    ["gRPC, as JSON", "application/grpc+json", { "grpc-timeout": "1n", te: "trailers" }, encodeEnvelope(0, json)],
    ["gRPC-Web", "application/grpc-web+proto", { "grpc-timeout": "1n" }, binary],
    ["gRPC-Web, as JSON", "application/grpc-web+json", { "grpc-timeout": "1n" }, encodeEnvelope(0, json)],
    [
      "gRPC-Web, as text",
      "application/grpc-web-text",
      { "grpc-timeout": "1n" },
      Buffer.from(binary.toString("base64")),
    ],
    ["Connect", "application/json", { "connect-timeout-ms": "0" }, json],
    ["Connect, with a charset", "application/json; charset=utf-8", { "connect-timeout-ms": "0" }, json],
  ])("creates nothing: %s", async (_, type, headers, body) => {
    const all = { "content-type": type, "bt-api-key": backEnd.key, ...headers };
    const responses = await Promise.all(Array.from({ length: 20 }, () => send("TokenService/CreateToken", body, all)));
    for (const response of responses) {
      const decoded = type.endsWith("text") ? Buffer.from(response.body.toString(), "base64") : response.body;
      const told = JSON.stringify([response.headers, response.trailers, decoded.toString("latin1")]);
      expect(told).toMatch(/"grpc-status":"4"|grpc-status: 4|deadline_exceeded/);
    }
    const { body: found } = await backEnd("GET", "/tokens?metadata.late=yes");
    expect(found.pagination.total_items).toBe(0);
  });
});

describe("gRPC-Web as text", () => {
  const type = "application/grpc-web-text";
  const text = (bytes: Buffer) => bytes.toString("base64");
  const get = (id: string) => frameOf(GetTokenRequestSchema, { id });
  const call = (body: string) =>
    send("TokenService/GetToken", body, { "content-type": `${type}+proto`, "bt-api-key": backEnd.key });
  const read = ({ headers, body }: Exchange) => {
    expect(headers).toMatchObject({ ":status": 200, "content-type": `${type}+proto` });
    return framesOf(Buffer.from(body.toString("latin1"), "base64"));
  };
  let id: string;
  beforeAll(async () => {
    id = (await backEnd("POST", "/tokens", { body: { type: "token", data: "here" } })).body.id;
  });

  it.each([
    ["in one piece", (body: Buffer) => text(body)],
    ["its prefix padded by itself", (body: Buffer) => text(body.subarray(0, 5)) + text(body.subarray(5))],
    ["each byte by itself", (body: Buffer) => [...body].map((byte) => text(Buffer.from([byte]))).join("")],
  ])("is served %s", async (_, write) => {
    const [[, message = Buffer.alloc(0)] = [], [flags, trailer] = []] = read(await call(write(get(id))));
    expect(await readBinaryMessage(TokenSchema, message)).toMatchObject({ id, type: "token" });
    expect([flags, trailer?.toString()]).toEqual([128, "grpc-status: 0\r\n"]);
  });

  it.each([
    ["a token that is not there", text(get("00000000-0000-4000-8000-000000000000")), "5"],
    ["text that is not base64", "AAAA*AAA", "3"],
    ["bytes that are not a message", text(Buffer.from([255, 255, 255])), "3"],
    ["nothing", "", "12"],
  ])("is rejected for %s", async (_, body, code) => {
    const [[flags, trailer] = []] = read(await call(body));
    expect([flags, trailer?.toString()]).toEqual([128, expect.stringContaining(`grpc-status: ${code}\r\n`)]);
  });

  it("accepts messages up to the usual size, and none above it", async () => {
    const create = (size: number) =>
      send(
        "TokenService/CreateToken",
        text(frameOf(CreateTokenRequestSchema, { type: "token", data: toValue("x".repeat(size)) })),
        {
          "content-type": type,
          "bt-api-key": backEnd.key,
        },
      );
    const statusOf = async (size: number) => {
      const frames = read(await create(size));
      return /grpc-status: (\d+)/.exec(frames.at(-1)?.[1].toString() ?? "")?.[1];
    };
    expect(await statusOf(5 * 1024 * 1024 - 100)).toBe("0");
    expect(await statusOf(5 * 1024 * 1024)).toBe("8");
  });
});
