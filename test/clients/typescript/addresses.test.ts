import { describe, expect, inject, it } from "vitest";
import { Cloakroom as BrowserCloakroom } from "../../../clients/typescript/src/browser.js";
import { Cloakroom } from "../../../clients/typescript/src/node.js";
import { createAuthority } from "../../egress/certificates.js";
import { errorOf } from "./support/error-of.js";
import { type Gate, http1, http2, silent, tls } from "./support/gates.js";

/** The error of one call to an address. */
async function failureAt(baseUrl: string, options: { transport?: "grpc" | "connect"; ca?: string } = {}) {
  const { ca, ...rest } = options;
  await using client = new Cloakroom({
    ...{ baseUrl, apiKey: "key", timeout: 5_000, maxRetries: 0 },
    ...rest,
    ...(ca ? { tls: { ca } } : {}),
  });
  return await errorOf(client.tokens.get("x"));
}

const page = () =>
  http1((_, response) => {
    response.setHeader("content-type", "text/html").end("<h1>Welcome</h1>");
  });

describe("a wrong address", () => {
  it("is reported when the server speaks HTTP/1.1 only", async () => {
    await using gate = await page();
    const error = await failureAt(`http://${gate.host}`);
    expect(error).toMatchObject({
      code: "connection_failed",
      message: expect.stringContaining('transport: "connect"'),
    });
  });

  it("is reported when a page responds", async () => {
    await using gate = await page();
    const error = await failureAt(`http://${gate.host}`, { transport: "connect" });
    expect(error).toMatchObject({ code: "bad_answer", status: 200, message: expect.stringContaining("text/html") });
  });

  it("is reported when a page responds over HTTP/2", async () => {
    await using gate = await http2((stream) => {
      stream.respond({ ":status": 404, "content-type": "text/html" });
      stream.end("<h1>Not here</h1>");
    });
    expect(await failureAt(`http://${gate.host}`)).toMatchObject({ code: "bad_answer", status: 404 });
  });

  it.each(["grpc", "connect"] as const)("is reported when https meets clear text over %s", async (transport) => {
    const url = inject("serverUrl").replace("http:", "https:");
    expect(await failureAt(url, { transport })).toMatchObject({
      code: "connection_failed",
      message: expect.stringMatching(/TLS.*http:/),
    });
  });

  it("is reported when clear text meets TLS", async () => {
    await using gate = await tls(inject("trustedIdentity"));
    const error = await failureAt(`http://${gate.host}`);
    expect(error).toMatchObject({
      code: "connection_failed",
      message: expect.stringContaining("https:// if the server"),
    });
  });

  it.each([
    ["grpc", "tls.ca"],
    ["connect", "NODE_EXTRA_CA_CERTS"],
  ] as const)("is reported when the certificate is not trusted over %s", async (transport, remedy) => {
    await using gate = await tls(inject("trustedIdentity"));
    expect(await failureAt(`https://${gate.host}`, { transport })).toMatchObject({
      ...{ code: "connection_failed", message: expect.stringContaining(remedy) },
    });
  });

  it("is reported when TLS carries no HTTP/2", async () => {
    const authority = await createAuthority();
    await using gate = await tls(await authority.issue(["localhost"], ["127.0.0.1"]));
    const error = await failureAt(`https://${gate.host}`, { ca: authority.pem });
    expect(error).toMatchObject({ code: "connection_failed", message: expect.stringContaining("HTTP/2") });
  });

  it("is reported when nothing listens", async () => {
    let gate: Gate | undefined;
    {
      await using open = await silent();
      gate = open;
    }
    for (const transport of ["grpc", "connect"] as const) {
      const error = await failureAt(`http://${gate.host}`, { transport });
      expect(error).toMatchObject({ code: "connection_failed", message: expect.stringContaining("ECONNREFUSED") });
    }
  });
});

describe("options", () => {
  it.each([
    ["no address", {}, /baseUrl is missing/],
    ["another scheme", { baseUrl: "ftp://x" }, /https:\/\//],
    ["clear text to another host", { baseUrl: "http://vault.example.com" }, /allowInsecure/],
    ["a query", { baseUrl: "https://vault.example.com?key=1" }, /query/],
    ["tls beside connect", { baseUrl: "https://x.example", transport: "connect" as const, tls: { ca: "x" } }, /tls/],
    ["a timeout that is not a number", { baseUrl: "https://x.example", timeout: Number("") / 0 }, /timeout/],
    ["a timeout below zero", { baseUrl: "https://x.example", timeout: -1 }, /timeout/],
    [
      "a timeout that no timer holds",
      { baseUrl: "https://x.example", timeout: 2 ** 31 },
      /timeout must be 0 .*2147483647/,
    ],
  ])("reject %s", (_, options, words) => {
    expect(() => new Cloakroom(options)).toThrow(words);
  });

  /** As programs in JavaScript may pass it. */
  const text: number = JSON.parse('"5000"');

  it.each([Number.NaN, -1, 2 ** 31, Number.POSITIVE_INFINITY, text])(
    "reject a call with a timeout of %s",
    async (timeout) => {
      await using gate = await silent();
      await using client = new Cloakroom({ baseUrl: `http://${gate.host}`, apiKey: "key" });
      const browser = new BrowserCloakroom({ baseUrl: `http://${gate.host}`, apiKey: "key_test_pub_x" });
      for (const { tokens } of [client, browser]) {
        expect(await errorOf(tokens.get("x", { timeout }))).toMatchObject({
          ...{ code: "validation_failed", message: "timeout must be 0 (no limit) to 2147483647 ms.", attempts: 0 },
        });
      }
    },
  );

  it("send no call again for a maxRetries that is not a number", async () => {
    const options = { baseUrl: "http://127.0.0.1:9", apiKey: "key", maxRetries: Number.NaN };
    await using client = new Cloakroom(options);
    expect(await errorOf(client.tokens.get("x"))).toMatchObject({ code: "connection_failed", attempts: 1 });
  });

  it("accept clear text if it is allowed", async () => {
    await using client = new Cloakroom({ baseUrl: "http://vault.example.com", allowInsecure: true });
    expect(client.tokens).toBeDefined();
  });

  it.each(["pvt", "mgt", "prx"])("reject a key of the kind %s in a page", async (kind) => {
    const apiKey = `key_prod_${kind}_abc`;
    Object.defineProperty(globalThis, "document", { value: {}, configurable: true });
    try {
      const options = { baseUrl: "https://vault.example.com" };
      expect(() => new BrowserCloakroom({ ...options, apiKey })).toThrow(/must not be in a browser/);
      const late = new BrowserCloakroom({ ...options, apiKey: async () => apiKey });
      await expect(late.tokens.get("x")).rejects.toThrow(/must not be in a browser/);
    } finally {
      Reflect.deleteProperty(globalThis, "document");
    }
  });
});
