import { create, toBinary } from "@bufbuild/protobuf";
import {
  CreateTokenRequestSchema,
  GetTokenRequestSchema,
  ListTokensRequestSchema,
} from "../../gen/cloakroom/v1/tokens_pb.js";
import { newUuid } from "../../src/base/ids.js";
import { toValue } from "../../src/services/value.js";
import type { BenchServer } from "./bench-server.js";
import type { LoadRequest } from "./load.js";

export const JSON_TYPE = { "Content-Type": "application/json" };
const CARD = { number: "4242424242424242", expiration_month: 12, expiration_year: 2030, cvc: "123" };
export const CARD_BODY = Buffer.from(JSON.stringify({ type: "card", data: CARD }));
const CARD_MESSAGE = Buffer.from(
  toBinary(CreateTokenRequestSchema, create(CreateTokenRequestSchema, { type: "card", data: toValue(CARD) })),
);
const LEAVES = Buffer.from(JSON.stringify(Array.from({ length: 100 }, (_, n) => `value ${n}`)));

/** A setup request, which is not measured. */
export async function post(server: Pick<BenchServer, "host" | "port">, path: string, key: string, body: unknown) {
  const response = await fetch(`http://${server.host}:${server.port}${path}`, {
    method: "POST",
    headers: { ...JSON_TYPE, "BT-API-KEY": key },
    body: JSON.stringify(body),
  });
  if (!response.ok) throw new Error(`${path} returned ${response.status}: ${await response.text()}`);
  return JSON.parse(await response.text());
}

/** Creates an application with all token permissions that sees tokens in the clear. */
export async function makeApplication(
  server: Pick<BenchServer, "host" | "port">,
  managementKey: string,
): Promise<string> {
  const permissions = ["token:create", "token:read", "token:search", "token:update", "token:delete", "token:use"];
  const rules = [{ priority: 1, container: "/", transform: "reveal", permissions }];
  const definition = { name: "Bench", type: "private", rules, permissions: ["token:import"] };
  const { key } = await post(server, "/applications", managementKey, definition);
  return key;
}

/** Creates `hundreds` times a hundred cards and returns their ids. */
export async function makeCards(server: BenchServer, key: string, hundreds: number): Promise<string[]> {
  const ids: string[] = [];
  const cards = Array.from({ length: 100 }, () => ({ type: "card", data: CARD }));
  for (let batch = 0; batch < hundreds; batch += 1) {
    const items: { id: string }[] = await post(server, "/tokenize", key, cards);
    ids.push(...items.map(({ id }) => id));
  }
  return ids;
}

export const createCard = (key: string): LoadRequest => ({
  method: "POST",
  path: "/tokens",
  headers: { "BT-API-KEY": key, ...JSON_TYPE },
  body: CARD_BODY,
});

export const getToken = (key: string, id: string): LoadRequest => ({
  method: "GET",
  path: `/tokens/${id}`,
  headers: { "BT-API-KEY": key },
});

export const tokenizeLeaves = (key: string): LoadRequest => ({
  method: "POST",
  path: "/tokenize",
  headers: { "BT-API-KEY": key, ...JSON_TYPE },
  body: LEAVES,
});

export const detokenizeCards = (key: string, ids: readonly string[]): LoadRequest => ({
  method: "POST",
  path: "/detokenize",
  headers: { "BT-API-KEY": key, ...JSON_TYPE },
  body: Buffer.from(JSON.stringify(ids.map((id) => `{{ ${id} | json: "$.number" }}`))),
});

const IMPORT_ID = newUuid();
const IMPORTED = Array.from({ length: 100 }, () => ({ type: "card", data: { ...CARD, cvc: undefined } }));

/** A batch of an import: each number is another one. */
export const importCards = (key: string, n: number): LoadRequest => ({
  method: "POST",
  path: "/tokens/import",
  headers: { "BT-API-KEY": key, ...JSON_TYPE },
  body: Buffer.from(JSON.stringify({ import_id: IMPORT_ID, position: n * 100 + 1, rows: IMPORTED })),
});

export const createCardOverGrpc = (key: string): LoadRequest => ({
  method: "POST",
  path: "/cloakroom.v1.TokenService/CreateToken",
  headers: { "bt-api-key": key },
  body: CARD_MESSAGE,
});

export const listTokensOverGrpc = (key: string, page: number): LoadRequest => ({
  method: "POST",
  path: "/cloakroom.v1.TokenService/ListTokens",
  headers: { "bt-api-key": key },
  body: Buffer.from(toBinary(ListTokensRequestSchema, create(ListTokensRequestSchema, { page, size: 20 }))),
});

export const getTokenOverGrpc = (key: string, id: string): LoadRequest => ({
  method: "POST",
  path: "/cloakroom.v1.TokenService/GetToken",
  headers: { "bt-api-key": key },
  body: Buffer.from(toBinary(GetTokenRequestSchema, create(GetTokenRequestSchema, { id }))),
});
