import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { create, toBinary } from "@bufbuild/protobuf";
import { afterEach, beforeAll, describe, expect, inject, it } from "vitest";
import { DeleteTokenRequestSchema } from "../../gen/cloakroom/v1/tokens_pb.js";
import { dataFrame, headersFrame, PREFACE, resetFrame } from "../support/http2-frames.js";
import { logLineOf } from "../support/log-line.js";
import type { RestClient } from "../support/rest.js";
import { newTenant } from "../support/tenant.js";

/** Codes of RFC 9113, 7. */
const NO_ERROR = 0;
const CANCEL = 8;

/** Every message can be read as far as it came: what is left of it may be fields that matter. */
describe("a call whose caller breaks off before the end of its body is not made", () => {
  let client: RestClient & { readonly key: string };
  let id: string;
  let caller: Socket;
  beforeAll(async () => {
    client = await (await newTenant()).backEnd();
    ({ id } = (await client("POST", "/tokens", { body: { type: "token", data: "kept" } })).body);
  });
  afterEach(() => caller.destroy());

  const message = () =>
    Buffer.from(toBinary(DeleteTokenRequestSchema, create(DeleteTokenRequestSchema, { id }))).toString("latin1");
  const spellings: readonly (readonly [type: string, body: () => string])[] = [
    ["application/proto", message],
    ["application/json", () => JSON.stringify({ id })],
    ["application/grpc", () => `\0\0\0\0${String.fromCharCode(message().length)}${message()}`],
    ["application/grpc-web", () => `\0\0\0\0${String.fromCharCode(message().length)}${message()}`],
  ];
  const ways: readonly (readonly [way: string, breakOff: () => unknown])[] = [
    ["a cancelled stream", () => caller.write(resetFrame(1, CANCEL))],
    ["a stream reset without an error", () => caller.write(resetFrame(1, NO_ERROR))],
    ["the end of the connection", () => caller.end()],
    ["a cut connection", () => caller.destroy()],
  ];

  it.each(spellings.flatMap(([type, body]) => ways.map(([way, breakOff]) => [type, way, body, breakOff] as const)))(
    "%s, by %s",
    async (type, way, body, breakOff) => {
      const trace = `${type}-${way}`.replaceAll(/\W+/g, "-");
      caller = connect(Number(new URL(inject("serverUrl")).port), "127.0.0.1");
      // Cut off, it may be told so.
      caller.on("error", () => {}).resume();
      await once(caller, "connect");
      const headers = [
        [":method", "POST"],
        [":scheme", "http"],
        [":path", "/cloakroom.v1.TokenService/DeleteToken"],
        [":authority", "x"],
        ["content-type", type],
        ["te", "trailers"],
        ["bt-api-key", client.key],
        ["bt-trace-id", trace],
      ] as const;
      caller.write(Buffer.concat([PREFACE, headersFrame(1, headers), dataFrame(1, body())]));
      // When another call on the same connection is answered, the first waits for nothing but the rest of its body.
      const others = headers.map(([name, value]) => [name, name === "bt-trace-id" ? `${trace}-other` : value] as const);
      caller.write(Buffer.concat([headersFrame(3, others), dataFrame(3, "?", true)]));
      await logLineOf(new Headers({ "bt-trace-id": `${trace}-other` }));
      breakOff();
      expect(JSON.parse(await logLineOf(new Headers({ "bt-trace-id": trace })))).toMatchObject({
        ...{ rpc: "DeleteToken", status: 400, code: "malformed_body" },
      });
      expect(await client("GET", `/tokens/${id}`)).toMatchObject({ status: 200, body: { data: "kept" } });
    },
  );
});
