import { create, toBinary } from "@bufbuild/protobuf";
import { encodeEnvelope } from "@connectrpc/connect/protocol";
import { describe, expect, it } from "vitest";
import { Cloakroom } from "../../../clients/typescript/src/node.js";
import { TokenSchema } from "../../../gen/cloakroom/v1/tokens_pb.js";
import { errorOf } from "./support/error-of.js";
import { http1, http2 } from "./support/gates.js";

describe("a newer server", () => {
  it("may have fields that the client does not know, over gRPC", async () => {
    const known = Buffer.from(toBinary(TokenSchema, create(TokenSchema, { id: "one", type: "token" })));
    // Field 1000, a text: "new".
    const message = Buffer.concat([known, Buffer.from([0xc2, 0x3e, 3]), Buffer.from("new")]);
    await using gate = await http2((stream) => {
      const headers = { ":status": 200, "content-type": "application/grpc+proto" };
      stream.respond(headers, { waitForTrailers: true });
      stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0" }));
      stream.end(encodeEnvelope(0, message));
    });
    await using client = new Cloakroom({ baseUrl: `http://${gate.host}`, apiKey: "key" });
    expect(await client.tokens.get("one")).toMatchObject({ id: "one", type: "token", containers: [] });
  });

  it("may refuse a call for a reason that the client does not know", async () => {
    const debug = { reason: "quota_exceeded", domain: "cloakroom", metadata: {} };
    const details = [{ type: "google.rpc.ErrorInfo", value: "", debug }];
    await using gate = await http1((_, response) => {
      response.writeHead(400, { "content-type": "application/json" });
      response.end(JSON.stringify({ code: "resource_exhausted", message: "no more", details }));
    });
    await using client = new Cloakroom({ baseUrl: `http://${gate.host}`, apiKey: "key", transport: "connect" });
    const error = await errorOf(client.tokens.get("one"));
    expect(error).toMatchObject({ code: "unknown", reason: "quota_exceeded", message: "no more", attempts: 1 });
  });
});

describe("an older server", () => {
  it("lacks a method, and the error says so over gRPC", async () => {
    await using gate = await http2((stream) =>
      stream.respond(
        { ":status": 200, "content-type": "application/grpc+proto", "grpc-status": "12", "grpc-message": "no method" },
        { endStream: true },
      ),
    );
    await using client = new Cloakroom({ baseUrl: `http://${gate.host}`, apiKey: "key" });
    expect(await errorOf(client.tokens.get("one"))).toMatchObject({
      ...{ code: "method_not_allowed", rpcCode: "unimplemented", attempts: 1 },
      message: "no method (The server may be older than this client.)",
    });
  });

  it("lacks a method, and the error says so over Connect", async () => {
    await using gate = await http1((_, response) => {
      response.writeHead(404, { "content-type": "application/json" });
      response.end(JSON.stringify({ code: "unimplemented", message: "no method" }));
    });
    await using client = new Cloakroom({ baseUrl: `http://${gate.host}`, apiKey: "key", transport: "connect" });
    expect(await errorOf(client.tokens.get("one"))).toMatchObject({
      message: expect.stringContaining("older than this client"),
    });
  });
});
