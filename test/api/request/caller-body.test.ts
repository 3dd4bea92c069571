import { once } from "node:events";
import { createServer, type IncomingMessage, type Server } from "node:http";
import { connect } from "node:net";
import { buffer } from "node:stream/consumers";
import { afterEach, expect, it } from "vitest";
import { CallerBody } from "../../../src/api/request/caller-body.js";

let server: Server;
afterEach(() => server.close());

it("a body ends with an error if its caller disconnected before it was read", async () => {
  const arrived = Promise.withResolvers<IncomingMessage>();
  server = createServer((request) => arrived.resolve(request)).listen(0, "127.0.0.1");
  await once(server, "listening");
  const caller = connect(Object(server.address()).port, "127.0.0.1");
  caller.write("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nwhole");
  const request = await arrived.promise;
  caller.destroy();
  await once(request.socket, "close");
  await expect(buffer(new CallerBody(request))).rejects.toThrow("ended before it was complete");
});
