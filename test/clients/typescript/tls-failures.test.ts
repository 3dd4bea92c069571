import { once } from "node:events";
import type { Socket } from "node:net";
import { createServer as createTls, getCACertificates, type Server, setDefaultCACertificates } from "node:tls";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Cloakroom } from "../../../clients/typescript/src/node.js";
import { type Authority, createAuthority } from "../../egress/certificates.js";
import { errorOf } from "./support/error-of.js";

const before = getCACertificates("default");
let authority: Authority;
beforeAll(async () => {
  authority = await createAuthority();
  // Node's fetch has no option for it.
  setDefaultCACertificates([...before, authority.pem]);
});
afterAll(() => setDefaultCACertificates([...before]));

describe.each(["grpc", "connect"] as const)("a server that refuses the handshake over %s", (transport) => {
  it("is reported with its alert, and not as one without TLS", async () => {
    const identity = await authority.issue(["localhost"], ["127.0.0.1"]);
    await using port = await listening(createTls({ ...identity, ALPNProtocols: ["another protocol"] }));
    await using client = new Cloakroom({
      ...{ baseUrl: `https://127.0.0.1:${port.number}`, apiKey: "key", transport, maxRetries: 0 },
      ...(transport === "grpc" ? { tls: { ca: authority.pem } } : {}),
    });
    const { code, message } = await errorOf(client.tokens.get("x"));
    expect({ code, message }).toEqual({
      code: "connection_failed",
      message: expect.stringContaining("ALERT_NO_APPLICATION_PROTOCOL"),
    });
    expect(message).not.toContain("http://");
  });
});

it("takes a TLS connection that breaks within an answer for a lost one, and sends the call again", async () => {
  const broken = Object.assign(new Error("bad record"), { code: "ERR_SSL_DECRYPTION_FAILED_OR_BAD_RECORD_MAC" });
  const body = () =>
    new ReadableStream({
      pull(controller) {
        controller.error(new TypeError("terminated", { cause: broken }));
      },
    });
  const fetcher = async () => new Response(body(), { headers: { "content-type": "application/json" } });
  await using client = new Cloakroom({
    ...{ baseUrl: "https://127.0.0.1", apiKey: "key", transport: "connect", maxRetries: 1 },
    fetch: fetcher,
  });
  expect(await errorOf(client.tokens.get("x"))).toMatchObject({
    ...{ code: "connection_failed", message: expect.stringContaining("connection was lost"), attempts: 2 },
  });
});

async function listening(server: Server) {
  const sockets = new Set<Socket>();
  server.on("connection", (socket: Socket) => {
    sockets.add(socket);
    socket.on("error", () => {});
  });
  server.on("tlsClientError", () => {});
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  return {
    number: typeof address === "object" && address ? address.port : 0,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, "close");
    },
  };
}
