import { once } from "node:events";
import { createServer } from "node:http2";
import { create, toBinary } from "@bufbuild/protobuf";
import { expect, it } from "vitest";
import { FollowLogsResponseSchema } from "../../gen/cloakroom/v1/logs_pb.js";
import { ServerVersionSchema } from "../../gen/cloakroom/v1/server_pb.js";
import { cloakroom } from "../support/command.js";

const HOSTILE = "9\u001b]0;title\u0007";

/** Runs a command against a server that answers each call with one message. */
async function answered(message: Uint8Array, status: string, ...args: string[]) {
  const head = Buffer.alloc(5);
  head.writeUInt32BE(message.length, 1);
  const server = createServer((_, response) => {
    response.writeHead(200, { "content-type": "application/grpc+proto", trailer: "grpc-status" });
    response.write(Buffer.concat([head, message]));
    response.addTrailers({ "grpc-status": status });
    response.end();
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  const url = `http://127.0.0.1:${typeof address === "object" ? address?.port : ""}`;
  const result = await cloakroom({ CLOAKROOM_URL: url, CLOAKROOM_API_KEY: "key" }, ...args);
  server.close();
  return result;
}

it("a server's cursor of logs --follow does not steer the terminal", async () => {
  const message = toBinary(FollowLogsResponseSchema, create(FollowLogsResponseSchema, { cursor: HOSTILE }));
  const { stderr } = await answered(message, "7", "logs", "--follow");
  expect(stderr).toContain("Continue with --after 9\u{fffd}]0;title\u{fffd}\n");
});

it("a server's version does not steer the terminal", async () => {
  const message = toBinary(ServerVersionSchema, create(ServerVersionSchema, { version: HOSTILE }));
  const { stdout, stderr } = await answered(message, "0", "version", "--server");
  expect(stderr).toContain("the server is version 9");
  for (const steers of ["\u0007", "\u001b"]) expect(stdout + stderr).not.toContain(steers);
});
