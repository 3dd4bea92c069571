import { connect } from "node:http2";
import { create, toBinary, toJsonString } from "@bufbuild/protobuf";
import { encodeEnvelope } from "@connectrpc/connect/protocol";
import { afterAll, beforeAll, expect, inject, it } from "vitest";
import { CreateTokenRequestSchema } from "../../../gen/cloakroom/v1/tokens_pb.js";
import { toValue } from "../../../src/services/value.js";
import { newTenant } from "../../support/tenant.js";

const session = connect(inject("serverUrl"));
afterAll(() => session.destroy());

let apiKey: string;
beforeAll(async () => {
  apiKey = (await (await newTenant()).backEnd()).key;
});

const token = { type: "token", data: "a value" };
const request = create(CreateTokenRequestSchema, { ...token, data: toValue(token.data) });
const json = Buffer.from(toJsonString(CreateTokenRequestSchema, request));
const binary = Buffer.from(encodeEnvelope(0, toBinary(CreateTokenRequestSchema, request)));
const RPC_PATH = "/cloakroom.v1.TokenService/CreateToken";

/** Returns the id of the token in the response, which all forms have as text. */
async function createdWith(path: string, type: string, body: Uint8Array | string, keys: string | string[]) {
  const headers = { "content-type": type, te: "trailers", "bt-api-key": apiKey, "bt-idempotency-key": keys };
  const stream = session.request({ ":method": "POST", ":path": path, ...headers });
  stream.end(body);
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk);
  return /[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/.exec(Buffer.concat(chunks).toString("latin1"))?.[0];
}

it.each<[string, string, string, Uint8Array | string]>([
  ["REST", "/tokens", "application/json", JSON.stringify(token)],
  ["gRPC", RPC_PATH, "application/grpc", binary],
  ["gRPC, as JSON", RPC_PATH, "application/grpc+json", encodeEnvelope(0, json)],
  ["Connect", RPC_PATH, "application/json", json],
  ["Connect, with a charset", RPC_PATH, "application/json; charset=utf-8", json],
])("a header that is sent twice is one list: %s", async (name, path, type, body) => {
  const created = (keys: string | string[]) => createdWith(path, type, body, keys);
  const twice = await created([`${name} 1`, `${name} 2`]);
  expect(twice).toBeDefined();
  expect(await created(`${name} 1, ${name} 2`)).toBe(twice);
  expect(await created(`${name} 1`)).not.toBe(twice);
  expect(await created(`${name} 2`)).not.toBe(twice);
});
