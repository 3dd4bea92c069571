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

it("takes a TLS connection that breaks within a response for a lost one, and sends the call again", async () => {
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

/** A client over Connect whose connection ends with an error of this code, and no response. */
function failingClient(code: string): Cloakroom {
  const fetcher = () => Promise.reject(new TypeError("fetch failed", { cause: Object.assign(new Error(), { code }) }));
  const options = { baseUrl: "https://127.0.0.1", apiKey: "key", transport: "connect", maxRetries: 1 } as const;
  return new Cloakroom({ ...options, fetch: fetcher });
}

it.each([
  "ERR_SSL_DECRYPTION_FAILED_OR_BAD_RECORD_MAC",
  "ERR_SSL_SSL/TLS_ALERT_BAD_RECORD_MAC",
  "ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED",
  "ERR_SSL_UNEXPECTED_MESSAGE",
  "ERR_TLS_RENEGOTIATION_DISABLED",
  "EPROTO",
])("takes %s, which may follow a request, for a lost connection", async (code) => {
  await using client = failingClient(code);
  const read = await errorOf(client.tokens.get("x"));
  expect(read).toMatchObject({ message: expect.stringContaining("connection was lost"), attempts: 2 });
  expect(read.message).not.toContain("http://");
  // It may have run.
  expect(await errorOf(client.proxies.invoke({ proxyKey: "x", method: "POST" }))).toMatchObject({ attempts: 1 });
});

it.each([
  ["ERR_SSL_WRONG_VERSION_NUMBER", "begin baseUrl with http://"],
  ["ERR_SSL_PACKET_LENGTH_TOO_LONG", "begin baseUrl with http://"],
  ["ERR_SSL_UNSUPPORTED_PROTOCOL", "The TLS handshake with https://127.0.0.1 failed (ERR_SSL_UNSUPPORTED_PROTOCOL)."],
  ["ERR_SSL_NO_PROTOCOLS_AVAILABLE", "The TLS handshake"],
  ["CERT_HAS_EXPIRED", "is not trusted (CERT_HAS_EXPIRED)"],
  ["UNABLE_TO_VERIFY_LEAF_SIGNATURE", "is not trusted"],
  ["ERR_TLS_CERT_ALTNAME_INVALID", "is not trusted"],
])("takes %s, which only a handshake gives, for final", async (code, words) => {
  await using client = failingClient(code);
  expect(await errorOf(client.tokens.get("x"))).toMatchObject({
    ...{ code: "connection_failed", message: expect.stringContaining(words), attempts: 1 },
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
