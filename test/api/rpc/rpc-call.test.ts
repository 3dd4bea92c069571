import { IncomingMessage, ServerResponse } from "node:http";
import { Socket } from "node:net";
import { Code, ConnectError, createContextValues } from "@connectrpc/connect";
import type { UniversalHandler, UniversalServerRequest, UniversalServerResponse } from "@connectrpc/connect/protocol";
import { errorFromJsonBytes } from "@connectrpc/connect/protocol-connect";
import { findTrailerError } from "@connectrpc/connect/protocol-grpc";
import { trailerParse } from "@connectrpc/connect/protocol-grpc-web";
import { beforeEach, describe, expect, it } from "vitest";
import { TokenService } from "../../../gen/cloakroom/v1/tokens_pb.js";
import type { Observation } from "../../../src/api/observation/observation.js";
import { type RpcCall, translateRpcErrors } from "../../../src/api/rpc/rpc-call.js";
import { withMemory } from "../../support/memory.js";

let socket: Socket;
let raw: IncomingMessage;
let failures: string[];
beforeEach(() => {
  socket = new Socket();
  raw = new IncomingMessage(socket);
  raw.push(null);
  withMemory(raw, new ServerResponse(raw));
  failures = [];
});

/** The response to a call whose handler ends like this. */
async function responseTo(
  type: string,
  serve: (request: UniversalServerRequest) => Promise<UniversalServerResponse>,
): Promise<UniversalServerResponse> {
  const { getToken } = TokenService.method;
  const handler: UniversalHandler = Object.assign(serve, {
    ...{ service: TokenService, method: getToken, requestPath: "/", protocolNames: [] },
    ...{ allowedMethods: ["POST"], supportedContentType: Object.assign(() => true, { supported: [] }) },
  });
  const observation: Observation = {
    ...{
      caller: undefined,
      tenantId: undefined,
      end: () => {},
      failFunction: () => {},
      breakOff: () => {},
      cancel: () => {},
    },
    fail: (_, { code }) => void failures.push(code),
  };
  const call: RpcCall = { raw, observation, isRead: false };
  return translateRpcErrors(
    handler,
    { messageBytes: 1_000, maxDeadlineMs: 1_000 },
    () => call,
  )({
    ...{ httpVersion: "2.0", method: "POST", url: "http://localhost/", body: raw },
    ...{
      header: new Headers({ "content-type": type, "bt-trace-id": "one-trace" }),
      signal: new AbortController().signal,
    },
    contextValues: createContextValues(),
  });
}

async function readAll(body: UniversalServerRequest["body"]): Promise<void> {
  if (typeof body !== "object" || body === null || !(Symbol.asyncIterator in body)) throw new Error("there is no body");
  for await (const chunk of body) expect(chunk).toBeInstanceOf(Uint8Array);
}

/** The error in a response, over any protocol. */
async function errorIn({ status, header, body, trailer }: UniversalServerResponse): Promise<ConnectError | undefined> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of body ?? []) chunks.push(chunk);
  const bytes = Buffer.concat(chunks);
  const type = header?.get("content-type") ?? "";
  if (type.startsWith("application/grpc-web")) return findTrailerError(trailerParse(bytes.subarray(5)));
  if (type.startsWith("application/grpc")) return findTrailerError(trailer ?? new Headers());
  return status === 200 ? undefined : errorFromJsonBytes(bytes, undefined, new ConnectError("unreadable"));
}

describe.each(["application/proto", "application/json", "application/grpc", "application/grpc-web+proto"])(
  "%s",
  (type) => {
    it("a response that fails to serialize is an internal error", async () => {
      const response = await responseTo(type, () => Promise.reject(new Error("a text with a secret")));
      const error = await errorIn(response);
      expect(error).toMatchObject({ code: Code.Internal, rawMessage: "Something went wrong on our side." });
      expect(failures).toEqual(["internal"]);
    });

    it("a body whose caller disconnected is not read as a complete one", async () => {
      // Over HTTP/2 there is no other sign of it.
      raw.aborted = true;
      const response = await responseTo(type, async ({ body }) => {
        await expect(readAll(body)).rejects.toThrow("This operation was aborted");
        return { status: 200 };
      });
      expect(response.status).toBe(200);
    });
  },
);
