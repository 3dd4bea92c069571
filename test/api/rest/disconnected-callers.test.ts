import { once } from "node:events";
import { type RequestListener, request as sendHttp1 } from "node:http";
import { connect } from "node:http2";
import { create } from "@bufbuild/protobuf";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { TokenSchema, TokenService } from "../../../gen/cloakroom/v1/tokens_pb.js";
import { CONNECTION_LIMITS } from "../../../src/api/connection/connection-limits.js";
import {
  createMultiProtocolServer,
  type MultiProtocolServer,
} from "../../../src/api/connection/multi-protocol-server.js";
import type { Observation } from "../../../src/api/observation/observation.js";
import type { Pipeline } from "../../../src/api/pipeline/pipeline.js";
import type { RequestHead } from "../../../src/api/request/request-head.js";
import { createRestPort } from "../../../src/api/rest/rest-port.js";
import { listRestRoutes } from "../../../src/api/rest/rest-route.js";
import { withMemory } from "../../support/memory.js";

let port: MultiProtocolServer;
let url: string;
/** The request whose key is being looked up, and a promise for the end of the lookup. */
let admitted: PromiseWithResolvers<{ readonly head: RequestHead; readonly open: () => void }>;
let ended: PromiseWithResolvers<string>;
let runs: number;

beforeEach(async () => {
  admitted = Promise.withResolvers();
  ended = Promise.withResolvers();
  runs = 0;
  const pipelineOf = (desc: Pipeline["method"]["desc"]): Pipeline => ({
    method: {
      desc,
      serve: () => Promise.reject(new Error("is not called")),
      headersOf: () => [],
      replay: undefined,
      shownToFrame: (message) => message,
    },
    takesMask: false,
    admit: (head) =>
      new Promise((resolve) => {
        const open = () => resolve({ head, caller: undefined, renew: async () => undefined });
        admitted.resolve({ head, open });
      }),
    admitCaller: () => Promise.reject(new Error("is not called")),
    run: async () => {
      runs += 1;
      const message = create(TokenSchema);
      return { message, headers: [], accepted: false, verbatim: undefined, lasting: () => message };
    },
  });
  const observation: Observation = {
    ...{ caller: undefined, tenantId: undefined, failFunction: () => {}, breakOff: () => {} },
    end: () => ended.resolve("served"),
    fail: (_, { code }) => ended.resolve(code),
    cancel: (code) => ended.resolve(code),
  };
  const { createToken, deleteToken } = TokenService.method;
  const routes = listRestRoutes([createToken, deleteToken].map(pipelineOf), 1_000);
  const serve = createRestPort(
    routes,
    async () => {},
    () => observation,
  );
  const listener: RequestListener = (request, response) => {
    withMemory(request, response);
    serve(request, response);
  };
  port = createMultiProtocolServer(listener, CONNECTION_LIMITS, undefined);
  port.server.listen(0, "127.0.0.1");
  await once(port.server, "listening");
  url = `http://127.0.0.1:${Object(port.server.address()).port}`;
});
afterEach(async () => {
  port.server.close();
  port.destroy();
});

/** Sends a whole request and returns a function that disconnects while its key is looked up. */
const versions: readonly (readonly [string, (method: string, path: string, body?: string) => () => void])[] = [
  [
    "HTTP/2, by cancelling",
    (method, path, body) => {
      const session = connect(url);
      const stream = session.request({ ":method": method, ":path": path, "content-type": "application/json" });
      stream.on("error", () => {}).end(body);
      stream.once("close", () => session.destroy());
      return () => stream.close(8);
    },
  ],
  [
    "HTTP/2, by a broken connection",
    (method, path, body) => {
      const session = connect(url);
      const stream = session.request({ ":method": method, ":path": path, "content-type": "application/json" });
      stream.on("error", () => {}).end(body);
      return () => session.destroy();
    },
  ],
  [
    "HTTP/1.1",
    (method, path, body) => {
      const request = sendHttp1(new URL(path, url), { method, headers: { "content-type": "application/json" } });
      request.on("error", () => {}).end(body);
      return () => request.destroy();
    },
  ],
];

describe("a request whose caller disconnects during the key lookup is not executed", () => {
  const requests = [
    ["POST", "/tokens", '{"type":"token","data":1}'],
    // In many bodies all fields are optional, so a truncated body can look valid.
    ["POST", "/tokens", undefined],
    ["DELETE", "/tokens/7d0a5a0e-6b0c-4c5e-9b52-0d7a8d3c2f11", undefined],
  ] as const;

  it.each(
    versions.flatMap(([version, send]) =>
      requests.map(
        ([method, path, body]) => [version, method, body ?? "no body", () => send(method, path, body)] as const,
      ),
    ),
  )("%s: %s with %s", async (_version, _method, _body, send) => {
    const leave = send();
    const { head, open } = await admitted.promise;
    const connections = new Promise<void>((resolve) => {
      // The server has noticed once the signal is aborted.
      if (head.signal.aborted) resolve();
      else head.signal.addEventListener("abort", () => resolve(), { once: true });
    });
    leave();
    await connections;
    open();
    expect(await ended.promise).toBe("malformed_body");
    expect(runs).toBe(0);
  });

  it.each(versions)("its signal is aborted even if it is read only later: %s", async (_version, send) => {
    const gone = new Promise<void>((resolve) => {
      port.server.once("connection", (socket) => socket.once("close", () => resolve()));
    });
    const leave = send("POST", "/tokens", "{}");
    const { head, open } = await admitted.promise;
    leave();
    await gone;
    expect(head.signal.aborted).toBe(true);
    open();
    expect(await ended.promise).toBe("malformed_body");
  });

  it.each(versions)("the signal of a waiting caller is not aborted: %s", async (_version, send) => {
    const leave = send("POST", "/tokens", "{}");
    const { head, open } = await admitted.promise;
    expect(head.signal.aborted).toBe(false);
    open();
    expect(await ended.promise).toBe("served");
    expect(runs).toBe(1);
    leave();
  });
});
