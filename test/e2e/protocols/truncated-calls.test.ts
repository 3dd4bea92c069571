import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { create, toBinary } from "@bufbuild/protobuf";
import { afterEach, beforeAll, describe, expect, inject, it } from "vitest";
import { DeleteTokenRequestSchema } from "../../../gen/cloakroom/v1/tokens_pb.js";
import { dataFrame, headersFrame, PREFACE, resetFrame } from "../../support/http2-frames.js";
import { logLineOf } from "../../support/log-line.js";
import { openShop, type Shop } from "../../support/payments.js";
import type { RestClient } from "../../support/rest.js";
import { newTenant } from "../../support/tenant.js";

/** Codes of RFC 9113, 7. */
const NO_ERROR = 0;
const CANCEL = 8;

let caller: Socket;
afterEach(() => caller.destroy());

const WAYS: readonly (readonly [way: string, breakOff: () => unknown])[] = [
  ["a cancelled stream", () => caller.write(resetFrame(1, CANCEL))],
  ["a stream reset without an error", () => caller.write(resetFrame(1, NO_ERROR))],
  ["the end of the connection", () => caller.end()],
  ["a cut connection", () => caller.destroy()],
];

/**
 * Sends part of a request, and breaks off once another stream on the connection shows that the first waits for its
 * body.
 */
async function sendHalf(
  headers: Readonly<Record<string, string>> & { readonly "bt-trace-id": string },
  body: string,
  breakOff: () => unknown,
): Promise<Record<string, unknown>> {
  const trace = headers["bt-trace-id"];
  caller = connect(Number(new URL(inject("serverUrl")).port), "127.0.0.1");
  // It may get an error.
  caller.on("error", () => {}).resume();
  await once(caller, "connect");
  const all = { ":method": "POST", ":scheme": "http", ":authority": "x", ...headers };
  caller.write(Buffer.concat([PREFACE, headersFrame(1, Object.entries(all))]));
  if (body) caller.write(dataFrame(1, body));
  const others = Object.entries({ ...all, "bt-trace-id": `${trace}-other` });
  caller.write(Buffer.concat([headersFrame(3, others), dataFrame(3, "?", true)]));
  await logLineOf(new Headers({ "bt-trace-id": `${trace}-other` }));
  breakOff();
  return JSON.parse(await logLineOf(new Headers({ "bt-trace-id": trace })));
}

/** Every message can be parsed as far as it arrived: the missing part may contain important fields. */
describe("a call whose caller disconnects within its body is not executed", () => {
  let client: RestClient & { readonly key: string };
  let id: string;
  beforeAll(async () => {
    client = await (await newTenant()).backEnd();
    ({ id } = (await client("POST", "/tokens", { body: { type: "token", data: "kept" } })).body);
  });

  const message = () =>
    Buffer.from(toBinary(DeleteTokenRequestSchema, create(DeleteTokenRequestSchema, { id }))).toString("latin1");
  const frameOf = (text: string) => `\0\0\0\0${String.fromCharCode(text.length)}${text}`;
  /** Includes one that Connect's handlers serve. */
  const spellings: readonly (readonly [type: string, body: () => string])[] = [
    ["application/proto", message],
    ["application/json", () => JSON.stringify({ id })],
    ["application/json; charset=utf-8", () => JSON.stringify({ id })],
    ["application/grpc+json", () => frameOf(JSON.stringify({ id }))],
    ["application/grpc-web+json", () => frameOf(JSON.stringify({ id }))],
    ["application/grpc", () => frameOf(message())],
    ["application/grpc-web", () => frameOf(message())],
  ];
  it.each(spellings.flatMap(([type, body]) => WAYS.map(([way, breakOff]) => [type, way, body, breakOff] as const)))(
    "%s, by %s",
    async (type, way, body, breakOff) => {
      const headers = {
        ":path": "/cloakroom.v1.TokenService/DeleteToken",
        ...{ "content-type": type, te: "trailers", "bt-api-key": client.key },
        "bt-trace-id": `${type}-${way}`.replaceAll(/\W+/g, "-"),
      };
      expect(await sendHalf(headers, body(), breakOff)).toMatchObject({
        ...{ rpc: "DeleteToken", status: 400, code: "malformed_body" },
      });
      expect(await client("GET", `/tokens/${id}`)).toMatchObject({ status: 200, body: { data: "kept" } });
    },
  );
});

/** A capture without a body takes the whole authorized amount. */
describe("nor is a truncated REST call with an optional body", () => {
  let shop: Shop;
  beforeAll(async () => {
    shop = await openShop();
  });

  it.each(
    ["", '{"amount":'].flatMap((body) =>
      WAYS.map(([way, breakOff]) => [body || "nothing", way, body, breakOff] as const),
    ),
  )("after %s, by %s", async (_, way, body, breakOff) => {
    const { id } = (await shop.pay()).body;
    const headers = {
      ":path": `/orchestration/transactions/${id}/capture`,
      ...{ "content-type": "application/json", "bt-api-key": shop.backEnd.key },
      "bt-trace-id": `capture-${body.length}-${way.replaceAll(" ", "-")}`,
    };
    expect(await sendHalf(headers, body, breakOff)).toMatchObject({ status: 400, code: "malformed_body" });
    expect((await shop.backEnd("GET", `/orchestration/transactions/${id}`)).body).toMatchObject({
      ...{ authorized_amount: 1000, captured_amount: 0 },
    });
  });
});
