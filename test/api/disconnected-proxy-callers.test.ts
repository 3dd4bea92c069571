import { once } from "node:events";
import { createServer, request as send } from "node:http";
import { expect, it } from "vitest";
import type { Observation } from "../../src/api/observation/observation.js";
import { createProxyRoute } from "../../src/api/proxy/proxy-route.js";
import { withMemory } from "../support/memory.js";

it("a call whose caller disconnects during the rate-limit check is not forwarded and is recorded as cancelled", async () => {
  const begun = Promise.withResolvers<void>();
  const counted = Promise.withResolvers<void>();
  const ended = Promise.withResolvers<string>();
  let calls = 0;
  const observation: Observation = {
    ...{ caller: undefined, tenantId: undefined, failFunction: () => {}, breakOff: () => {} },
    end: () => ended.resolve("served"),
    fail: (_, { code }) => ended.resolve(code),
    cancel: (code) => ended.resolve(code),
  };
  const invoke = () => {
    calls += 1;
    return Promise.reject(new Error("is not called"));
  };
  const begin = () => {
    begun.resolve();
    return counted.promise;
  };
  const route = createProxyRoute(invoke, () => observation, begin);
  const server = createServer((request, response) => {
    withMemory(request, response);
    response.once("close", () => counted.resolve());
    route(request, response);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const caller = send({ host: "127.0.0.1", port: Object(server.address()).port, path: "/proxy/x" });
  caller.on("error", () => {}).end();
  await begun.promise;
  caller.destroy();
  expect(await ended.promise).toBe("canceled");
  expect(calls).toBe(0);
  server.close();
  await once(server, "close");
});
